/* test_userlist.c - the auth file: spec/config-files.md section 7.
 * SPDX-License-Identifier: ISC */
#include "conf/userlist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"

struct got {
	char buf[1024];
	struct text text;
};

static void on_report(void *arg, enum log_level level, const char *line)
{
	struct got *const g = arg;

	text_addf(&g->text, "%c%s", level > LEVEL_ERROR ? '?' : '!', line);
}

static int on_user(const char *name, const char *secret, void *arg)
{
	struct got *const g = arg;

	text_addf(&g->text, "<%s><%s>", name, secret);
	return 0;
}

static struct userlist *parse(struct got *g, const char *text, size_t len)
{
	char *const copy = test_malloc(len > 0 ? len : 1);

	memcpy(copy, text, len);
	text_init(&g->text, g->buf, sizeof(g->buf));
	const struct userlist_source src = {
		.text = copy, .len = len, .path = "f", .report = on_report,
		.arg = g,
	};
	struct userlist *const u = userlist_parse(&src);
	test_free(copy);
	return u;
}

/* The report if any, then all users in their order. */
static const char *users_of(struct got *g, const char *text, size_t len)
{
	struct userlist *u = parse(g, text, len);

	assert_non_null(u);
	assert_int_equal(userlist_each(u, on_user, g), 0);
	userlist_unref(&u);
	assert_null(u);
	return g->buf;
}

#define BROKEN ", a line is \"user\" \"password\", with the quotes"

static const struct {
	const char *text, *want;
} rows[] = {
	{ "", "" },
	{ "\n \r\n\t", "" },
	{ "\"a\" \"b\"\n", "<a><b>" },
	{ "\"a\" \"b\"", "<a><b>" },
	{ "  \"a\" \"b\" \"old\" third\n\"c\":\"d\"x", "<a><b><c><d>" },
	{ "\"a\" \"b\"\r\n\"c\" \"d\"\r\n", "<a><b><c><d>" },
	{ "\"a\" is = \"b\"\n\"c\" \"d\"", "<a><b><c><d>" },
	{ "\"a\"\"b\" \"\"\"c\"\"\"", "<a\"b><\"c\">" },
	{ "\"a\\\" \"b\\\"", "<a\\><b\\>" },
	{ "; \"x\" \"y\"\n  ; z\n\"a\" \"b\"\n;", "<a><b>" },
	{ "\"a\" \"\"\n", "<a><>" },
	{ "\"\" \"b\"\n", "<><b>" },
	{ "\"b\" \"2\"\n\"a\" \"1\"\n\"a\" \"3\"\n", "<a><3><b><2>" },
	{ "\"a\" \"b\"\n# c\n\"d\" \"e\"", "!broken auth file (f:2)" BROKEN "<a><b>" },
	/* each problem is told, what follows the first does not count */
	{ "\"a\" \"b\"\n# c\n\"d\" \"e\"\nx\n\"f\" \"g\"\ny",
	    "!broken auth file (f:2)" BROKEN "!broken auth file (f:4)" BROKEN
	    "!broken auth file (f:6)" BROKEN "<a><b>" },
	{ "a b", "!broken auth file (f:1)" BROKEN },
	{ "\n\n\"a", "!broken auth file (f:3)" BROKEN },
	{ "\"a\"", "!broken auth file (f:1)" BROKEN },
	{ "\"a\" \"b", "!broken auth file (f:1)" BROKEN },
	{ "\"a\" b\n", "!broken auth file (f:1)" BROKEN },
	/* a quote that is lost does not take the next user away */
	{ "\"a\" b\n\"c\" \"d\"\n", "!broken auth file (f:1)" BROKEN },
	{ "\"a\n\"c\" \"d\"\n", "!broken auth file (f:1)" BROKEN },
	{ "\"a\" \"b\n\"c\" \"d\"\n", "!broken auth file (f:1)" BROKEN },
	{ "\"a\"\n\"b\"\n",
	    "!broken auth file (f:1)" BROKEN "!broken auth file (f:2)" BROKEN },
};

static void test_each_row_of_the_table(void **state)
{
	struct got g;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(users_of(&g, rows[i].text,
		    strlen(rows[i].text)), rows[i].want);
}

static void on_record(void *arg, const char *name, size_t at, size_t len)
{
	struct got *const g = arg;

	text_addf(&g->text, "%s:%zu+%zu ", name, at, len);
}

static void test_each_record_is_told_with_its_place(void **state)
{
	static const char text[] = "; c\n \"a\" \"b\" x\n\"a\" \"c\"\n\n"
	    "\"e\"\"\" \"\"";
	struct got g;
	const struct userlist_source src = {
		.text = text, .len = strlen(text), .path = "f",
		.record = on_record, .arg = &g,
	};

	(void)state;
	text_init(&g.text, g.buf, sizeof(g.buf));
	struct userlist *u = userlist_parse(&src);
	assert_string_equal(g.buf, "a:5+9 a:15+7 e\":24+8 ");
	userlist_unref(&u);
}

