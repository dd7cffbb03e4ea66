/* test_sql_texts.c - what each reader of SQL says of 25,000 texts.
 *
 * sql_texts/texts has a row for each text, with the answers of the day it was
 * written. A change of an answer is to be wanted: with --write FILE the rows of
 * FILE, answers or none, are printed with those of now.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sql_answers.h"

#define PLACE "/test/unit/sql_texts/texts"
#define TEXT_MAX 4096
#define ANSWER_MAX 512
#define FAILURES_MAX 20

static const char *place;	/* of the file */

/* --- a row --- */

static int hex(char ch)
{
	return ch <= '9' ? ch - '0' : ch - 'a' + 10;
}

/* In place; returns the length. */
static size_t unescape(char *text)
{
	static const char from[] = "ntr", to[] = "\n\t\r";
	char *out = text;

	for (const char *at = text; *at != '\0'; at++) {
		if (*at != '\\') {
			*out++ = *at;
			continue;
		}
		at++;
		const char *const found = strchr(from, *at);

		if (*at == 'x') {
			*out++ = (char)(hex(at[1]) << 4 | hex(at[2]));
			at += 2;
		} else {
			*out++ = found != NULL ? to[found - from] : *at;
		}
	}
	*out = '\0';
	return (size_t)(out - text);
}

/* Of the first len bytes: one number for all bits, and those that are not 0. */
static void answer(const char *text, size_t len, char out[ANSWER_MAX])
{
	/* to its last byte, so that a sanitizer sees what is read behind it */
	char *const sql = mem_alloc(len + 1);
	unsigned long bits = 0;
	int n;

	assert_non_null(sql);
	memcpy(sql, text, len);
	sql[len] = '\0';
	for (size_t i = 0; i < SQL_BITS; i++)
		bits |= (unsigned long)(sql_readers[i].answer(sql, len + 1) !=
		    0) << i;
	n = snprintf(out, ANSWER_MAX, "%lx", bits);
	for (size_t i = SQL_BITS; i < SQL_READERS; i++) {
		const uint32_t what = sql_readers[i].answer(sql, len + 1);

		if (what != 0)
			n += snprintf(out + n, ANSWER_MAX - (size_t)n, ".%c%x",
			    (int)('g' + (i - SQL_BITS)), what);
	}
	mem_free(sql);
}

/* --- a text, and each beginning of it --- */

typedef void answered_fn(void *arg, const char *text, size_t len,
    const char *says);

/*
 * The text of a row, with the mark of one that is many; returns how many are
 * answered, each by one call.
 */
static unsigned each(char *row, answered_fn *answered, void *arg)
{
	const bool many = row[0] == '<';
	char *const text = row + many;
	const size_t n = unescape(text);
	char says[ANSWER_MAX];
	unsigned count = 0;

	for (size_t len = many ? 0 : n; len <= n; len++, count++) {
		answer(text, len, says);
		answered(arg, text, len, says);
	}
	return count;
}

/* Answers of one text after the other, as "*3" for some that are the same. */
struct run {
	char last[ANSWER_MAX];
	unsigned times;
	bool first;
};

static void end_run(const struct run *r)
{
	if (r->times > 0)
		printf("%s%s", r->first ? "" : " ", r->last);
	if (r->times > 1)
		printf("*%u", r->times);
}

static void print_run(void *arg, const char *text, size_t len, const char *says)
{
	struct run *const r = arg;

	(void)text;
	(void)len;
	if (strcmp(r->last, says) != 0) {
		end_run(r);
		r->first = r->times == 0;
		r->times = 0;
		snprintf(r->last, sizeof r->last, "%s", says);
	}
	r->times++;
}

/* Where the text of a row begins, or a mark, behind answers and a tab. */
static char *text_of(char *row)
{
	char *const tab = strchr(row, '\t');

	row[strcspn(row, "\n")] = '\0';
	return tab == NULL ? row : tab + 1;
}

