/* test_log.c - lines, destinations and the end of the process.
 * SPDX-License-Identifier: ISC */
#undef _FORTIFY_SOURCE /* syslog() is replaced below */

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/text.h"

/* --- what the C library's syslog would have been told --- */

static char told[4096];
static char told_ident[64];
static int told_priority, told_facility, told_count, opened;

void openlog(const char *ident, int option, int facility)
{
	text_copy(told_ident, sizeof told_ident, ident);
	assert_int_equal(option, LOG_PID);
	(void)facility;		/* each line has its own */
	opened++;
}

static void note_syslog(int priority, const char *fmt, va_list ap)
{
	vsnprintf(told, sizeof told, fmt, ap);
	told_priority = LOG_PRI(priority);
	told_facility = priority & LOG_FACMASK;
	told_count++;
}

void syslog(int priority, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	note_syslog(priority, fmt, ap);
	va_end(ap);
}

/* The same under _FORTIFY_SOURCE. */
void __syslog_chk(int priority, int flag, const char *fmt, ...);
void __syslog_chk(int priority, int flag, const char *fmt, ...)
{
	va_list ap;

	(void)flag;
	va_start(ap, fmt);
	note_syslog(priority, fmt, ap);
	va_end(ap);
}

/* --- helpers --- */

static char last[8192];
static int lines;

static void keep(enum log_level level, const char *line)
{
	(void)level;
	text_copy(last, sizeof last, line);
	lines++;
}

static void describe(const struct log_who *who, struct log_facts *out)
{
	(void)who;
	*out = (struct log_facts){
		.side = 'C',
		.object = (const void *)0x55d0c8f0a300,
		.database = "shop",
		.user = "ann",
		.address = "10.0.0.7:51034",
	};
}

static const struct log_who client = { describe };

/* A new empty directory; "dir/name" into path. */
static void make_path(char *path, size_t size)
{
	char dir[] = "/tmp/test_log.XXXXXX";

	assert_non_null(mkdtemp(dir));
	snprintf(path, size, "%s/log", dir);
}

static void remove_path(char *path)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
}

static void slurp(const char *path, char *out, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd >= 0 ? read(fd, out, size - 1) : 0;

	assert_true(n >= 0);
	out[n] = '\0';
	if (fd >= 0)
		close(fd);
}

static bool matches(const char *s, const char *pattern)
{
	regex_t re;

	assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	const bool ok = regexec(&re, s, 0, NULL, 0) == 0;
	regfree(&re);
	return ok;
}

/* Run fn in a child; its stderr goes to err, its exit status is returned. */
static int run_child(void (*fn)(const void *), const void *arg, char *err,
    size_t size)
{
	int ends[2], status;
	size_t len = 0;
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	const pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		fn(arg);
		_exit(99);
	}
	close(ends[1]);
	while ((n = read(ends[0], err + len, size - 1 - len)) > 0)
		len += (size_t)n;
	err[len] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void reset(void)
{
	const struct log_opts quiet = { .quiet = true };

	log_set_sink(NULL);
	log_setup(&quiet);
	lines = told_count = opened = 0;
}

/* --- tests --- */

static void test_prefix_stands_before_the_message(void **state)
{
	(void)state;

	reset();
	log_set_sink(keep);
	log_at(LEVEL_INFO, &client, "closing because: %s (age=%ds)", "x", 12);
	assert_string_equal(last,
	    "C-0x55d0c8f0a300: shop/ann@10.0.0.7:51034 "
	    "closing because: x (age=12s)");
	log_info("plain");
	assert_string_equal(last, "plain");
	assert_int_equal(lines, 2);
}

static void test_newlines_are_followed_by_a_tab(void **state)
{
	(void)state;

	reset();
	log_set_sink(keep);
	log_info("one\ntwo\n\nthree");
	assert_string_equal(last, "one\n\ttwo\n\t\n\tthree");
}

static void test_trailing_blanks_go_from_multi_line_only(void **state)
{
	(void)state;

	reset();
	log_set_sink(keep);
	log_info("one  ");
	assert_string_equal(last, "one  ");
	log_info("one\ntwo \n \n");
	assert_string_equal(last, "one\n\ttwo");
	log_info("one\n");
	assert_string_equal(last, "one");
	log_info("\n");
	assert_string_equal(last, "");
}

/* Who reads line by line can tell a line from what a client has sent. */
static void test_a_client_can_not_forge_a_line(void **state)
{
	(void)state;

	reset();
	log_set_sink(keep);
	log_info("no such user: x\n2026-01-31 09:05:00.123 UTC [1] LOG hello");
	assert_string_equal(last, "no such user: x\n"
	    "\t2026-01-31 09:05:00.123 UTC [1] LOG hello");
	log_info("no such user: x\r2026-01-31 09:05:00.123 UTC [1] LOG hello");
	assert_string_equal(last, "no such user: x?"
	    "2026-01-31 09:05:00.123 UTC [1] LOG hello");
}

