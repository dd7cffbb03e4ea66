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

static struct err e;

static int keep(const char *key, const char *value)
{
	const struct persist_entry entry = { key, value, "ann" };

	return persist_set(ini, &entry, &e);
}

#define HEAD "; Written by SET PERSIST, and read behind the main file.\n"

static void test_newer_value_replaces_the_older(void **state)
{
	(void)state;
	assert_int_equal(keep("default_pool_size", "8"), 0);
	assert_int_equal(keep("logfile", "x y"), 0);
	assert_kept(HEAD
	    "; default_pool_size was set by ann\n"
	    "default_pool_size = 8\n"
	    "; logfile was set by ann\n"
	    "logfile = x y\n");
	assert_int_equal(keep("default_pool_size", "9"), 0);
	assert_kept(HEAD
	    "; logfile was set by ann\n"
	    "logfile = x y\n"
	    "; default_pool_size was set by ann\n"
	    "default_pool_size = 9\n");
}

/* Written by hand, too, is a line about it. */
static void test_entry_in_another_form_is_replaced(void **state)
{
	(void)state;
	put(kept, "# mine\ndefault_pool_size=7\nverbose\t=\t1");
	assert_int_equal(keep("default_pool_size", "8"), 0);
	assert_int_equal(keep("verbose", "0"), 0);
	assert_kept("# mine\n; default_pool_size was set by ann\n"
	    "default_pool_size = 8\n; verbose was set by ann\nverbose = 0\n");
}

/* Older versions kept them in their comments. */
static void test_no_replaced_value_is_kept(void **state)
{
	struct file_text f = { 0 };

	(void)state;
	put(kept, HEAD
	    "; auth_query was \"select 'secret'\", before ann changed it\n"
	    "auth_query = select 1\n"
	    "; auth_user was not set, before bob changed it\n"
	    "auth_user = secret2\n");
	assert_int_equal(keep("auth_user", "joe"), 0);
	assert_int_equal(file_read(kept, &f), 0);
	assert_null(strstr(f.at, "secret"));
	assert_non_null(strstr(f.at, "auth_query = select 1\n"));
	file_text_fini(&f);
}

static void test_name_of_who_set_it_breaks_nothing(void **state)
{
	const struct persist_entry entry = { "verbose", "1",
		"a\nlogfile = /x\r[databases]" };

	(void)state;
	assert_int_equal(persist_set(ini, &entry, &e), 0);
	assert_kept(HEAD "; verbose was set by a?logfile = /x?[databases]\n"
	    "verbose = 1\n");
}

static void test_a_file_with_a_nul_byte_is_not_rewritten(void **state)
{
	static const char text[] = "verbose = 1\n\0\nquery_timeout = 7\n";
	FILE *const f = fopen(kept, "w");

	(void)state;
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, sizeof text - 1, f), sizeof text - 1);
	fclose(f);
	assert_int_equal(keep("verbose", "2"), -1);
	assert_non_null(strstr(e.text, "NUL byte"));
	assert_non_null(strstr(e.text, "line 2"));
}

static void test_it_is_read_behind_the_main_file(void **state)
{
	struct config *c;

	(void)state;
	assert_int_equal(keep("default_pool_size", "8"), 0);
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
	static const char *const bad[] = { "a\nb = c", "a\nlogfile = a\nb",
		"a\r", " a", "a\t", "a\v", "\n", "a\n%include b" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(keep("logfile", bad[i]), -1);
		assert_string_equal(e.code, "22023");
	}
	assert_int_equal(access(kept, F_OK), -1);
	assert_int_equal(keep("logfile", ""), 0);
}

/* They mean nothing inside a value. */
static void test_any_other_value_is_read_back(void **state)
{
	static const char *const good[] = { "a ; b", "# x", "; x", "[users]",
		"%include b", "a = b", "it's", "\"a\"", "'a", "\\", "a\rb",
		"\x80\xff", "\x01" };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_int_equal(keep("logfile", good[i]), 0);
		struct config *c = config_load(ini, NULL, NULL, NULL, &e);

		assert_non_null(c);
		assert_string_equal(c->set.logfile, good[i]);
		assert_int_equal(c->set.default_pool_size, 7);
		config_unref(&c);
	}
}

/* An entry behind a section's header would be none of [pgbouncer]. */
static void test_file_of_more_than_settings_is_refused(void **state)
{
	static const char *const bad[] = { "[databases]\nb = host=/x\n",
		"verbose = 1\n[pgbouncer]\n", "%include b.ini\n", "what\n",
		"no_such = 1\n" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		put(kept, bad[i]);
		assert_int_equal(keep("verbose", "1"), -1);
		assert_string_equal(e.code, "F0000");
		assert_kept(bad[i]);
		assert_null(config_load(ini, NULL, NULL, NULL, &e));
		assert_non_null(strstr(e.text, "a.ini.persist.ini"));
	}
}

static void test_folder_that_cannot_be_written_is_an_error(void **state)
{
	(void)state;
	snprintf(ini, sizeof ini, "%s/no/such.ini", folder);
	assert_int_equal(keep("verbose", "1"), -1);
	snprintf(ini, sizeof ini, "%s/a.ini", folder);
}

static void assert_mode(mode_t of_ini, mode_t want)
{
	struct stat st;

	assert_int_equal(chmod(ini, of_ini), 0);
	assert_int_equal(keep("verbose", "1"), 0);
	assert_int_equal(stat(kept, &st), 0);
	assert_int_equal(st.st_mode & 07777, want);
}