static void test_a_nul_byte_refuses_the_file(void **state)
{
	static const char text[] = "\"a\" \"b\"\n;\0\n\"c\" \"d\"\n";
	struct got g;

	(void)state;
	assert_string_equal(users_of(&g, text, sizeof(text) - 1),
	    "!NUL byte in auth file (f:2)");
}

/* A file of one line: a name and a secret of these lengths. */
static size_t queue_of(char *buf, size_t name, size_t secret)
{
	char *p = buf;

	*p++ = '"';
	memset(p, 'n', name);
	p += name;
	memcpy(p, "\" \"", 3);
	p += 3;
	memset(p, 's', secret);
	p += secret;
	*p++ = '"';
	return (size_t)(p - buf);
}

static void test_lengths_are_limited(void **state)
{
	static const struct {
		size_t name, secret;
		const char *want;
	} lengths[] = {
		{ 127, 65530, "" },
		{ 128, 1, "!username too long in auth file (f:1)" },
		{ 1, 65531, "!password too long in auth file (f:1)" },
	};
	char *const buf = test_malloc(70000);
	struct got g;

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		const size_t len =
		    queue_of(buf, lengths[i].name, lengths[i].secret);
		struct userlist *u = parse(&g, buf, len);

		assert_string_equal(g.buf, lengths[i].want);
		assert_int_equal(userlist_count(u), g.buf[0] == '\0');
		userlist_unref(&u);
	}
	/* 64 doubled quotes count as 128 bytes. */
	size_t len = queue_of(buf, 128, 1);
	memset(buf + 1, '"', 128);
	assert_string_equal(users_of(&g, buf, len),
	    "!username too long in auth file (f:1)");
	len = queue_of(buf, 126, 1);
	memset(buf + 1, '"', 126);
	struct userlist *u = parse(&g, buf, len);
	assert_int_equal(userlist_count(u), 1);
	userlist_unref(&u);
	test_free(buf);
}

#define KEY "6puQBZCkLDcWGnUHsVdDmjHcYYCAhWdHM7HQsVL7QS8="

static void test_content_tells_the_kind(void **state)
{
	static const struct {
		const char *secret;
		enum secret_kind kind;
	} kinds[] = {
		{ "", SECRET_NONE },
		{ "x", SECRET_PLAIN },
		{ "md50123456789abcdef0123456789abcdef", SECRET_MD5 },
		{ "md50123456789ABCDEF0123456789abcdef", SECRET_UNUSABLE },
		{ "MD50123456789abcdef0123456789abcdef", SECRET_UNUSABLE },
		{ "md50123456789abcdef0123456789abcdef ", SECRET_UNUSABLE },
		{ " md50123456789abcdef0123456789abcdef", SECRET_UNUSABLE },
		{ "md50123456789abcdef0123456789abcdeg", SECRET_PLAIN },
		{ "md5", SECRET_PLAIN },
		{ "md50123456789abcdef0123456789abcde", SECRET_PLAIN },
		{ "md50123456789abcdef0123456789abcdef0", SECRET_PLAIN },
		{ "SCRAM-SHA-256$4096:c2FsdA==$" KEY ":" KEY, SECRET_SCRAM },
		{ "SCRAM-SHA-256$4096:c2FsdA==$" KEY ":c2FsdA==",
		    SECRET_UNUSABLE },
		{ "SCRAM-SHA-256$4096:c2FsdA==$" KEY, SECRET_UNUSABLE },
		{ "scram-sha-256$4096:c2FsdA==$" KEY ":" KEY,
		    SECRET_UNUSABLE },
		{ "SCRAM-SHA-256$2000000:c2FsdA==$" KEY ":" KEY,
		    SECRET_UNUSABLE },
		{ "SCRAM-SHA-512$4096:c2FsdA==$" KEY ":" KEY,
		    SECRET_UNUSABLE },
		{ "SCRAM-SHA-256$4096:c2FsdA==$" KEY ":" KEY " ",
		    SECRET_UNUSABLE },
		{ "\tSCRAM-SHA-256$4096:c2FsdA==$" KEY ":" KEY,
		    SECRET_UNUSABLE },
		{ "SCRAM-SHA-256", SECRET_PLAIN },
		{ "scram$", SECRET_PLAIN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		assert_int_equal(secret_kind(kinds[i].secret), kinds[i].kind);
}

static void test_unusable_secret_is_told_with_its_line(void **state)
{
	static const char text[] = "\"a\" \"b\"\n"
	    "\"c\" \"SCRAM-SHA-512$x\"\n\"d\" \"e\"\n";
	struct got g;

	(void)state;
	assert_string_equal(users_of(&g, text, strlen(text)),
	    "?unusable secret in auth file: it looks like a hash but is not "
	    "valid, so no password matches it (f:2)<a><b><c><SCRAM-SHA-512$x><d><e>");
}

static bool is_blank(const char *text)
{
	struct got g;
	struct userlist *u = parse(&g, text, strlen(text));
	const bool blank = userlist_is_blank(u);

	userlist_unref(&u);
	return blank;
}

static void test_blank_is_neither_record_nor_comment(void **state)
{
	(void)state;
	assert_true(is_blank(""));
	assert_true(is_blank(" \n\t\r\n"));
	assert_false(is_blank("; nobody\n"));
	assert_false(is_blank("\"a\" \"b\"\n"));
	assert_false(is_blank("a\n"));
}

static void test_find_is_exact(void **state)
{
	static const char text[] = "\"a\" \"b\"\n\"e\" \"\"\n";
	struct got g;
	struct userlist *u = parse(&g, text, strlen(text));

	(void)state;
	assert_string_equal(userlist_find(u, "a"), "b");
	assert_string_equal(userlist_find(u, "e"), "");
	assert_null(userlist_find(u, "A"));
	assert_null(userlist_find(u, ""));
	userlist_unref(&u);
}

static void test_each_of_many_names_is_found(void **state)
{
	enum { NAMES = 1000 };
	char *const text = test_malloc(NAMES * 16), name[16];
	size_t len = 0;
	struct got g;

	(void)state;
	/* 7 has no factor of 1000: each of them once, out of order */
	for (int i = 0; i < NAMES; i++)
		len += (size_t)snprintf(text + len, 16, "\"%d\" \"s%d\"\n",
		    i * 7 % NAMES, i * 7 % NAMES);
	struct userlist *u = parse(&g, text, len);

	assert_int_equal(userlist_count(u), NAMES);
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof name, "%d", i);
		assert_string_equal(userlist_find(u, name) + 1, name);
	}
	for (size_t i = 1; i < NAMES; i++)
		assert_true(strcmp(userlist_name(u, i - 1),
		    userlist_name(u, i)) < 0);
	assert_null(userlist_name(u, NAMES));
	assert_null(userlist_find(u, "1000"));
	userlist_unref(&u);
	test_free(text);
}

