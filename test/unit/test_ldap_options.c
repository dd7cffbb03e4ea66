/* test_ldap_options.c - spec/authentication.md section 3.7: options, refusals.
 * SPDX-License-Identifier: ISC */
#include "conf/ldap_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

static void add(struct text *t, const char *name, const char *value)
{
	if (value != NULL)
		text_addf(t, "%s<%s> ", name, value);
}

/* All that was set, in a fixed order; or the error. */
static const char *parsed(const char *text, char *buf, size_t size)
{
	static const char *const scopes[] = {
		[LDAP_OPT_SUBTREE] = "sub", [LDAP_OPT_ONE] = "one",
		[LDAP_OPT_BASE] = "base",
	};
	struct ldap_options o;
	struct err e = { .text = "" };
	struct text t;

	text_init(&t, buf, size);
	if (ldap_options_parse(&o, text, &e) < 0) {
		static const struct ldap_options none;

		assert_memory_equal(&o, &none, sizeof o);
		text_addf(&t, "! %s", e.text);
		return buf;
	}
	add(&t, "server", o.server);
	add(&t, "prefix", o.prefix);
	add(&t, "suffix", o.suffix);
	add(&t, "basedn", o.basedn);
	add(&t, "binddn", o.binddn);
	add(&t, "passwd", o.bindpasswd);
	add(&t, "attr", o.attribute);
	add(&t, "filter", o.filter);
	text_addf(&t, "%u %s%s%s", (unsigned)ldap_options_port(&o),
	    scopes[o.scope], o.tls ? " starttls" : "", o.ldaps ? " ldaps" : "");
	assert_int_equal(ldap_options_search(&o), o.basedn != NULL);
	ldap_options_fini(&o);
	assert_null(o.server);
	return buf;
}

static void test_options_are_read(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "ldapserver=h ldapprefix=x",
		    "server<h> prefix<x> 389 sub" },
		{ "ldapserver=h,ldapprefix=x", "server<h> prefix<x> 389 sub" },
		{ " , ldapserver=h , ldapsuffix=x,\t",
		    "server<h> suffix<x> 389 sub" },
		{ "ldapserver=\"a b\" ldapprefix=\"uid=\" "
		    "ldapsuffix=\",dc=x, dc=y\"",
		    "server<a b> prefix<uid=> suffix<,dc=x, dc=y> 389 sub" },
		{ "\"ldapserver\"=h ldapprefix=\"a \"\"b\"\" c\"",
		    "server<h> prefix<a \"b\" c> 389 sub" },
		{ "ldapserver=h ldapprefix=\"\"",
		    "server<h> prefix<> 389 sub" },
		{ "ldapserver=h ldapprefix=a=b",
		    "server<h> prefix<a=b> 389 sub" },
		{ "ldapserver=a ldapserver=b ldapprefix=x",
		    "server<b> prefix<x> 389 sub" },
		{ "ldapbasedn=dc=x", "basedn<dc=x> 389 sub" },
		{ "ldapserver=h ldapport=1389 ldaptls=1 ldapbasedn=dc=x "
		    "ldapbinddn=cn=a ldapbindpasswd=s ldapsearchattribute=cn",
		    "server<h> basedn<dc=x> binddn<cn=a> passwd<s> attr<cn> "
		    "1389 sub starttls" },
		{ "ldapserver=h ldapscheme=ldaps ldaptls=0 ldapbasedn=dc=x "
		    "ldapsearchfilter=(|(uid=$username)(mail=$username))",
		    "server<h> basedn<dc=x> "
		    "filter<(|(uid=$username)(mail=$username))> "
		    "636 sub ldaps" },
		{ "ldapscheme=ldaps ldapscheme=ldap ldapbasedn=d",
		    "basedn<d> 389 sub" },
	};
	char buf[2048];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(parsed(rows[i].text, buf, sizeof buf),
		    rows[i].want);
}