static void test_others_cannot_read_it_whatever_the_umask(void **state)
{
	static const mode_t masks[] = { 0, 022, 027, 077 };

	(void)state;
	for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
		const mode_t before = umask(masks[i]);

		assert_mode(0666, 0640);
		assert_mode(0644, 0640);
		assert_mode(0600, 0600);
		umask(before);
	}
}

/* What stands in the way is removed, not written to. */
static void test_link_in_its_place_is_not_followed(void **state)
{
	char other[160], fresh[200];
	struct file_text f = { 0 };

	(void)state;
	snprintf(other, sizeof other, "%s/other", folder);
	snprintf(fresh, sizeof fresh, "%s.new", kept);
	put(other, "precious");
	assert_int_equal(link(other, fresh), 0);
	assert_int_equal(keep("verbose", "1"), 0);
	assert_int_equal(symlink(other, fresh), 0);
	assert_int_equal(keep("verbose", "1"), 0);
	assert_int_equal(file_read(other, &f), 0);
	assert_string_equal(f.at, "precious");
	file_text_fini(&f);
	assert_int_equal(access(fresh, F_OK), -1);
	unlink(other);
}

/* As in /tmp; only root can make somebody else's file here. */
static void test_file_of_a_stranger_is_not_read(void **state)
{
	(void)state;
	put(kept, "verbose = 1\n");
	assert_int_equal(chmod(folder, 01777), 0);
	assert_int_equal(persist_check(kept, ini, &e), 0);
	if (chown(kept, 12345, (gid_t)-1) == 0) {
		assert_int_equal(persist_check(kept, ini, &e), -1);
		assert_null(config_load(ini, NULL, NULL, NULL, &e));
		assert_int_equal(keep("verbose", "2"), -1);
		assert_int_equal(chmod(folder, 0755), 0);
		assert_int_equal(persist_check(kept, ini, &e), 0);
	}
}

static char told[2048];

static void tell(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	snprintf(told, sizeof told, "%d %s", (int)level, text);
}

static void test_what_it_overrides_is_told(void **state)
{
	struct config *c;

	(void)state;
	assert_int_equal(keep("verbose", "1"), 0);
	told[0] = '\0';
	c = config_load(ini, NULL, tell, NULL, &e);
	assert_non_null(c);
	config_unref(&c);
	assert_string_equal(told, "");
	assert_int_equal(keep("query_timeout", "8"), 0);
	c = config_load(ini, NULL, tell, NULL, &e);
	assert_non_null(c);
	config_unref(&c);
	assert_non_null(strstr(told, "query_timeout is set by "));
	assert_non_null(strstr(told, ".persist.ini:5, which overrides"));
}

static void test_locked_setting_is_ignored(void **state)
{
	struct config *c;

	(void)state;
	assert_int_equal(keep("query_timeout", "8"), 0);
	put(ini, "[databases]\n[pgbouncer]\nquery_timeout = 9\n"
	    "console_locked_settings = query_*\n");
	c = config_load(ini, NULL, tell, NULL, &e);
	assert_non_null(c);
	assert_int_equal(c->set.query_timeout, 9 * USEC);
	assert_true(option_is_locked("query_timeout", &c->set));
	assert_true(option_is_locked("console_locked_settings", &c->set));
	assert_false(option_is_locked("verbose", &c->set));
	config_unref(&c);
	assert_non_null(strstr(told, "query_timeout is locked by "));
	put(kept, "console_locked_settings =\nquery_timeout = 8\n");
	c = config_load(ini, NULL, tell, NULL, &e);
	assert_non_null(c);
	assert_string_equal(c->set.console_locked_settings, "query_*");
	assert_int_equal(c->set.query_timeout, 9 * USEC);
	config_unref(&c);
}

static void test_lock_that_fits_nothing_is_a_mistake(void **state)
{
	(void)state;
	put(ini, "[databases]\n[pgbouncer]\n"
	    "console_locked_settings = query_*, auht_*\n");
	assert_null(config_load(ini, NULL, NULL, NULL, &e));
	assert_non_null(strstr(e.text, "\"auht_*\""));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_newer_value_replaces_the_older),
		IN_FOLDER(test_entry_in_another_form_is_replaced),
		IN_FOLDER(test_no_replaced_value_is_kept),
		IN_FOLDER(test_name_of_who_set_it_breaks_nothing),
		IN_FOLDER(test_a_file_with_a_nul_byte_is_not_rewritten),
		IN_FOLDER(test_it_is_read_behind_the_main_file),
		IN_FOLDER(test_what_would_be_read_otherwise_is_refused),
		IN_FOLDER(test_any_other_value_is_read_back),
		IN_FOLDER(test_file_of_more_than_settings_is_refused),
		IN_FOLDER(test_folder_that_cannot_be_written_is_an_error),
		IN_FOLDER(test_others_cannot_read_it_whatever_the_umask),
		IN_FOLDER(test_link_in_its_place_is_not_followed),
		IN_FOLDER(test_file_of_a_stranger_is_not_read),
		IN_FOLDER(test_what_it_overrides_is_told),
		IN_FOLDER(test_locked_setting_is_ignored),
		IN_FOLDER(test_lock_that_fits_nothing_is_a_mistake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
