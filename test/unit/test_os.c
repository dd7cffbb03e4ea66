/* test_os.c - what systems do in different ways, by each file.
 * SPDX-License-Identifier: ISC */
#include "base/os.h"

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
#include <sys/mman.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LONG_MS 20000

static void assert_flags(int fd)
{
	assert_int_not_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	assert_int_not_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
}

static bool has_input(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

static void test_descriptors_do_not_block_and_end_at_exec(void **state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct sockaddr_storage from;
	socklen_t len = sizeof from;
	int ends[2];

	(void)state;
	assert_int_equal(os_pipe(ends), 0);
	assert_flags(ends[0]);
	assert_flags(ends[1]);
	close(ends[0]);
	close(ends[1]);
	snprintf(a.sun_path, sizeof a.sun_path, "/tmp/test_os.%ld",
	    (long)getpid());
	const int l = os_socket(AF_UNIX, SOCK_STREAM);
	const int c = os_socket(AF_UNIX, SOCK_STREAM);

	assert_flags(l);
	assert_int_equal(os_accept(-1, NULL, NULL), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(bind(l, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(connect(c, (struct sockaddr *)&a, sizeof a), 0);
	unlink(a.sun_path);
	const int s = os_accept(l, (struct sockaddr *)&from, &len);

	assert_flags(s);
	assert_int_equal(os_accept(l, (struct sockaddr *)&from, &len), -1);
	assert_int_equal(errno, EAGAIN);
	close(s);
	close(c);
	close(l);
}

static void test_call_wakes_until_it_is_taken(void **state)
{
	struct os_wake w;

	(void)state;
	assert_int_equal(os_wake_open(&w), 0);
	assert_false(has_input(w.fd, 0));
	/* more calls than a pipe has room for */
	for (int i = 0; i < 100000; i++)
		os_wake_call(&w);
	assert_true(has_input(w.fd, 0));
	os_wake_take(&w);
	assert_false(has_input(w.fd, 0));
	os_wake_call(&w);
	assert_true(has_input(w.fd, 0));
	os_wake_close(&w);
	assert_int_equal(w.fd, -1);
	os_wake_close(&w);
}

static void test_signals_are_read(void **state)
{
	sigset_t set;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	for (int i = 0; i < 2; i++) {
		const int fd = os_signals_open(&set);

		assert_true(fd >= 0);
		assert_int_equal(os_signals_take(fd), 0);
		raise(SIGUSR2);
		assert_true(has_input(fd, 0));
		assert_int_equal(os_signals_take(fd), SIGUSR2);
		assert_int_equal(os_signals_take(fd), 0);
		close(fd);
	}
}

static void test_end_of_process_is_awaited(void **state)
{
	int ends[2];
	char c;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	const pid_t pid = fork();

	if (pid == 0) {
		close(ends[1]);
		_exit(read(ends[0], &c, 1) == 0 ? 0 : 1);
	}
	close(ends[0]);
	const int fd = os_process_open(pid);

	assert_false(os_process_await(fd, pid, 0));
	close(ends[1]);
	if (fd >= 0) {
		assert_true(os_process_await(fd, pid, LONG_MS));
		close(fd);
		waitpid(pid, NULL, 0);
	} else {
		waitpid(pid, NULL, 0);
		assert_true(os_process_await(fd, pid, LONG_MS));
	}
	assert_int_equal(os_process_open(0), -1);
	assert_false(os_process_await(-1, 0, 0));
}

static void test_peer_of_a_socket_is_known(void **state)
{
	struct os_peer p;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(os_peer_get(ends[0], &p), 0);
	assert_int_equal(p.uid, geteuid());
	assert_true(p.pid == getpid() || p.pid == 0);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(os_peer_get(ends[0], &p), -1);
}

static void send_fd(int to, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} c;
	struct iovec v = { .iov_base = (void *)"x", .iov_len = 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1,
		.msg_control = c.bytes, .msg_controllen = sizeof c.bytes };

	memset(&c, 0, sizeof c);
	struct cmsghdr *const h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(h), &fd, sizeof fd);
	assert_int_equal(sendmsg(to, &m, 0), 1);
}

static void test_received_descriptor_ends_at_exec_and_its_sender_is_known(
    void **state)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int)) + OS_SENDER_SPACE];
	} c;
	char byte;
	struct iovec v = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1,
		.msg_control = c.bytes, .msg_controllen = sizeof c.bytes };
	struct os_peer p;
	int ends[2], got = -1;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(os_sender_ask(ends[1]), 0);
	send_fd(ends[0], STDIN_FILENO);
	assert_int_equal(os_recvmsg(ends[1], &m), 1);
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h != NULL;
	    h = CMSG_NXTHDR(&m, h)) {
		if (h->cmsg_type == SCM_RIGHTS)
			memcpy(&got, CMSG_DATA(h), sizeof got);
	}
	assert_true(got >= 0);
	assert_int_not_equal(fcntl(got, F_GETFD) & FD_CLOEXEC, 0);
	assert_int_equal(os_sender_get(ends[1], &m, &p), 0);
	assert_int_equal(p.uid, geteuid());
	close(got);
	close(ends[0]);
	close(ends[1]);
}

