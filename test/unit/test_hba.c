/* test_hba.c - rules of who may log in: spec/authentication.md section 4,
 * spec/config-files.md section 9.
 * SPDX-License-Identifier: ISC */
#include "conf/hba.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/net.h"
#include "base/text.h"
#include "conf/file.h"
#include "conf/ident.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

struct got {
	char buf[8192];
	struct text text;
};

static void on_report(void *arg, const char *line)
{
	struct got *const g = arg;

	text_addf(&g->text, "%s\n", line);
}

/* The files that rules may name. */
static const struct {
	const char *path, *text;
} files[] = {
	{ "/etc/x/users", "ann, bob\n\n# none\ncarl extra words\n\"all\",\n" },
	{ "/etc/x/sub/more", "dora\n@inner\n" },
	{ "/etc/x/sub/inner", "emil" },
	{ "/etc/x/loop", "@loop\n" },
	{ "/etc/x/wide", "@wide2,@wide2,@wide2,@wide2,@wide2,@wide2\n" },
	{ "/etc/x/wide2", "@wide3,@wide3,@wide3,@wide3,@wide3,@wide3\n" },
	{ "/etc/x/wide3", "@wide4,@wide4,@wide4,@wide4,@wide4,@wide4\n" },
	{ "/etc/x/wide4", "@users,@users,@users,@users,@users,@users\n" },
	{ "/etc/x/broken", "ann\n\"bob\n" },
	{ "/etc/x/maps", "m ann shop\n" },
	{ "/etc/x/hba", "local all all peer map=m\n" },
	{ "/elsewhere", "fritz\n" },
};

static int read_file(const char *path, struct file_text *f)
{
	for (size_t i = 0; i < COUNT(files); i++) {
		if (strcmp(files[i].path, path) != 0)
			continue;
		f->at = mem_strdup(files[i].text);
		f->len = strlen(files[i].text);
		errno = ENOMEM;
		return f->at != NULL ? 0 : -1;
	}
	errno = ENOENT;
	return -1;
}

static struct hba *parse_bytes(struct got *g, const char *text, size_t len)
{
	static const char map_text[] = "m ann shop\nm2 bob all\n";
	char *const copy = test_malloc(len > 0 ? len : 1);
	const struct hba_source src = {
		.text = copy, .len = len, .path = "/etc/x/hba.conf",
		.read = read_file, .report = on_report, .arg = g,
	};

	memcpy(copy, text, len);
	text_init(&g->text, g->buf, sizeof(g->buf));
	struct ident *const maps = ident_parse(map_text, strlen(map_text),
	    NULL, NULL);
	struct hba *const h = maps == NULL ? NULL : hba_parse(&src, maps);
	test_free(copy);
	return h;
}

static struct hba *parse(struct got *g, const char *text)
{
	return parse_bytes(g, text, strlen(text));
}

/* Who wants in: address, database, user; "+" before the address: TLS. */
static const struct hba_rule *find(const struct hba *h, const char *from,
    const char *database, const char *user)
{
	struct net_addr a = { .family = NET_UNIX };
	const bool tls = from[0] == '+', physical = database[0] == '>';
	const struct hba_login l = {
		.addr = &a, .tls = tls, .physical = physical,
		.database = database + physical, .user = user,
	};

	if (from[0] != '\0')
		assert_int_equal(net_parse_ip(from + tls, 0, &a), 0);
	return hba_find(h, &l);
}