static int rewrite(const char *path)
{
	FILE *const f = fopen(path, "r");
	char row[TEXT_MAX], copy[TEXT_MAX];

	if (f == NULL)
		return 1;
	while (fgets(row, sizeof row, f) != NULL) {
		struct run r = { .times = 0 };

		if (row[0] == '#') {
			fputs(row, stdout);
			continue;
		}
		snprintf(copy, sizeof copy, "%s", text_of(row));
		(void)each(text_of(row), print_run, &r);
		end_run(&r);
		printf("\t%s\n", copy);
	}
	fclose(f);
	return 0;
}

/* --- the test --- */

struct pinned {
	const char *at;		/* answers of the row that are to come */
	unsigned left;		/* of the one at hand; 0: the next one */
	char says[ANSWER_MAX];
	unsigned failures;
};

static void next_pinned(struct pinned *p)
{
	if (p->left > 0)
		return;
	const size_t n = strcspn(p->at, "* \t");

	assert_true(n > 0 && n < sizeof p->says);
	memcpy(p->says, p->at, n);
	p->says[n] = '\0';
	p->at += n;
	p->left = 1;
	if (*p->at == '*')
		p->left = (unsigned)strtoul(p->at + 1, (char **)&p->at, 10);
	assert_true(p->left > 0 && *p->at != '\0');
	p->at++;
}

/* Of a reader that is no bit: what is in the answers. */
static unsigned long value_of(const char *says, size_t reader)
{
	const char mark[] = { '.', (char)('g' + (reader - SQL_BITS)), '\0' };
	const char *const at = strstr(says, mark);

	return at == NULL ? 0 : strtoul(at + 2, NULL, 16);
}

static void name_readers(const char *was, const char *is)
{
	const unsigned long bits[] = { strtoul(was, NULL, 16),
		strtoul(is, NULL, 16) };

	for (size_t i = 0; i < SQL_READERS; i++) {
		const unsigned long a = i < SQL_BITS ? bits[0] >> i & 1 :
		    value_of(was, i);
		const unsigned long b = i < SQL_BITS ? bits[1] >> i & 1 :
		    value_of(is, i);

		if (a != b)
			print_error("  %s: %lx, was %lx\n", sql_readers[i].name,
			    b, a);
	}
}

static void compare(void *arg, const char *text, size_t len, const char *says)
{
	struct pinned *const p = arg;

	next_pinned(p);
	p->left--;
	if (strcmp(p->says, says) == 0 || p->failures++ >= FAILURES_MAX)
		return;
	print_error("%.*s\n", (int)len, text);
	name_readers(p->says, says);
}

static void test_answers_are_those_of_the_file(void **state)
{
	FILE *const f = fopen(place, "r");
	char row[TEXT_MAX];
	struct pinned p = { .left = 0 };
	unsigned count = 0;

	(void)state;
	assert_non_null(f);
	while (fgets(row, sizeof row, f) != NULL) {
		if (row[0] == '#')
			continue;
		p.at = row;
		count += each(text_of(row), compare, &p);
		assert_int_equal(p.left, 0);
	}
	fclose(f);
	assert_int_equal(p.failures, 0);
	assert_true(count > 20000);
}

/* --- answers beside each other --- */

static void check_answers(void *arg, const char *text, size_t len,
    const char *says)
{
	unsigned *const failures = arg;
	char *const sql = mem_dup(text, len + 1);

	(void)says;
	assert_non_null(sql);
	sql[len] = '\0';
	const char *const broken = sql_answers_break(sql, len + 1);

	if (broken != NULL && (*failures)++ < FAILURES_MAX)
		print_error("%s\n  %s\n", sql, broken);
	mem_free(sql);
}

static void test_answers_agree(void **state)
{
	FILE *const f = fopen(place, "r");
	char row[TEXT_MAX];
	unsigned failures = 0;

	(void)state;
	assert_non_null(f);
	while (fgets(row, sizeof row, f) != NULL)
		if (row[0] != '#')
			(void)each(text_of(row), check_answers, &failures);
	fclose(f);
	assert_int_equal(failures, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_are_those_of_the_file),
		cmocka_unit_test(test_answers_agree),
	};
	const char *const folder = getenv("srcdir");
	char path[TEXT_MAX];

	if (argc == 3 && strcmp(argv[1], "--write") == 0)
		return rewrite(argv[2]);
	snprintf(path, sizeof path, "%s" PLACE, folder == NULL ? "../.." :
	    folder);
	place = path;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