static void test_descriptors_are_closed_from_a_number_on(void **state)
{
	int status;

	(void)state;
	const pid_t pid = fork();

	if (pid == 0) {
		const int low = dup(STDIN_FILENO), high = dup(STDIN_FILENO);

		os_close_from(high);
		_exit(fcntl(low, F_GETFD) >= 0 && fcntl(high, F_GETFD) < 0 ?
		    0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_longer_mapping_has_the_bytes_of_before(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(p, MAP_FAILED);
	memcpy(p, "bytes", 6);
	p = os_map_longer(p, page, 512 * page);
	assert_non_null(p);
	assert_string_equal(p, "bytes");
	assert_int_equal(p[512 * page - 1], 0);
	/* more than any address space has */
	assert_null(os_map_longer(p, 512 * page, SIZE_MAX - page));
	assert_string_equal(p, "bytes");
	assert_int_equal(munmap(p, 512 * page), 0);
}

static void test_bytes_are_spliced_or_that_is_refused(void **state)
{
	int pipe[2], ends[2];
	char bytes[8] = "";

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	if (os_splice_pipe(pipe) < 0) {
		assert_int_equal(os_splice(ends[0], ends[1], 1), -1);
		assert_int_equal(errno, ENOSYS);
	} else {
		assert_int_equal(write(ends[0], "bytes", 5), 5);
		assert_int_equal(os_splice(ends[1], pipe[1], 5), 5);
		assert_int_equal(os_splice(pipe[0], ends[1], 5), 5);
		assert_int_equal(read(ends[0], bytes, sizeof bytes), 5);
		assert_string_equal(bytes, "bytes");
		close(pipe[0]);
		close(pipe[1]);
	}
	close(ends[0]);
	close(ends[1]);
}

static void test_cpus_are_set_as_they_were(void **state)
{
	struct os_cpus c;

	(void)state;
	os_cpus_get(&c);
	if (os_cpus_count(&c) == 0)	/* this system does not tell */
		assert_int_equal(os_cpus_set(&c), ENOSYS);
	else
		assert_int_equal(os_cpus_set(&c), 0);
	assert_int_not_equal(os_cpus_pin(1023), 0);
}

static void test_wait_for_a_semaphore_ends_in_time(void **state)
{
	sem_t s;

	(void)state;
	sem_init(&s, 0, 1);
	assert_int_equal(os_sem_wait(&s, time_precise() + LONG_MS * 1000), 0);
	assert_int_equal(os_sem_wait(&s, time_precise() + 1000), -1);
	assert_int_equal(errno, ETIMEDOUT);
	sem_destroy(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptors_do_not_block_and_end_at_exec),
		cmocka_unit_test(test_call_wakes_until_it_is_taken),
		cmocka_unit_test(test_signals_are_read),
		cmocka_unit_test(test_end_of_process_is_awaited),
		cmocka_unit_test(test_peer_of_a_socket_is_known),
		cmocka_unit_test(test_received_descriptor_ends_at_exec_and_its_sender_is_known),
		cmocka_unit_test(test_descriptors_are_closed_from_a_number_on),
		cmocka_unit_test(test_longer_mapping_has_the_bytes_of_before),
		cmocka_unit_test(test_bytes_are_spliced_or_that_is_refused),
		cmocka_unit_test(test_cpus_are_set_as_they_were),
		cmocka_unit_test(test_wait_for_a_semaphore_ends_in_time),
	};

	return cmocka_run_group_tests_name(os_name(), tests, NULL, NULL);
}