static void test_first_rule_that_fits_decides(void **state)
{
	static const char text[] =
	    "# who may do what\n"				/* 1 */
	    "local all postgres peer map=m\n"			/* 2 */
	    "hostssl shop ann 10.0.0.0/8 cert\n"		/* 3 */
	    "hostnossl shop ann 10.0.0.0/8 reject\n"		/* 4 */
	    "host shop,\"all\" , stock ann,bob 10.1.0.0 255.255.0.0 md5\n"
	    "host sameuser all ::1/128 scram-sha-256\n"		/* 6 */
	    "host replication rep 0.0.0.0/0 trust\n"		/* 7 */
	    "host \"replication\" rep all password\n"		/* 8 */
	    "host all @users fe80::/10 trust\n"			/* 9 */
	    "host all @sub/more,@/elsewhere fe80::/10 md5\n"	/* 10 */
	    "host \"sameuser\" \"Ann \"\"x\"\", #\" all trust # rest\n"
	    "host all sameuser 192.168.0.0/16 trust\r\n"	/* 12 */
	    "host db replication 192.168.0.0/16 trust\n"	/* 13 */
	    "local all all reject";				/* 14 */
	static const struct {
		const char *from, *database, *user;
		unsigned line;		/* 0: none */
	} rows[] = {
		{ "", "any", "postgres", 2 },
		{ "", "any", "ann", 14 },
		{ "", ">any", "ann", 0 },
		{ "+10.2.3.4", "shop", "ann", 3 },
		{ "10.2.3.4", "shop", "ann", 4 },
		{ "10.1.3.4", "stock", "ann", 5 },
		{ "10.1.3.4", "all", "bob", 5 },
		{ "10.1.3.4", "other", "bob", 0 },
		{ "10.2.3.4", "stock", "ann", 0 },
		{ "::1", "ann", "ann", 6 },
		{ "::1", "ann", "bob", 0 },
		{ "::2", "ann", "ann", 0 },
		{ "1.2.3.4", ">x", "rep", 7 },
		{ "1.2.3.4", "x", "rep", 0 },
		{ "1.2.3.4", "replication", "rep", 8 },
		{ "1::2", ">replication", "rep", 0 },
		{ "fe80::5", "d", "ann", 9 },
		{ "fe80::5", "d", "carl", 9 },
		{ "fe80::5", "d", "all", 9 },
		{ "fe80::5", "d", "extra", 0 },
		{ "fe80::5", "d", "emil", 10 },
		{ "fe80::5", "d", "fritz", 10 },
		{ "9.9.9.9", "sameuser", "Ann \"x\", #", 11 },
		{ "192.168.1.1", "me", "me", 12 },
		{ "192.168.1.1", "me", "you", 0 },
		{ "192.168.1.1", "db", "replication", 13 },
		/* IPv4, however it is written */
		{ "::ffff:10.2.3.4", "shop", "ann", 4 },
	};
	struct got g;
	struct hba *h = parse(&g, text);

	(void)state;
	assert_string_equal(g.buf, "");
	assert_int_equal(hba_count(h), 13);
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct hba_rule *const r = find(h, rows[i].from,
		    rows[i].database, rows[i].user);

		if ((r != NULL ? r->line : 0) != rows[i].line)
			fail_msg("row %zu: %s %s %s", i, rows[i].from,
			    rows[i].database, rows[i].user);
	}
	hba_unref(&h);
}

static void test_method_and_options_come_with_the_rule(void **state)
{
	static const struct {
		const char *text;
		enum auth_type method;
		const char *options, *map;
	} rows[] = {
		{ "local all all trust", AUTH_TRUST, "", NULL },
		{ "local all all reject", AUTH_REJECT, "", NULL },
		{ "local all all md5", AUTH_MD5, "", NULL },
		{ "local all all password", AUTH_PLAIN, "", NULL },
		{ "local all all scram-sha-256", AUTH_SCRAM_SHA_256, "",
		    NULL },
		{ "local all all peer", AUTH_PEER, "", NULL },
		{ "local all all peer map=m", AUTH_PEER, "", "m" },
		{ "local all all cert map=\"m2\"", AUTH_CERT, "", "m2" },
		{ "local all all trust map=m", AUTH_TRUST, "", "m" },
		{ "local all all ldap", AUTH_LDAP, "", NULL },
		{ "local all all ldap  ldapserver=a, b=\"x#y\"  # c",
		    AUTH_LDAP, "ldapserver=a, b=\"x#y\"", NULL },
	};
	struct got g;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct hba *h = parse(&g, rows[i].text);
		const struct hba_rule *const r = find(h, "", "d", "u");

		assert_string_equal(g.buf, "");
		assert_non_null(r);
		assert_int_equal(r->method, rows[i].method);
		assert_string_equal(r->options, rows[i].options);
		if (rows[i].map != NULL)
			assert_string_equal(ident_map_name(r->map),
			    rows[i].map);
		else
			assert_null(r->map);
		hba_unref(&h);
	}
}

