/* test_log_thread.c - unit tests of the threads that write the log.
 * SPDX-License-Identifier: ISC */
#include "io/log_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log_out.h"

static void put(const char *line)
{
	log_out_put(LOG_TO_FILE, &(struct log_record){ .tag = LOG_PLAIN,
		.len = strlen(line), .text = line });
}

/* How often this thread has waited for anything. */
static long waits(void)
{
	struct rusage r;

	assert_int_equal(getrusage(RUSAGE_THREAD, &r), 0);
	return r.ru_nvcsw;
}

/* A pipe with a reader that does not read. */
static int full_pipe(const char *path)
{
	static const char zeros[4096];

	assert_int_equal(mkfifo(path, 0600), 0);
	const int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	assert_true(fd >= 0);
	while (write(fd, zeros, sizeof zeros) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	return fd;
}

/* A stranger whose failures are logged would have all wait every second. */
static void test_a_log_that_hangs_is_waited_for_once(void **state)
{
	char folder[] = "/tmp/test_log_thread.XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/log", folder);
	const int fd = full_pipe(path);

	assert_int_equal(log_out_open(path), 0);
	log_thread_start();
	put("one\n");
	log_out_settle(LOG_TO_FILE);
	/* nobody reads for more than a second, which patience is for */
	assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLOUT },
	    1, 1100), 0);
	put("two\n");
	const long before = waits();

	log_out_settle(LOG_TO_FILE);
	assert_int_equal(waits(), before);
	unlink(path);
	rmdir(folder);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_log_that_hangs_is_waited_for_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