static void test_url_sets_the_options(void **state)
{
	static const struct {
		const char *url, *want;
	} rows[] = {
		{ "ldap://h/dc=x,dc=y?cn?sub",
		    "server<h> basedn<dc=x,dc=y> attr<cn> 389 sub" },
		/* RFC 4516 section 2: the default is the object itself */
		{ "ldap://h:17/dc=x?cn", "server<h> basedn<dc=x> attr<cn> "
		    "17 base" },
		{ "ldaps://h/dc=x??one?(uid=$username)",
		    "server<h> basedn<dc=x> filter<(uid=$username)> "
		    "636 one ldaps" },
		{ "ldap:///dc=x???", "basedn<dc=x> 389 base" },
		{ "ldap://[::1]:99/dc=x??sub", "server<[::1]> basedn<dc=x> "
		    "99 sub" },
		{ "ldap://[::1]/dc=x??base", "server<[::1]> basedn<dc=x> "
		    "389 base" },
		{ "ldap://h/dc=a%20b%2C%3f?cn?sub??x-ext",
		    "server<h> basedn<dc=a b,?> attr<cn> 389 sub" },
		{ "ldap://h:/dc=x", "server<h> basedn<dc=x> 389 base" },
	};
	char text[256], buf[2048];
	struct text t;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		text_init(&t, text, sizeof text);
		text_addf(&t, "ldapurl=\"%s\"", rows[i].url);
		assert_string_equal(parsed(text, buf, sizeof buf),
		    rows[i].want);
	}
	assert_string_equal(parsed("ldapurl=ldap://h ldapprefix=x", buf,
	    sizeof buf), "server<h> prefix<x> 389 sub");
	assert_string_equal(parsed("ldapurl=ldap://h/ ldapbasedn=x", buf,
	    sizeof buf), "server<h> basedn<x> 389 sub");
}

#define MIXED "! ldapprefix and ldapsuffix cannot be mixed with ldapbasedn, " \
	"ldapbinddn, ldapbindpasswd, ldapsearchattribute, ldapsearchfilter " \
	"or ldapurl"
#define SYNTAX "! key=value expected"

static void test_nonsense_is_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "! ldapbasedn, ldapprefix or ldapsuffix must be set" },
		{ "ldapserver=h",
		    "! ldapbasedn, ldapprefix or ldapsuffix must be set" },
		{ "ldapprefix=x", "! ldapserver or ldapbasedn must be set" },
		{ "ldapserver=h ldapprefix=x ldapbasedn=y", MIXED },
		{ "ldapserver=h ldapsuffix=x ldapbinddn=y", MIXED },
		{ "ldapserver=h ldapsuffix=x ldapbindpasswd=y", MIXED },
		{ "ldapserver=h ldapsuffix=x ldapsearchattribute=y", MIXED },
		{ "ldapserver=h ldapsuffix=x ldapsearchfilter=y", MIXED },
		{ "ldapprefix=x ldapurl=ldap://h/dc=x", MIXED },
		{ "ldapbasedn=d ldapsearchattribute=a ldapsearchfilter=f",
		    "! ldapsearchattribute and ldapsearchfilter cannot be "
		    "used together" },
		{ "ldapbasedn=d ldaptls=1 ldapscheme=ldaps",
		    "! ldaptls cannot be used with ldaps" },
		{ "ldapbasedn=dc=x,dc=y", "! unknown option \"dc\"" },
		{ "LDAPserver=h", "! unknown option \"LDAPserver\"" },
		{ "ldapscope=sub", "! unknown option \"ldapscope\"" },
		{ "ldapport=0", "! invalid value for ldapport: \"0\"" },
		{ "ldapport=65536", "! invalid value for ldapport: \"65536\"" },
		{ "ldapport=x", "! invalid value for ldapport: \"x\"" },
		{ "ldaptls=on", "! invalid value for ldaptls: \"on\"" },
		{ "ldapscheme=LDAP", "! invalid value for ldapscheme: \"LDAP\"" },
		{ "ldapserver", SYNTAX },
		{ "=x", SYNTAX },
		{ "ldapserver=", SYNTAX },
		{ "ldapserver= h", SYNTAX },
		{ "ldapserver =h", SYNTAX },
		{ "ldapserver=\"h", SYNTAX },
		{ "ldapserver=\"h\"x", SYNTAX },
		{ "ldapserver=h\"x\"", SYNTAX },
		{ "\"ldapserver=h\"", SYNTAX },
		{ "\"ldapserver", SYNTAX },
		{ "\"", SYNTAX },
		{ "ldapurl=http://h/x",
		    "! invalid value for ldapurl: \"http://h/x\"" },
		{ "ldapurl=ldap://h/x??down",
		    "! invalid value for ldapurl: \"ldap://h/x??down\"" },
		{ "ldapurl=ldap://h:0/x", "! invalid value for ldapurl: \"0\"" },
		{ "ldapurl=ldap://h/%4",
		    "! invalid value for ldapurl: \"ldap://h/%4\"" },
		{ "ldapurl=ldap://h/%00x",
		    "! invalid value for ldapurl: \"ldap://h/%00x\"" },
	};
	char buf[2048];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(parsed(rows[i].text, buf, sizeof buf),
		    rows[i].want);
}

