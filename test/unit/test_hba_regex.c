/* test_hba_regex.c - what PostgreSQL and regcomp(3) read alike.
 * SPDX-License-Identifier: ISC */
#include "conf/hba_regex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* What PostgreSQL 15 says of each, as ~ with COLLATE "C". */
static void test_names_fit_as_in_postgresql(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool fits;
	} rows[] = {
		{ "a", "bab", true }, { "a", "b", false },
		{ "^a$", "a", true }, { "^a$", "a\n", false },
		{ "^a.c$", "a\nc", true }, { "^a.c$", "a\xff" "c", true },
		{ "\\Aa\\Z", "a", true }, { "\\Aa\\Z", "ba", false },
		{ "^(a|b)+$", "abba", true }, { "^(a|b)+$", "abc", false },
		{ "^a{2}$", "aa", true }, { "^a{2}$", "aaa", false },
		{ "^a{2,}$", "aaaa", true }, { "^a{1,2}$", "aaa", false },
		{ "a{,2}", "a{,2}", true }, { "a{x", "a{x", true },
		{ "^\\d\\D\\w\\W\\s\\S$", "1a_- x", true },
		{ "^\\w$", "-", false }, { "^\\w$", "\xe4", false },
		{ "^[\\d_]+$", "1_2", true }, { "^[\\d_]+$", "1\\2", false },
		{ "^[a\\]b]$", "]", true }, { "^[a\\]b]$", "\\", false },
		{ "^[\\^-]$", "^", true }, { "^[\\^-]$", "-", true },
		{ "^[\\^-]$", "a", false }, { "^[]a]$", "]", true },
		{ "^[^]a]$", "]", false }, { "^[^]a]$", "x", true },
		{ "^[a[-]$", "[", true },
		{ "^[a-c-]$", "-", true }, { "^[a-c-]$", "b", true },
		{ "^[-a]$", "-", true }, { "^[^\\s]$", " ", false },
		{ "^[[:alpha:][:digit:]]+$", "a1", true },
		{ "^[[:upper:]]$", "a", false }, { "^[^a]$", "\xe4", true },
		{ "^\\W\\D\\S$", "\xe4\xe4\xe4", true },
		{ "^[[:alpha:]]$", "\xe4", false },
		{ "^[\xc3\xa4]+$", "\xc3\xa4", true },
		{ "^[[\\.a]$", "[", true }, { "^[[\\.a]$", "]", false },
		{ "^[\\[\\]]$", "]", true }, { "^[\\[\\]]$", "[", true },
		{ "^[\\w\\.-]+@b$", "a-b.c@b", true },
		{ "^[\\\\d]$", "\\", true }, { "^[\\\\d]$", "1", false },
		{ "^[!-~]$", "a", true }, { "^[!-~]$", " ", false },
		{ "\\}", "}", true }, { "^[.]$", ".", true },
		{ "^\\.\\<\\>\\'\\`\\_$", ".<>'`_", true },
		{ "^a\\*$", "a*", true }, { "a|^b$", "xb", false },
		{ "]}", "]}", true }, { "a^b", "a^b", false },
		{ "(^a|b)c", "xbc", true }, { "^[^-^]$", "^", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { .text = "" };
		struct hba_regex *r = hba_regex_new(rows[i].pattern,
		    strlen(rows[i].pattern), &e);

		if (r == NULL)
			fail_msg("%s: %s", rows[i].pattern, e.text);
		if (hba_regex_fits(r, rows[i].text) !=
		    (rows[i].fits ? HBA_FITS : HBA_DIFFERS))
			fail_msg("%s: %s", rows[i].pattern, rows[i].text);
		hba_regex_free(&r);
		assert_null(r);
	}
}

static void test_what_regcomp_reads_otherwise_is_refused(void **state)
{
	static const char *const patterns[] = {
		"", "a|", "|a", "a||b", "()", "(a|)", "(", ")", "a)", "(a",
		"*", "+a", "a**", "a*?", "a+?", "a{2}?", "a{2}{3}", "^*", "$+",
		"(*a)", "a|*b", "(?i)a", "(?=a)", "(?:a)", "***=a", "\\",
		"\\1", "(a)\\1", "\\a", "\\x41", "\\n", "\\m", "\\y", "[[.]",
		"[", "[a", "[]", "[^]", "[b-a]", "[a-\\d]", "[\\d-z]",
		"[a-c-e]", "[[:foo:]]", "[[.a.]]", "[[=a=]]", "[[:<:]]",
		"[\\D]", "[\\n]", "[a\\", "[\xe0-\xff]", "[[-a]", "[a-\\.]",
		"[[:alpha:]-z]", "[[:alpha]", "[[:word:]]", "[]-a]",
		"a{1", "a{1,", "a{2,1}", "a{256}",
		"a{0}", "a{1,256}", "a{1x}", "[--a]", "[a--]",
		"((((((((((((((((((((a))))))))))))))))))))))",
		"(((a{255}){255}){255})", "((a{100}b){50}|c){2}", "\\\xe4"
	};

	(void)state;
	for (size_t i = 0; i < COUNT(patterns); i++) {
		struct err e = { .text = "" };

		struct hba_regex *const r = hba_regex_new(patterns[i],
		    strlen(patterns[i]), &e);
		if (r != NULL)
			fail_msg("accepted: %s", patterns[i]);
		assert_memory_equal(e.text, "regular expression: ", 20);
	}
}

