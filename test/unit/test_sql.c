/* test_sql.c - unit tests of the statements a pooler must know.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "sql/effects.h"
#include "sql/sql.h"

static bool forgets(const char *sql)
{
	return (sql_effects(sql, strlen(sql) + 1) & EFFECT_FORGETS) != 0;
}

static void test_statements_that_drop_all_are_seen(void **state)
{
	(void)state;
	assert_true(forgets("DISCARD ALL"));
	assert_true(forgets("deallocate all"));
	assert_true(forgets("  Deallocate\n\tprepare  ALL ; "));
	assert_true(forgets("discard all;;"));
	assert_true(forgets("/* a /* b */ */DISCARD--x\n ALL -- end"));
	assert_true(forgets("select 1; deallocate all"));
	assert_true(forgets("discard all; select 1"));
	assert_true(forgets(";;discard all"));
	assert_true(forgets("/* a /* nested ; */ one */ discard/**/all"));
	assert_true(forgets("select 1; -- so; much\n deallocate--\nall"));
}

static void test_others_are_not(void **state)
{
	static const char *const no[] = { "", " ", "discard", "discard plans",
	    "discard allx", "discardall", "deallocate name",
	    "deallocate prepare", "select 1", "select discard all",
	    "deallocate \"all\"", "d", "select 1; discard", ";", "/*",
	    "/* discard all", "-- discard all", "-", "/", "/* */ */",
	    "discard all1", "discard all$", "discard /* all" };

	(void)state;
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		assert_false(forgets(no[i]));
}

static void test_first_look_misses_none(void **state)
{
	static const char *const yes[] = { "discard all", "Deallocate all",
	    "-- a\ndiscard all", "/* a */discard all", "\tdiscard all",
	    ";discard all" };

	(void)state;
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
		assert_true(forgets(yes[i]));
		assert_true(sql_may_matter(yes[i], strlen(yes[i]) + 1));
		assert_true(sql_may_matter_alone(yes[i][0]));
	}
	assert_true(sql_may_matter("select 1; discard all", 22));
	assert_false(sql_may_matter("select 1;", 10));
	assert_false(sql_may_matter("", 0));
	assert_false(sql_may_matter_alone('s'));
	assert_false(sql_may_matter_alone('\0'));
}

/* What sql resets, or sets (=): names, with blanks between; "*" is all. */
static const char *reset_in(const char *sql)
{
	static char out[256];
	struct text t;
	const char *at = sql, *const end = sql + strlen(sql) + 1;
	enum sql_change what;
	char name[SQL_PARAMETER_MAX];
	bool any = false;

	text_init(&t, out, sizeof out);
	while ((what = sql_next_change(&at, end, name)) != SQL_NO_CHANGE) {
		text_add(&t, out[0] == '\0' ? "" : " ");
		text_add(&t, what == SQL_SETS ? "=" : "");
		text_add(&t, name[0] == '\0' ? "*" : name);
		any = any || what == SQL_RESETS;
	}
	assert_true(out[0] == '\0' || sql_may_matter(sql, strlen(sql) + 1));
	assert_true(any == ((sql_effects(sql, strlen(sql) + 1) &
	    EFFECT_RESETS) != 0));
	return out;
}