static void test_faulty_lines_are_skipped(void **state)
{
	static const struct {
		const char *line, *why;
	} rows[] = {
		{ "hostgssenc all all all trust",
		    "unknown type \"hostgssenc\"" },
		{ "\"host\" all all all trust", "unknown type \"host\"" },
		{ "Host all all all trust", "unknown type \"Host\"" },
		{ "host", "a name is missing" },
		{ "host all", "a name is missing" },
		{ "host all,", "a name is missing" },
		{ "host , all all trust", "a name is missing" },
		{ "host a,,b all all trust", "a name is missing" },
		{ "host \"\" all all trust", "an empty name" },
		{ "host samerole all all trust",
		    "\"samerole\" is not supported" },
		{ "host samegroup all all trust",
		    "\"samegroup\" is not supported" },
		{ "host +x all all trust", "\"+x\" is not supported" },
		{ "host all +g all trust", "\"+g\" is not supported" },
		{ "host /x all all trust", "\"/x\" is not supported" },
		{ "host all @ all trust", "no file name behind @" },
		{ "host all @none all trust", "could not open file "
		    "\"/etc/x/none\": No such file or directory" },
		{ "host all @loop all trust",
		    "too many files behind @/etc/x/loop" },
		{ "host all @wide all trust",
		    "too many files behind @/etc/x/users" },
		{ "host all @broken all trust",
		    "broken line in /etc/x/broken" },
		{ "host all all", "the address is missing" },
		{ "host all all trust", "unsupported address \"trust\"" },
		{ "host all all samehost trust",
		    "unsupported address \"samehost\"" },
		{ "host all all \"all\" trust",
		    "unsupported address \"all\"" },
		{ "host all all db.example.com trust",
		    "unsupported address \"db.example.com\"" },
		{ "host all all 10.0.0.0/33 trust",
		    "unsupported address \"10.0.0.0/33\"" },
		{ "host all all 10.0.0.1 trust", "invalid mask \"trust\"" },
		{ "host all all 10.0.0.1", "the mask is missing" },
		{ "host all all 10.0.0.0/8,11.0.0.0/8 trust",
		    "the method \",\"" },
		{ "host all all all", "the method is missing" },
		{ "host all all all plain", "unknown method \"plain\"" },
		{ "host all all all pam", "unknown method \"pam\"" },
		{ "host all all all any", "unknown method \"any\"" },
		{ "host all all all gss", "unknown method \"gss\"" },
		{ "host all all all \"trust\"", "unknown method \"trust\"" },
		{ "local all all peer map=none",
		    "unknown ident map \"map=none\"" },
		{ "host all all all cert clientcert=1",
		    "unknown option \"clientcert\"" },
		{ "host all all all md5 ldapbindpasswd=secret",
		    "unknown option \"ldapbindpasswd\"" },
		{ "host all all all trust, x", "unknown option \",\"" },
		{ "host all \"all all trust", "an open quote" },
		{ "host all all all trust \"map=m", "an open quote" },
		{ "\"host", "an open quote" },
	};
	char text[256], want[512];
	struct got g;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(text, sizeof(text), "%s\nlocal all all trust\n",
		    rows[i].line);
		snprintf(want, sizeof(want), "hba line 1: %s\n"
		    "could not parse hba config line 1\n", rows[i].why);
		struct hba *h = parse(&g, text);

		assert_string_equal(g.buf, want);
		assert_int_equal(hba_count(h), 1);
		assert_non_null(find(h, "", "d", "u"));
		hba_unref(&h);
	}
}