static void test_control_bytes_do_not_reach_the_terminal(void **state)
{
	(void)state;

	reset();
	log_set_sink(keep);
	log_info("a\033[2Jb\177c\td\xc3\xa4");
	assert_string_equal(last, "a?[2Jb?c\td\xc3\xa4");
	/* the eight-bit forms, in UTF-8; and what hides the line's beginning */
	log_info("a\xc2\x9b" "2J\xc2\xa0\rb\v\f\b");
	assert_string_equal(last, "a?2J\xc2\xa0?b???");
	/* as they are, for terminals that know no UTF-8 */
	log_info("a\x9b" "2J\x80\x9f\xa0\xe9");
	assert_string_equal(last, "a?2J??\xa0\xe9");
	/* but a character may contain such bytes */
	log_info("\xe2\x9b\x80 \xf0\x9f\x90\x98 \xc5\x9b");
	assert_string_equal(last, "\xe2\x9b\x80 \xf0\x9f\x90\x98 \xc5\x9b");
	/* separators of lines, and what turns text around */
	log_info("a\xe2\x80\xa8" "b\xe2\x80\xae" "c\xe2\x81\xa6" "d\xd8\x9c" "e"
	    "\xe2\x80\x8e" "f\xe2\x80\xaf" "g");
	assert_string_equal(last, "a?b?c?d?e?f\xe2\x80\xaf" "g");
	/* and may be cut: what is left is none */
	log_info("\xe2\x9b");
	assert_string_equal(last, "\xe2?");
}

static void test_message_is_cut_at_2047_bytes(void **state)
{
	(void)state;

	char longer[5000];

	reset();
	log_set_sink(keep);
	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	log_at(LEVEL_INFO, &client, "%s", longer);
	assert_int_equal(strlen(last), 2047);
	assert_memory_equal(last, "C-0x", 4);

	memset(longer, '\n', sizeof longer - 2);
	longer[2046] = 'b';
	log_info("%s", longer);
	assert_int_equal(strlen(last), 2 * 2046 + 1);
}

static void test_verbose_decides_debug_and_noise(void **state)
{
	(void)state;

	struct log_opts opts = { .quiet = true };

	reset();
	log_set_sink(keep);
	assert_true(log_wants(LEVEL_INFO));
	assert_false(log_wants(LEVEL_DEBUG));
	log_debug("x");
	assert_int_equal(lines, 0);

	opts.verbose = 1;
	log_setup(&opts);
	assert_true(log_wants(LEVEL_DEBUG));
	assert_false(log_wants(LEVEL_NOISE));
	opts.verbose = 2;
	log_setup(&opts);
	assert_true(log_wants(LEVEL_NOISE));
}

static void test_logging_keeps_errno(void **state)
{
	(void)state;

	char path[64];

	reset();
	make_path(path, sizeof path);
	log_setup(&(struct log_opts){ .quiet = true, .file = path });
	errno = ENOTTY;
	log_info("x");
	assert_int_equal(errno, ENOTTY);
	reset();
	remove_path(path);
}

static void test_file_gets_full_lines(void **state)
{
	(void)state;

	char path[64], text[4096], pattern[512];

	reset();
	make_path(path, sizeof path);
	log_setup(&(struct log_opts){ .quiet = true, .file = path });
	setenv("TZ", "UTC", 1);
	tzset();
	log_at(LEVEL_INFO, &client, "hello");
	slurp(path, text, sizeof text);
	snprintf(pattern, sizeof pattern,
	    "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}"
	    "[.][0-9]{3} UTC \\[%ld\\] LOG C-0x55d0c8f0a300: "
	    "shop/ann@10[.]0[.]0[.]7:51034 hello\n$",
	    (long)getpid());
	assert_true(matches(text, pattern));
	reset();
	remove_path(path);
}

static void test_each_level_has_its_word(void **state)
{
	(void)state;

	static const char *const words[] = {
		"FATAL",
		"ERROR",
		"WARNING",
		"LOG",
		"DEBUG",
		"NOISE",
	};
	char path[64], text[4096], expected[64];

	reset();
	make_path(path, sizeof path);
	log_setup(
	    &(struct log_opts){ .quiet = true, .file = path, .verbose = 2 });
	for (int i = LEVEL_FATAL; i <= LEVEL_NOISE; i++) {
		log_at((enum log_level)i, NULL, "text %d", i);
		slurp(path, text, sizeof text);
		snprintf(expected, sizeof expected, "] %s text %d\n", words[i],
		    i);
		assert_non_null(strstr(text, expected));
	}
	reset();
	remove_path(path);
}

