/* test_input.c - files that are read: none that waits, or is a trap.
 * SPDX-License-Identifier: ISC */
#include <errno.h>
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

#include "base/input.h"

static char dir[] = "/tmp/input.XXXXXX";
static char path[64], other[64];

#define STRANGER 4711
#define ANOTHER 4712

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) == NULL || chmod(dir, 0755) < 0 ? -1 : 0;
}

static int remove_dir(void **state)
{
	(void)state;
	return rmdir(dir);
}

static int setup(void **state)
{
	(void)state;
	snprintf(path, sizeof path, "%s/a", dir);
	snprintf(other, sizeof other, "%s/b", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	(void)unlink(other);
	return 0;
}

static void put(const char *name, const char *text)
{
	FILE *const f = fopen(name, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void assert_reads(const char *name, char want)
{
	const int fd = input_open(name);
	char c = 0;

	assert_true(fd >= 0);
	assert_int_equal(read(fd, &c, 1), 1);
	assert_int_equal(c, want);
	close(fd);
	assert_int_equal(input_check(name), 0);
}

static void assert_refused(const char *name, const char *why)
{
	errno = 0;
	assert_int_equal(input_open(name), -1);
	assert_string_equal(input_why(errno), why);
	errno = 0;
	assert_int_equal(input_check(name), -1);
	assert_string_equal(input_why(errno), why);
}

static void test_file_is_read_by_any_path(void **state)
{
	char long_way[256];

	(void)state;
	put(path, "x");
	assert_reads(path, 'x');
	snprintf(long_way, sizeof long_way, "//tmp/./../tmp///%s/./a",
	    dir + sizeof "/tmp/" - 1);
	assert_reads(long_way, 'x');
	assert_int_equal(chdir(dir), 0);
	assert_reads("a", 'x');
	assert_reads("./a", 'x');
	assert_int_equal(chdir("/"), 0);
	assert_reads(path + 1, 'x');
	assert_int_equal(symlink("a", other), 0);
	assert_reads(other, 'x');
}

static void test_device_is_read(void **state)
{
	(void)state;
	assert_int_equal(input_check("/dev/null"), 0);
}

static void test_pipe_is_not_waited_for(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(path, "not a regular file");
	assert_int_equal(symlink("a", other), 0);
	assert_refused(other, "not a regular file");
}

static void test_what_is_no_file_is_told(void **state)
{
	(void)state;
	assert_refused(dir, "Is a directory");
	assert_refused("/", "Is a directory");
	assert_refused("", "No such file or directory");
	assert_refused(path, "No such file or directory");
	put(path, "x");
	snprintf(path, sizeof path, "%s/a/c", dir);
	assert_refused(path, "Not a directory");
	snprintf(path, sizeof path, "%s/a", dir);
}

static void test_ring_of_links_ends(void **state)
{
	(void)state;
	assert_int_equal(symlink("b", path), 0);
	assert_int_equal(symlink("a", other), 0);
	assert_refused(path, "Too many levels of symbolic links");
}

/* A link at path to a file at other; of these users. */
static void link_of(uid_t link_owner, uid_t file_owner)
{
	put(other, "x");
	assert_int_equal(chown(other, file_owner, file_owner), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(lchown(path, link_owner, link_owner), 0);
}

static void test_root_follows_no_link_to_another_s_file(void **state)
{
	(void)state;
	link_of(STRANGER, 0);
	assert_refused(path, "not as root: a link of another user leads "
	    "there");
	assert_int_equal(unlink(path), 0);
	link_of(STRANGER, ANOTHER);
	assert_refused(path, "not as root: a link of another user leads "
	    "there");
	assert_int_equal(unlink(path), 0);
	link_of(STRANGER, STRANGER);
	assert_reads(path, 'x');
	assert_int_equal(unlink(path), 0);
	link_of(0, STRANGER);
	assert_reads(path, 'x');
}

static void test_root_follows_no_linked_folder_of_another(void **state)
{
	char inner[128];

	(void)state;
	put(other, "x");
	assert_int_equal(symlink(dir, path), 0);
	snprintf(inner, sizeof inner, "%s/b", path);
	assert_reads(inner, 'x');
	assert_int_equal(lchown(path, STRANGER, STRANGER), 0);
	assert_refused(inner, "not as root: a link of another user leads "
	    "there");
}

/* What another thread sees of a reader, and what is kept from the next. */
static void test_reader_is_seen_where_it_waits(void **state)
{
	struct input_watch w;
	char at[PATH_MAX] = "";
	unsigned long steps, before;

	(void)state;
	put(path, "x");
	put(other, "y");
	input_watch_init(&w, other);
	assert_false(input_watch_look(&w, at, &before));
	input_watch_set(&w);
	const int fd = input_open(path);

	assert_true(fd >= 0);
	assert_true(input_watch_look(&w, at, &steps));
	assert_string_equal(at, path);
	assert_true(steps != before);
	/* without an end in between it is another step */
	before = steps;
	assert_int_equal(input_check(path), 0);
	assert_true(input_watch_look(&w, at, &steps));
	assert_true(steps != before);
	input_watch_end();
	input_watch_end();
	assert_false(input_watch_look(&w, at, &steps));
	assert_int_equal(input_open(other), -1);
	assert_string_equal(input_why(errno), "earlier reloads still read it");
	assert_false(input_watch_look(&w, at, &steps));
	/* who does not watch himself is kept from nothing */
	input_watch_set(NULL);
	assert_int_equal(input_check(other), 0);
	assert_false(input_watch_look(&w, at, &steps));
	input_watch_fini(&w);
	close(fd);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_file_is_read_by_any_path),
		TEST(test_device_is_read),
		TEST(test_reader_is_seen_where_it_waits),
		TEST(test_pipe_is_not_waited_for),
		TEST(test_what_is_no_file_is_told),
		TEST(test_ring_of_links_ends),
		/* these give files away: root only, and so the last ones */
		TEST(test_root_follows_no_link_to_another_s_file),
		TEST(test_root_follows_no_linked_folder_of_another),
	};
	const size_t count = sizeof tests / sizeof tests[0] -
	    (geteuid() == 0 ? 0 : 2);

	return _cmocka_run_group_tests("tests", tests, count, make_dir,
	    remove_dir);
}