static void test_missing_file_is_reported(void **state)
{
	struct got g;

	(void)state;
	text_init(&g.text, g.buf, sizeof(g.buf));
	assert_null(userlist_load("/nonexistent/u", on_report, &g));
	assert_string_equal(g.buf, "!could not open auth_file "
	    "/nonexistent/u: No such file or directory "
	    "(\"pgsluicectl userlist import\" or \"add\" makes it)");
}

static void write_file(const char *path, const char *text)
{
	FILE *const f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void test_changed_file_is_not_current(void **state)
{
	char path[] = "/tmp/test_userlist.XXXXXX";
	const int fd = mkstemp(path);
	struct got g;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	write_file(path, "\"a\" \"b\"\n");
	text_init(&g.text, g.buf, sizeof(g.buf));
	struct userlist *u = userlist_load(path, on_report, &g);
	assert_non_null(u);
	assert_string_equal(g.buf, "");
	assert_true(userlist_is_current(u, path));
	write_file(path, "\"a\" \"b2\"\n");
	assert_false(userlist_is_current(u, path));
	userlist_unref(&u);
	/* mistakes are told of again */
	write_file(path, "\"a\" \"b2\"\nx\n");
	u = userlist_load(path, on_report, &g);
	assert_false(userlist_is_current(u, path));
	unlink(path);
	assert_false(userlist_is_current(u, path));
	userlist_unref(&u);
}

static void test_last_reference_frees(void **state)
{
	struct got g;
	struct userlist *a = parse(&g, "\"a\" \"b\"", 7);
	struct userlist *b = userlist_ref(a);

	(void)state;
	userlist_unref(&a);
	assert_null(a);
	assert_string_equal(userlist_find(b, "a"), "b");
	userlist_unref(&b);
	userlist_unref(&b);
}

static void test_each_failed_allocation_gives_null(void **state)
{
	static const char text[] = "\"a\" \"b\"\n\"c\" \"d\"\n\"a\" \"e\"\n";
	struct got g;
	struct userlist *u;
	unsigned long n = 0;

	(void)state;
	do {
		mem_fail_at(++n);
		u = parse(&g, text, strlen(text));
		mem_fail_at(0);
	} while (u == NULL);
	/* the list, its texts, its records */
	assert_int_equal(n, 4);
	assert_int_equal(userlist_count(u), 2);
	userlist_unref(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_row_of_the_table),
		cmocka_unit_test(test_each_record_is_told_with_its_place),
		cmocka_unit_test(test_a_nul_byte_refuses_the_file),
		cmocka_unit_test(test_lengths_are_limited),
		cmocka_unit_test(test_content_tells_the_kind),
		cmocka_unit_test(test_unusable_secret_is_told_with_its_line),
		cmocka_unit_test(test_blank_is_neither_record_nor_comment),
		cmocka_unit_test(test_find_is_exact),
		cmocka_unit_test(test_each_of_many_names_is_found),
		cmocka_unit_test(test_missing_file_is_reported),
		cmocka_unit_test(test_changed_file_is_not_current),
		cmocka_unit_test(test_last_reference_frees),
		cmocka_unit_test(test_each_failed_allocation_gives_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
