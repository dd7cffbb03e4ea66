/* test_daemon.c - the rules of the pid file.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/daemon.h"
#include "base/err.h"
#include "base/log.h"

static char dir[] = "/tmp/pidfile.XXXXXX";
static char path[sizeof dir + 8];
static char said[256];
static struct err e;

static void on_line(enum log_level level, const char *text)
{
	(void)level;
	snprintf(said, sizeof said, "%s", text);
}

static int setup(void **state)
{
	(void)state;
	said[0] = '\0';
	e.text[0] = '\0';
	log_set_sink(on_line);
	unlink(path);
	return 0;
}

static int make_dir(void **state)
{
	(void)state;
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/pid", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void put(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void assert_refused(void)
{
	assert_int_equal(pidfile_check(path, 0, &e), -1);
	assert_non_null(strstr(e.text, "exists, another instance running?"));
	assert_non_null(strstr(said, path));
	assert_non_null(strstr(said, "remove"));
	assert_int_equal(access(path, F_OK), 0);
}

static void assert_stale(void)
{
	assert_int_equal(pidfile_check(path, 0, &e), 0);
	assert_string_equal(said, "stale pidfile, removing");
	assert_int_equal(access(path, F_OK), -1);
}

static void test_no_file_is_fine(void **state)
{
	(void)state;
	assert_int_equal(pidfile_check(path, 0, &e), 0);
	assert_string_equal(said, "");
}

static void test_unparsable_file_is_refused(void **state)
{
	static const char *const texts[] = {
		"", "\n", "x\n", "-1\n", "0\n", "99999999999\n", "12a\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		put(texts[i]);
		assert_refused();
	}
}

static void test_living_process_is_refused(void **state)
{
	char text[32];

	(void)state;
	snprintf(text, sizeof text, "%ld\n", (long)getppid());
	put(text);
	assert_refused();
	put("1\n");
	assert_refused();
}

static void test_dead_process_is_stale(void **state)
{
	char text[32];
	const pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	snprintf(text, sizeof text, "%ld\n", (long)pid);
	put(text);
	assert_stale();
}

/* A container that starts again gives everybody the pid of the last time. */
static void test_own_pid_is_stale(void **state)
{
	char text[32];

	(void)state;
	snprintf(text, sizeof text, "%ld\n", (long)getpid());
	put(text);
	assert_stale();
}

static void test_written_file_holds_the_pid(void **state)
{
	char want[32], got[32] = "";
	FILE *f;

	(void)state;
	assert_int_equal(pidfile_write(path, &e), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(got, sizeof got, f));
	fclose(f);
	snprintf(want, sizeof want, "%ld\n", (long)getpid());
	assert_string_equal(got, want);
}

static void test_file_of_others_is_not_overwritten(void **state)
{
	(void)state;
	put("1\n");
	assert_int_equal(pidfile_write(path, &e), -1);
	assert_non_null(strstr(e.text, "could not open pidfile"));
}

static void test_file_of_the_ending_process_is_left_to_it(void **state)
{
	char text[32];

	(void)state;
	snprintf(text, sizeof text, "%ld\n", (long)getppid());
	put(text);
	assert_int_equal(pidfile_check(path, getppid(), &e), 0);
	assert_string_equal(said, "");
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(pidfile_check(path, getpid(), &e), -1);
}

static void test_trial_leaves_nothing(void **state)
{
	(void)state;
	assert_int_equal(pidfile_try(path, &e), 0);
	assert_int_equal(access(path, F_OK), -1);
	/* or the folder would not go */
}

static void test_trial_finds_what_is_in_the_way(void **state)
{
	(void)state;
	assert_int_equal(symlink("/does/not/exist", path), 0);
	assert_int_equal(pidfile_try(path, &e), -1);
	assert_non_null(strstr(e.text, "a link that leads nowhere"));
	assert_int_equal(pidfile_try("/does/not/exist/pid", &e), -1);
	assert_non_null(strstr(e.text, "No such file"));
	assert_int_equal(pidfile_check(dir, 0, &e), -1);
	assert_non_null(strstr(e.text, "Is a directory"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_no_file_is_fine, setup),
		cmocka_unit_test_setup(test_unparsable_file_is_refused, setup),
		cmocka_unit_test_setup(test_living_process_is_refused, setup),
		cmocka_unit_test_setup(test_dead_process_is_stale, setup),
		cmocka_unit_test_setup(test_own_pid_is_stale, setup),
		cmocka_unit_test_setup(test_written_file_holds_the_pid, setup),
		cmocka_unit_test_setup(test_file_of_others_is_not_overwritten,
		    setup),
		cmocka_unit_test_setup(
		    test_file_of_the_ending_process_is_left_to_it, setup),
		cmocka_unit_test_setup(test_trial_leaves_nothing, setup),
		cmocka_unit_test_setup(test_trial_finds_what_is_in_the_way,
		    setup),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