/* What PostgreSQL 15 says, as regexp_match() with COLLATE "C". */
static void test_first_group_is_told(void **state)
{
	static const struct {
		const char *pattern, *text, *took;	/* took NULL: differs */
	} rows[] = {
		{ "^((a)|b)$", "a", "a" }, { "^((a)|b)$", "x", NULL },
		{ "^(.*)@x\\.org$", "ann@x.org", "ann" },
		{ "^(.*)@x\\.org$", "@x.org", "" },
		{ "(a*)(ab)*(b*)", "aab", "aa" }, { "b(a+)", "abaaba", "aa" },
		{ "^x?(x*)", "xx", "x" }, { "(a?)(ab|b)", "ab", "a" },
		{ "^x(a|ab|a*b?)c$", "xabc", "ab" },
		{ "^(ann|bob)@a$", "bob@a", "bob" },
		{ "^(\\w+)(@a|@ab)*$", "x@ab", "x" },
		{ "^(a*)(a|b)+$", "aab", "aa" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { .text = "" };
		struct hba_regex *r = hba_regex_new(rows[i].pattern,
		    strlen(rows[i].pattern), &e);
		const char *at;
		size_t len;

		assert_string_equal(e.text, "");
		assert_true(hba_regex_has_group(r));
		if (rows[i].took == NULL) {
			assert_int_equal(hba_regex_group(r, rows[i].text, &at,
			    &len), HBA_DIFFERS);
		} else {
			assert_int_equal(hba_regex_group(r, rows[i].text, &at,
			    &len), HBA_FITS);
			assert_int_equal(len, strlen(rows[i].took));
			assert_memory_equal(at, rows[i].took, len);
		}
		hba_regex_free(&r);
		assert_null(r);
	}
}

/* By glibc another text is its, or none, or regexec() does not come to an end. */
static void test_no_group_is_told_of_which_there_is_doubt(void **state)
{
	static const char *const patterns[] = {
		"a", "\\(a\\)", "[(]a[)]", "(x)?a", "(a|b)+", "([a-c]d?|\\D+){1,2}",
		"^|((b?))", "a|(b)", "(a)|b", "(a?|b*)c*$", "(a|b)$", "^(a|b)",
		"^(a|b)c*$", "^(a|b)(c)$", "^(a|b)\\$", "^(a|b)[c$]",
		"(a|ab)(c|bcd)(d*)", "^((a)|b)(c)?$",
		"^[[:alpha:]]((c*|[^a-b](<[^a-b])*){0,1})+$", "(a)(b(c*)d)+",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(patterns); i++) {
		struct err e = { .text = "" };
		struct hba_regex *r = hba_regex_new(patterns[i],
		    strlen(patterns[i]), &e);

		assert_string_equal(e.text, "");
		assert_false(hba_regex_has_group(r));
		(void)hba_regex_fits(r, "A/c");
		hba_regex_free(&r);
	}
}

static void test_message_quotes_the_place(void **state)
{
	static const struct {
		const char *pattern, *want;
	} rows[] = {
		{ "^a\\y", "an escape that is not known here at \"\\y\"" },
		{ "a[b-a]c", "a range that is not valid, or not ASCII at "
		    "\"b-a]c\"" },
		{ "(a", "an open parenthesis" },
		{ "a*?bcdefghijklmnopqrstuvwxyz", "a quantifier that is not "
		    "greedy at \"*?bcdefghijklmnopqrs\"" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { .text = "" };

		assert_null(hba_regex_new(rows[i].pattern,
		    strlen(rows[i].pattern), &e));
		assert_string_equal(e.text + strlen("regular expression: "),
		    rows[i].want);
	}
}

static void test_each_failed_allocation_gives_null(void **state)
{
	struct hba_regex *r;
	unsigned long n = 0;
	struct err e;

	(void)state;
	do {
		mem_fail_at(++n);
		r = hba_regex_new("a", 1, &e);
		mem_fail_at(0);
		if (r == NULL)
			assert_string_equal(e.code, "53200");
	} while (r == NULL);
	assert_int_equal(n, 3);
	hba_regex_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_fit_as_in_postgresql),
		cmocka_unit_test(test_what_regcomp_reads_otherwise_is_refused),
		cmocka_unit_test(test_first_group_is_told),
		cmocka_unit_test(
		    test_no_group_is_told_of_which_there_is_doubt),
		cmocka_unit_test(test_message_quotes_the_place),
		cmocka_unit_test(test_each_failed_allocation_gives_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
