/* test_host_role.c - is a server what target_session_attrs asks for?
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pool/host_role.h"

#define NO FACT_NO
#define YES FACT_YES
#define UNKNOWN FACT_UNKNOWN

/* What each of target_session_attrs says: fits, does not, or '?'. */
static const struct {
	enum fact standby, read_only;
	const char *want;	/* any, rw, ro, primary, standby, prefer */
} cases[] = {
	{ NO, NO, "yynynn" },
	{ NO, YES, "ynyynn" },
	{ YES, NO, "ynynyy" },
	{ YES, YES, "ynynyy" },
	{ YES, UNKNOWN, "ynynyy" },
	{ UNKNOWN, YES, "yny???" },
	{ NO, UNKNOWN, "y??ynn" },
	{ UNKNOWN, NO, "y?????" },
	{ UNKNOWN, UNKNOWN, "y?????" },
};

static char verdict(const struct host_role *r, enum session_attrs attrs)
{
	if (!host_role_is_known(r, attrs)) {
		assert_null(host_role_misfit(r, attrs));
		return '?';
	}
	return host_role_misfit(r, attrs) == NULL ? 'y' : 'n';
}

static void test_all_words_with_all_that_may_be_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct host_role r = { cases[i].standby,
			cases[i].read_only };
		char got[ATTRS_PREFER_STANDBY + 2] = "";

		for (int a = ATTRS_ANY; a <= ATTRS_PREFER_STANDBY; a++)
			got[a] = verdict(&r, (enum session_attrs)a);
		assert_string_equal(got, cases[i].want);
	}
}

static void test_reported_parameters_tell(void **state)
{
	struct host_role r = { UNKNOWN, UNKNOWN };

	(void)state;
	host_role_note(&r, "TimeZone", "on");
	assert_int_equal(r.standby, UNKNOWN);
	assert_int_equal(r.read_only, UNKNOWN);
	host_role_note(&r, "in_hot_standby", "on");
	host_role_note(&r, "default_transaction_read_only", "off");
	assert_int_equal(r.standby, YES);
	assert_int_equal(r.read_only, NO);
	host_role_note(&r, "in_hot_standby", "off");
	assert_string_equal(host_role_misfit(&r, ATTRS_READ_ONLY),
	    "session is not read-only");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_words_with_all_that_may_be_known),
		cmocka_unit_test(test_reported_parameters_tell),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