static void test_nul_makes_a_line_faulty(void **state)
{
	static const char text[] = "local all a\0b trust\nlocal all a trust";
	struct got g;
	struct hba *h = parse_bytes(&g, text, sizeof(text) - 1);

	(void)state;
	assert_int_equal(hba_count(h), 1);
	assert_int_equal(find(h, "", "d", "a")->line, 2);
	hba_unref(&h);
}

static void test_bits_outside_the_mask_do_not_count(void **state)
{
	struct got g;
	struct hba *h = parse(&g, "host all all 10.0.0.1/8 trust\n"
	    "host all all 11.0.3.1 255.0.255.0 trust\n"
	    "host all all all md5\n");

	(void)state;
	assert_string_equal(g.buf, "");
	assert_int_equal(hba_count(h), 3);
	assert_int_equal(find(h, "10.9.0.1", "d", "u")->line, 1);
	assert_int_equal(find(h, "11.9.3.5", "d", "u")->line, 2);
	assert_int_equal(find(h, "11.9.4.5", "d", "u")->line, 3);
	hba_unref(&h);
}

static void test_no_rules_fit_nobody(void **state)
{
	struct got g;
	struct hba *h = parse(&g, "");

	(void)state;
	assert_int_equal(hba_count(h), 0);
	assert_null(find(h, "", "d", "u"));
	assert_null(find(NULL, "", "d", "u"));
	hba_unref(&h);
}

static void test_files_that_cannot_be_read_are_named(void **state)
{
	struct got g;
	const struct hba_source how = {
		.read = read_file, .report = on_report, .arg = &g,
	};
	struct err e;

	(void)state;
	text_init(&g.text, g.buf, sizeof(g.buf));
	assert_null(hba_load("/none", NULL, &how, &e));
	assert_string_equal(e.text,
	    "could not open hba config file /none: No such file or directory");
	assert_null(hba_load("/etc/x/hba", "/none", &how, &e));
	assert_string_equal(e.text, "could not open ident config file /none: "
	    "No such file or directory");
	struct hba *h = hba_load("/etc/x/hba", "/etc/x/maps", &how, &e);
	assert_string_equal(g.buf, "");
	assert_string_equal(ident_map_name(find(h, "", "d", "u")->map), "m");
	struct hba *again = hba_ref(h);
	hba_unref(&h);
	assert_int_equal(hba_count(again), 1);
	hba_unref(&again);
	/* without its map the rule counts for nothing */
	h = hba_load("/etc/x/hba", "", &how, &e);
	assert_int_equal(hba_count(h), 0);
	hba_unref(&h);
}

static void test_each_failed_allocation_gives_null(void **state)
{
	struct got g;
	struct hba *h;
	unsigned long n = 0;

	(void)state;
	do {
		mem_fail_at(++n);
		h = parse(&g, "host a,b,c,d,e @users all md5 map=m\n"
		    "local all all ldap x=y\n");
		mem_fail_at(0);
		assert_string_equal(g.buf, "");
	} while (h == NULL);
	assert_true(n > 20);
	assert_int_equal(hba_count(h), 2);
	hba_unref(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_rule_that_fits_decides),
		cmocka_unit_test(test_method_and_options_come_with_the_rule),
		cmocka_unit_test(test_faulty_lines_are_skipped),
		cmocka_unit_test(test_nul_makes_a_line_faulty),
		cmocka_unit_test(test_bits_outside_the_mask_do_not_count),
		cmocka_unit_test(test_no_rules_fit_nobody),
		cmocka_unit_test(test_files_that_cannot_be_read_are_named),
		cmocka_unit_test(test_each_failed_allocation_gives_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