static void test_length_is_limited(void **state)
{
	static char text[LDAP_OPTIONS_MAX + 2] = "ldapserver=h ldapprefix=";
	const size_t len = strlen(text);
	char buf[2048];

	(void)state;
	memset(text + len, 'x', LDAP_OPTIONS_MAX - len);
	assert_memory_equal(parsed(text, buf, sizeof buf), "server<h>", 9);
	text[LDAP_OPTIONS_MAX] = 'x';
	assert_string_equal(parsed(text, buf, sizeof buf),
	    "! LDAP options are too long");
}

static void test_each_failed_allocation_is_told(void **state)
{
	struct ldap_options o;
	struct err e;
	unsigned long n = 0;
	int rc;

	(void)state;
	do {
		mem_fail_at(++n);
		rc = ldap_options_parse(&o,
		    "ldapurl=ldap://h/d?a?sub ldapbinddn=b", &e);
		mem_fail_at(0);
		if (rc < 0)
			assert_string_equal(e.code, "53200");
	} while (rc < 0);
	assert_int_equal(n, 7);
	ldap_options_fini(&o);
}

static void test_password_is_hidden(void **state)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ "ldapserver=a", "ldapserver=a" },
		{ "ldapbindpasswd=x ldapserver=a", "ldapbindpasswd=**** ldapserver=a" },
		{ "a=b,ldapbindpasswd=x,c=d", "a=b,ldapbindpasswd=****,c=d" },
		{ "\"ldapbindpasswd\"=\"x \"\"y\" c=d",
		    "\"ldapbindpasswd\"=**** c=d" },
		{ "ldapbindpasswd=\"never closed", "ldapbindpasswd=****" },
		{ "ldapbindpasswd = x", "ldapbindpasswd=****" },
		{ "ldapbindpasswd=x ldapbindpasswd=y",
		    "ldapbindpasswd=**** ldapbindpasswd=****" },
	};
	char buf[100];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_string_equal(ldap_options_hide(rows[i][0], buf,
		    sizeof buf), rows[i][1]);
	assert_string_equal(ldap_options_hide("ldapbindpasswd=x", buf, 18),
	    "ldapbindpasswd=**");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options_are_read),
		cmocka_unit_test(test_url_sets_the_options),
		cmocka_unit_test(test_nonsense_is_refused),
		cmocka_unit_test(test_length_is_limited),
		cmocka_unit_test(test_password_is_hidden),
		cmocka_unit_test(test_each_failed_allocation_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