static void test_file_is_opened_late_and_anew_after_setup(void **state)
{
	(void)state;

	char path[64], moved[80], text[4096];
	const struct log_opts opts = { .quiet = true, .file = path };

	reset();
	make_path(path, sizeof path);
	snprintf(moved, sizeof moved, "%s.1", path);
	log_setup(&opts);
	assert_int_equal(access(path, F_OK), -1);
	log_info("one");
	assert_int_equal(rename(path, moved), 0);
	log_info("two");
	assert_int_equal(access(path, F_OK), -1);
	log_setup(&opts);
	log_info("three");
	slurp(path, text, sizeof text);
	assert_null(strstr(text, "two"));
	assert_non_null(strstr(text, "three"));
	reset();
	unlink(moved);
	remove_path(path);
}

/* Names of users and addresses are not for everybody. */
static void test_new_file_is_not_for_others_whatever_the_umask(void **state)
{
	static const mode_t masks[] = { 0, 022, 077 };
	char path[64];
	struct stat st;

	(void)state;
	for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
		const mode_t before = umask(masks[i]);

		make_path(path, sizeof path);
		log_setup(&(struct log_opts){ .quiet = true, .file = path });
		log_info("hello");
		umask(before);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0640);
		/* what was given to it by hand, or by logrotate, stays */
		assert_int_equal(chmod(path, 0604), 0);
		log_setup(&(struct log_opts){ .quiet = true, .file = path });
		log_info("hello");
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0604);
		reset();
		remove_path(path);
	}
}

static void test_early_lines_are_kept_for_the_file(void **state)
{
	(void)state;

	char path[64], text[4096];

	reset();
	make_path(path, sizeof path);
	log_setup(&(struct log_opts){ .quiet = true, .early = true });
	log_warning("first\nof two");
	log_info("second");
	log_debug("not wanted");
	log_setup(&(struct log_opts){ .quiet = true, .file = path,
	    .syslog = true, .syslog_ident = "early" });
	/* whoever writes it may not be who reads the configuration */
	assert_int_equal(access(path, F_OK), -1);
	log_info("third");
	slurp(path, text, sizeof text);
	const char *const first = strstr(text, " WARNING first\n\tof two\n");
	const char *const second = strstr(text, " LOG second\n");

	assert_non_null(first);
	assert_true(first < second);
	assert_true(second < strstr(text, " LOG third\n"));
	assert_null(strstr(text, "wanted"));
	assert_int_equal(told_count, 3);
	log_info("fourth");
	slurp(path, text, sizeof text);
	assert_null(strstr(strstr(text, "first") + 1, "first"));
	reset();
	remove_path(path);
}

static void test_file_is_appended_to(void **state)
{
	(void)state;

	char path[64], text[4096];

	reset();
	make_path(path, sizeof path);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs("before\n", f);
	fclose(f);
	log_setup(&(struct log_opts){ .quiet = true, .file = path });
	log_info("after");
	slurp(path, text, sizeof text);
	assert_memory_equal(text, "before\n", 7);
	assert_non_null(strstr(text, "after"));
	reset();
	remove_path(path);
}

static void log_to_file(const void *path)
{
	log_setup(&(struct log_opts){ .quiet = true, .file = path });
	log_info("x");
}

static void test_file_that_does_not_open_ends_the_process(void **state)
{
	(void)state;

	char err[1024];

	reset();
	assert_int_equal(run_child(log_to_file, "/nonexistent/dir/log", err,
			     sizeof err),
	    1);
	assert_true(matches(err,
	    "^[-0-9]+ [:.0-9]+ [^ ]+ \\[[0-9]+\\] FATAL "
	    "Cannot open logfile: '/nonexistent/dir/log': "
	    "No such file or directory\n$"));
}

static void test_path_too_long_is_not_cut(void **state)
{
	(void)state;

	char err[16384], path[6000];

	reset();
	memset(path, '/', sizeof path);
	memcpy(path, "/tmp", 4);
	path[sizeof path - 1] = '\0';
	assert_int_equal(run_child(log_to_file, path, err, sizeof err), 1);
	assert_non_null(strstr(err, "File name too long"));
}

static void die(const void *quiet)
{
	log_setup(&(struct log_opts){ .quiet = quiet != NULL });
	log_fatal("the end: %d", 7);
}

static void test_fatal_ends_the_process_with_1(void **state)
{
	(void)state;

	char err[1024];

	reset();
	assert_int_equal(run_child(die, NULL, err, sizeof err), 1);
	assert_true(matches(err, "\\[[0-9]+\\] FATAL the end: 7\n$"));
	assert_int_equal(run_child(die, "quiet", err, sizeof err), 1);
	assert_string_equal(err, "");
}

