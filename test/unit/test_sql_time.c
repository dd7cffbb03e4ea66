/* test_sql_time.c - reading a text takes a time that grows as it does.
 *
 * Whoever may send a query could hold up all others otherwise.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "sql/effects.h"
#include "sql/sql.h"
#include "sql/sql_leave.h"
#include "sql/sql_words.h"

#define SIZE 8192
#define MOST (CLOCKS_PER_SEC / 20)	/* some 50 times what it takes */

/* --- all that reads a text, from its start to its end --- */

static void deallocates(const char *sql, size_t n)
{
	char name[SQL_NAME_MAX];

	(void)sql_deallocates(sql, n, name);
}

static void walk(enum sql_change (*next)(const char **at, const char *end,
    char name[SQL_PARAMETER_MAX]), const char *sql, size_t n)
{
	const char *const end = sql + n;
	char name[SQL_PARAMETER_MAX];

	while (next(&sql, end, name) != SQL_NO_CHANGE)
		continue;
}

static void changes(const char *sql, size_t n)
{
	walk(sql_next_change, sql, n);
}

static void leaves(const char *sql, size_t n)
{
	struct sql_long l = { 0 };

	sql_long_take(&l, sql, n);
	sql_long_end(&l);
	(void)sql_may_leave(sql, n);
	(void)sql_may_change_schema(sql, n);
}

static void effects(const char *sql, size_t n)
{
	(void)sql_effects(sql, n);
}

static void (*const readers[])(const char *sql, size_t n) = { deallocates,
	changes, leaves, effects };

/* --- texts that one piece, or two, make again and again --- */

static const char *const pieces[] = { "", ";", "/*", "*/", "--", "\n", " ",
	"'", "\"", "$", "$a$", "$1", "e'", "u&'", "\\", "(", ",", ".", "=", "a",
	"set_config", "set_config('", "set_config('a',", "set ", "reset ",
	"time zone", "session ", "deallocate ", "discard ", "all", "do ",
	"null", "into ", "nextval", "pg_temp", "now", "select " };

#define PIECES (sizeof pieces / sizeof *pieces)

static char text[SIZE];

static void fill(const char *a, const char *b)
{
	const char *const all[] = { a, b };
	size_t n = 0;

	for (unsigned i = 0; n < SIZE - 16; i++) {
		const char *const piece = all[i % 2];

		memcpy(text + n, piece, strlen(piece));
		n += strlen(piece);
	}
	memset(text + n, '\0', SIZE - n);
}

static clock_t time_of(size_t reader)
{
	const clock_t before = clock();

	readers[reader](text, strlen(text) + 1);
	return clock() - before;
}

/* Something else may have run meanwhile: once more. */
static void check(const char *a, const char *b)
{
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
		if (time_of(i) > MOST && time_of(i) > MOST)
			fail_msg("reader %zu, \"%s\", \"%s\"", i, a, b);
}

static void test_time_grows_with_the_text(void **state)
{
	(void)state;
	for (size_t a = 1; a < PIECES; a++)
		for (size_t b = 0; b < PIECES; b++) {
			fill(pieces[a], pieces[b]);
			check(pieces[a], pieces[b]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_grows_with_the_text),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