static void test_resets_are_found(void **state)
{
	static const struct {
		const char *sql, *names;
	} rows[] = {
		{ "reset a", "a" }, { "RESET ALL", "*" }, { "Reset Time/**/Zone;",
		"TimeZone" }, { "discard all", "*" }, { " -- x\nreset \"a\"", "a" },
		{ "reset a; select 1; reset b;;", "a b" }, { "reset", "" },
		{ "select 1; RESET ALL", "*" }, { "resets a", "" },
		{ "reset time", "time" }, { "", "" }, { "rollback", "" },
		{ "discard plans", "" }, { "reset role", "role" },
		{ "discard", "" }, { "reset all;discard all", "* *" },
		{ "reset all; set time zone 'UTC'; reset b", "* =TimeZone b" },
		{ "set a to 'x; reset b'; reset c", "=a c" },
		{ "select 'it''s; reset a', \"b; reset b\"; reset c", "c" },
		{ "select $x$; $$ reset a; $x$; reset b", "b" },
		{ "select $$; reset a", "" }, { "select a$b$; reset c", "c" },
		{ "select E'\\'; reset a'; reset b", "b" },
		{ "select '\\'; reset a", "a" }, { "select e'\\", "" },
		{ "select 1 -- ; reset a\n; reset b", "b" },
		{ "select /* ; reset a */ 1; reset b", "b" },
		{ "select /* ; reset a", "" }, { "select 'x; reset a", "" },
		{ "select $1; reset a", "a" },
		{ "set a to default", "a" }, { "SET SESSION A=DEFAULT;", "a" },
		{ "set time zone default", "TimeZone" },
		{ "set time zone local", "TimeZone" }, { "set a to local", "=a" },
		{ "set names default", "client_encoding" },
		{ "set \"A\" = default ; ;", "A" }, { "set a to 'default'", "=a" },
		{ "set local a to default", "" }, { "set local a to 1", "" },
		{ "set a", "" }, { "set", "" }, { "set a to", "=a" },
		{ "set a to default; select 1", "a" }, { "set a default", "" },
		{ "set session authorization default",
		    "session_authorization" },
		{ "SET SESSION Authorization a", "=session_authorization" },
		{ "reset session authorization", "session_authorization" },
		{ "set local session authorization a", "" },
		{ "set role a", "=role" }, { "set session role 'a'", "=role" },
		{ "set role to default", "role" }, { "set role", "" },
		{ "set role.x to 1", "=role.x" }, { "set \"role\" = a", "=role" },
		{ "set a.b = 1", "=a.b" }, { "reset \"a\" . B", "a.b" },
		{ "set session.x to 1; reset session.x",
		    "=session.x session.x" }, { "set local.x = 1", "=local.x" },
		{ "set local a.b = 1", "" }, { "set time.zone = 1",
		    "=time.zone" }, { "reset a.", "" }, { "reset a.\"", "" },
		{ "set a.b.c to default", "a.b.c" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_string_equal(reset_in(rows[i].sql), rows[i].names);
}

static void test_text_without_nul_is_read_to_its_end_only(void **state)
{
	const char text[] = { 'd', 'i', 's', 'c', 'a', 'r', 'd', ' ', 'a', 'l' };

	(void)state;
	for (size_t n = 0; n <= sizeof text; n++)
		assert_int_equal(sql_effects(text, n) & EFFECT_FORGETS, 0);
}

/* The name in sql, or NULL. */
static const char *name_in(const char *sql)
{
	static char name[SQL_NAME_MAX];

	return sql_deallocates(sql, strlen(sql) + 1, name) ? name : NULL;
}

static void test_database_that_is_wanted_alone(void **state)
{
	static const struct {
		const char *sql, *name;
	} rows[] = {
		{ "drop database shop", "shop" },
		{ "DROP DATABASE IF EXISTS \"my Shop\" WITH (FORCE);", "my Shop" },
		{ " /* x */ drop -- y\n database Shop", "shop" },
		{ "drop database \"if\"", "if" },
		{ "alter database shop rename to other", "shop" },
		{ "alter database \"a\"\"b\" set tablespace x", "a\"b" },
		{ "create database x", "template1" },
		{ "create database x template shop", "shop" },
		{ "create database x with owner = ann template = \"Shop\"",
		    "Shop" },
		{ "create database x encoding 'template y' template 'shop'",
		    "shop" },
		{ "create database x connection limit = -1 template default",
		    "template1" },
		{ "drop databases x", NULL }, { "drop table database", NULL },
		{ "alter database shop set work_mem = 1", NULL },
		{ "alter database shop owner to ann", NULL },
		{ "drop database", NULL }, { "drop", NULL }, { "", NULL },
		{ "select 'drop database x'", NULL },
		{ "create database x template U&\"d\"", NULL },
	};
	char name[SQL_NAME_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *const sql = rows[i].sql;
		const size_t n = strlen(sql) + 1;

		assert_int_equal(sql_wants_alone(sql, n, name),
		    rows[i].name != NULL);
		if (rows[i].name == NULL)
			continue;
		assert_string_equal(name, rows[i].name);
		assert_true(sql_may_want_alone(sql[0]));
		/* cut anywhere, nothing behind the end is read */
		for (size_t cut = 0; cut < n; cut++)
			(void)sql_wants_alone(sql, cut, name);
	}
	for (const char *other = "sSbBiIuUwWeEvV"; *other != '\0'; other++)
		assert_false(sql_may_want_alone(*other));
}

static void test_name_is_that_of_the_server(void **state)
{
	static const struct {
		const char *sql, *name;
	} rows[] = {
		{ "deallocate s1", "s1" },
		{ "DEALLOCATE PREPARE S1;", "s1" },
		{ " deallocate\n\"S 1\" ; ; ", "S 1" },
		{ "deallocate \"a\"\"b\"", "a\"b" },
		{ "deallocate \"all\"", "all" },
		{ "deallocate prepare", "prepare" },
		{ "deallocate prepare \"prepare\"", "prepare" },
		{ "/*x*/deallocate/* y /* z */ */_a$9--c", "_a$9" },
		{ "--\ndeallocate--\rx", "x" },
		{ "deallocate\"q\"", "q" },
		{ "deallocate \"\303\204\"", "\303\204" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_non_null(name_in(rows[i].sql));
		assert_string_equal(name_in(rows[i].sql), rows[i].name);
	}
}

static void test_what_the_server_must_read_has_no_name(void **state)
{
	static const char *const no[] = { "", "deallocate", "deallocate all",
	    "deallocate prepare ALL;", "deallocate s1 s2", "deallocates s1",
	    "deallocate s1; select 1", "deallocate 1s", "deallocate \"\"",
	    "deallocate \"open", "deallocate u&\"a\"", "deallocate e'a'",
	    "deallocate \303\204", "deallocate a\303\204", "deallocate a.b",
	    "deallocate /* s1", "deallocate s1 /* open", "deallocate $1",
	    "deallocate s1 -", "deallocate prepare s1 s2", "deallocate a-b" };
	char text[128] = "deallocate ", name[SQL_NAME_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		assert_null(name_in(no[i]));
	memset(text + 11, 'x', 63);
	assert_true(sql_deallocates(text, 11 + 63, name));
	assert_int_equal(strlen(name), 63);
	/* what is longer the server cuts */
	text[11 + 63] = 'y';
	assert_true(sql_deallocates(text, 11 + 64, name));
	assert_int_equal(strspn(name, "x"), 63);
	text[11 + 63] = 'x';
	text[11] = text[11 + 64] = '"';
	assert_true(sql_deallocates(text, 11 + 65, name));
	text[11 + 64] = 'y';
	text[11 + 65] = '"';
	assert_true(sql_deallocates(text, 11 + 66, name));
	assert_int_equal(strspn(name, "x"), 63);
	/* but not inside of a character */
	text[11 + 63] = '\xc3';
	text[11 + 64] = '\xa4';
	assert_false(sql_deallocates(text, 11 + 66, name));
	/* cut anywhere, nothing behind the end is read */
	for (size_t n = 0; n < 11; n++)
		assert_false(sql_deallocates(text, n, name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statements_that_drop_all_are_seen),
		cmocka_unit_test(test_others_are_not),
		cmocka_unit_test(test_first_look_misses_none),
		cmocka_unit_test(
		    test_text_without_nul_is_read_to_its_end_only),
		cmocka_unit_test(test_resets_are_found),
		cmocka_unit_test(test_database_that_is_wanted_alone),
		cmocka_unit_test(test_name_is_that_of_the_server),
		cmocka_unit_test(test_what_the_server_must_read_has_no_name),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