/* shows setting: syslog, syslog_ident, syslog_facility */
static void test_syslog_gets_message_and_priority(void **state)
{
	(void)state;

	static const int priorities[] = { LOG_CRIT, LOG_ERR, LOG_WARNING,
		LOG_INFO };

	reset();
	log_setup(&(struct log_opts){ .quiet = true,
	    .syslog = true,
	    .syslog_ident = "sluice",
	    .syslog_facility = "local3" });
	assert_int_equal(opened, 0);
	for (int i = LEVEL_FATAL; i <= LEVEL_INFO; i++) {
		log_at((enum log_level)i, &client, "100%% %d", i);
		assert_int_equal(told_priority, priorities[i]);
	}
	assert_string_equal(told,
	    "C-0x55d0c8f0a300: shop/ann@10.0.0.7:51034 100% 3");
	assert_int_equal(opened, 1);
	assert_int_equal(told_facility, LOG_LOCAL3);
	reset();
}

static void test_syslog_gets_no_debug_lines(void **state)
{
	(void)state;

	reset();
	log_setup(&(struct log_opts){ .quiet = true,
	    .syslog = true,
	    .syslog_ident = "sluice",
	    .verbose = 2 });
	log_debug("x");
	log_at(LEVEL_NOISE, NULL, "x");
	assert_int_equal(told_count, 0);
	reset();
}

static void test_syslog_may_change_its_name(void **state)
{
	(void)state;

	struct log_opts opts = { .quiet = true,
		.syslog = true,
		.syslog_ident = "other",
		.syslog_facility = "LOCAL3" };

	reset();
	log_setup(&opts);
	log_info("x");
	assert_string_equal(told_ident, "other");
	assert_int_equal(told_facility, LOG_DAEMON); /* exact case only */
	opts.syslog_ident = "sluice";
	opts.syslog_facility = "local4";
	log_setup(&opts);
	log_info("x");
	assert_string_equal(told_ident, "sluice");
	assert_int_equal(told_facility, LOG_LOCAL4);
	assert_int_equal(opened, 2);
	log_info("x");
	assert_int_equal(opened, 2);
	reset();
}

static void log_to_journal(const void *arg)
{
	struct stat st;
	char stream[64];

	(void)arg;
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)st.st_dev,
	    (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_setup(&(struct log_opts){ .verbose = 1 });
	log_at(LEVEL_WARNING, &client, "hello\nworld");
	log_debug("bye");
	setenv("JOURNAL_STREAM", "1:1", 1);
	log_setup(&(struct log_opts){ .verbose = 1 });
	log_info("full");
}

static void test_journal_gets_priority_and_message(void **state)
{
	(void)state;

	char err[1024];
	static const char expected[] =
	    "<4>C-0x55d0c8f0a300: shop/ann@10.0.0.7:51034 hello\n"
	    "<4>\tworld\n<7>bye\n";

	reset();
	assert_int_equal(run_child(log_to_journal, NULL, err, sizeof err), 99);
	assert_memory_equal(err, expected, sizeof expected - 1);
	assert_true(matches(err, "\\] LOG full\n$"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefix_stands_before_the_message),
		cmocka_unit_test(test_newlines_are_followed_by_a_tab),
		cmocka_unit_test(test_trailing_blanks_go_from_multi_line_only),
		cmocka_unit_test(test_a_client_can_not_forge_a_line),
		cmocka_unit_test(test_control_bytes_do_not_reach_the_terminal),
		cmocka_unit_test(test_message_is_cut_at_2047_bytes),
		cmocka_unit_test(test_verbose_decides_debug_and_noise),
		cmocka_unit_test(test_logging_keeps_errno),
		cmocka_unit_test(test_file_gets_full_lines),
		cmocka_unit_test(test_each_level_has_its_word),
		cmocka_unit_test(test_file_is_opened_late_and_anew_after_setup),
		cmocka_unit_test(
		    test_new_file_is_not_for_others_whatever_the_umask),
		cmocka_unit_test(test_early_lines_are_kept_for_the_file),
		cmocka_unit_test(test_file_is_appended_to),
		cmocka_unit_test(test_file_that_does_not_open_ends_the_process),
		cmocka_unit_test(test_path_too_long_is_not_cut),
		cmocka_unit_test(test_fatal_ends_the_process_with_1),
		cmocka_unit_test(test_syslog_gets_message_and_priority),
		cmocka_unit_test(test_syslog_gets_no_debug_lines),
		cmocka_unit_test(test_syslog_may_change_its_name),
		cmocka_unit_test(test_journal_gets_priority_and_message),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
