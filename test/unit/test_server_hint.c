/* test_server_hint.c - what to do about a server that does not let us in.
 * SPDX-License-Identifier: ISC */
#include "session/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pool/wait.h"

static void test_refusals_that_the_operator_can_mend_have_a_hint(void **state)
{
	static const struct {
		const char *code, *names, *message;
	} rows[] = {
		{ "28P01", "pgsluicectl userlist import", "" },
		{ "28000", "pg_hba.conf", "" },
		{ "28000", "server_tls_sslmode = require",
		    "no pg_hba.conf entry for host \"10.0.0.1\", user \"a\", "
		    "database \"b\", no encryption" },
		{ "28000", "create it", "role \"a\" does not exist" },
		{ "3D000", "dbname=", "" },
		{ "53300", "max_connections", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const char *const hint = server_hint(rows[i].code,
		    rows[i].message);

		assert_non_null(hint);
		assert_non_null(strstr(hint, rows[i].names));
		/* it is whole where waiting is explained */
		assert_true(strlen(hint) <
		    sizeof ((struct wait_text *)0)->hint);
	}
}

static void test_other_refusals_speak_for_themselves(void **state)
{
	(void)state;
	assert_null(server_hint("57P03", ""));
	assert_null(server_hint("XX000", ""));
	assert_null(server_hint("", ""));
}

static void test_hints_about_secrets_are_whole(void **state)
{
	(void)state;
	assert_true(sizeof SERVER_HINT_SECRET <=
	    sizeof ((struct wait_text *)0)->hint);
	assert_true(sizeof SERVER_HINT_KEYS <=
	    sizeof ((struct wait_text *)0)->hint);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_refusals_that_the_operator_can_mend_have_a_hint),
		cmocka_unit_test(test_other_refusals_speak_for_themselves),
		cmocka_unit_test(test_hints_about_secrets_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
