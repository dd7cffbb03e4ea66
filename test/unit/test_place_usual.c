/* test_place_usual.c - which of several configurations tells where the console is.
 * SPDX-License-Identifier: ISC */
#include "ctl/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/options.h"

static const char *const paths[] = { "a.ini", "b.ini", "none.ini" };

static bool no_address(const struct settings *s)
{
	assert_string_equal(s->listen_addr, "127.0.0.1");
	return false;
}

static bool own_address(const struct settings *s)
{
	return s->listen_port == 2;
}

static void write_ini(const char *path, const char *folder, int port)
{
	FILE *const f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "[pgbouncer]\nunix_socket_dir = %s\nlisten_port = %d\n"
	    "listen_addr = 127.0.0.1\n", folder, port);
	fclose(f);
}

static int listen_at(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static int enter_folder(void **state)
{
	static char folder[] = "/tmp/usual.XXXXXX";

	memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
	*state = mkdtemp(folder);
	if (*state == NULL || chdir(folder) != 0)
		return -1;
	write_ini("a.ini", ".", 1);
	write_ini("b.ini", ".", 2);
	return 0;
}

static int leave_folder(void **state)
{
	static const char *const files[] = { "a.ini", "b.ini", ".s.PGSQL.1",
		".s.PGSQL.2" };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		(void)unlink(files[i]);
	return chdir("/") != 0 ? -1 : rmdir(*state);
}

static void test_pooler_that_answers_decides(void **state)
{
	(void)state;
	const int fd = listen_at(".s.PGSQL.2");

	assert_string_equal(usual_choose(paths, 3, no_address), "b.ini");
	const int other = listen_at(".s.PGSQL.1");

	assert_string_equal(usual_choose(paths, 3, no_address), "a.ini");
	close(other);
	/* the socket of one that was killed is left behind */
	assert_string_equal(usual_choose(paths, 3, no_address), "b.ini");
	close(fd);
}

static void test_address_counts_without_a_socket(void **state)
{
	(void)state;
	write_ini("a.ini", "", 1);
	write_ini("b.ini", "", 2);
	assert_string_equal(usual_choose(paths, 3, own_address), "b.ini");
	assert_string_equal(usual_choose(paths, 3, no_address), "a.ini");
}

static void test_first_is_taken_if_none_answers(void **state)
{
	(void)state;
	assert_string_equal(usual_choose(paths, 3, no_address), "a.ini");
	assert_null(usual_choose(paths + 2, 1, no_address));
	assert_null(usual_choose(paths, 0, no_address));
}

static void test_file_that_can_not_be_read_comes_last(void **state)
{
	(void)state;
	assert_int_equal(unlink("a.ini"), 0);
	assert_int_equal(mkdir("a.ini", 0700), 0);
	assert_string_equal(usual_choose(paths, 3, no_address), "b.ini");
	assert_string_equal(usual_choose(paths, 1, no_address), "a.ini");
	assert_int_equal(rmdir("a.ini"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    test_pooler_that_answers_decides, enter_folder,
		    leave_folder),
		cmocka_unit_test_setup_teardown(
		    test_address_counts_without_a_socket, enter_folder,
		    leave_folder),
		cmocka_unit_test_setup_teardown(
		    test_first_is_taken_if_none_answers, enter_folder,
		    leave_folder),
		cmocka_unit_test_setup_teardown(
		    test_file_that_can_not_be_read_comes_last, enter_folder,
		    leave_folder),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
