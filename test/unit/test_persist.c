/* test_persist.c - what SET PERSIST writes, and that it is read again.
 * SPDX-License-Identifier: ISC */
#include "conf/persist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "conf/config.h"
#include "conf/file.h"

static char folder[64], ini[128], kept[160];

static void put(const char *path, const char *text)
{
	FILE *const f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/test_persist.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(ini, sizeof ini, "%s/a.ini", folder);
	assert_non_null(persist_path(ini, kept, sizeof kept));
	put(ini, "[databases]\na = host=/tmp\n[pgbouncer]\n"
	    "default_pool_size = 7\nquery_timeout = 9\n");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(kept);
	unlink(ini);
	rmdir(folder);
	return 0;
}

static void assert_kept(const char *want)
{
	struct file_text f = { 0 };

	assert_int_equal(file_read(kept, &f), 0);
	assert_string_equal(f.at, want);
	file_text_fini(&f);
}

static int keep(const char *key, const char *value, const char *was)
{
	const struct persist_entry entry = { key, value, was, "ann" };
	struct err e;

	return persist_set(ini, &entry, &e);
}

#define HEAD "; Written by SET PERSIST, and read behind the main file.\n"

static void test_newer_value_replaces_the_older(void **state)
{
	(void)state;
	assert_int_equal(keep("default_pool_size", "8", "7"), 0);
	assert_int_equal(keep("default_pool", "x y", NULL), 0);
	assert_kept(HEAD
	    "; default_pool_size was \"7\", before ann changed it\n"
	    "default_pool_size = 8\n"
	    "; default_pool was not set, before ann changed it\n"
	    "default_pool = x y\n");
	assert_int_equal(keep("default_pool_size", "9", "8"), 0);
	assert_kept(HEAD
	    "; default_pool was not set, before ann changed it\n"
	    "default_pool = x y\n"
	    "; default_pool_size was \"8\", before ann changed it\n"
	    "default_pool_size = 9\n");
}

static void test_it_is_read_behind_the_main_file(void **state)
{
	struct config *c;
	struct err e;

	(void)state;
	assert_int_equal(keep("default_pool_size", "8", "7"), 0);
	c = config_load(ini, NULL, NULL, NULL, &e);
	assert_non_null(c);
	assert_int_equal(c->set.default_pool_size, 8);
	assert_int_equal(c->set.query_timeout, 9 * USEC);
	config_unref(&c);
	put(kept, "default_pool_size = many\n");
	assert_null(config_load(ini, NULL, NULL, NULL, &e));
	assert_non_null(strstr(e.text, "a.ini.persist.ini:1"));
}

static void test_what_would_be_read_otherwise_is_refused(void **state)
{
	static const char *const bad[] = { "a\nb = c", "a\r", " a", "a\t" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(keep("logfile", bad[i], ""), -1);
	assert_int_equal(access(kept, F_OK), -1);
	assert_int_equal(keep("logfile", "", ""), 0);
}

static void test_folder_that_cannot_be_written_is_an_error(void **state)
{
	struct stat st;

	(void)state;
	snprintf(ini, sizeof ini, "%s/no/such.ini", folder);
	assert_int_equal(keep("verbose", "1", "0"), -1);
	snprintf(ini, sizeof ini, "%s/a.ini", folder);
	chmod(ini, 0640);
	assert_int_equal(keep("verbose", "1", "0"), 0);
	assert_int_equal(stat(kept, &st), 0);
	assert_int_equal(st.st_mode & 0777 & ~(mode_t)0640, 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_newer_value_replaces_the_older),
		IN_FOLDER(test_it_is_read_behind_the_main_file),
		IN_FOLDER(test_what_would_be_read_otherwise_is_refused),
		IN_FOLDER(test_folder_that_cannot_be_written_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
