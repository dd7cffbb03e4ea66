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
#include "base/jwt.h"
#include "base/mem.h"
#include "base/net.h"
#include "base/text.h"
#include "conf/file.h"
#include "conf/hba_source.h"
#include "conf/ident.h"
#include "conf/oauth_options.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

struct got {
	char buf[8192];
	struct text text;
	struct err e;
	bool skip;
};

static void on_report(void *arg, enum log_level level, const char *line)
{
	struct got *const g = arg;

	text_addf(&g->text, "%s%s\n", level == LEVEL_WARNING ? "(skip) " : "",
	    line);
}

/* The files that rules may name. */
static const struct {
	const char *path, *text;
} files[] = {
	{ "/etc/x/users", "ann, bob\n\n# none\ncarl more, \\\n,words\n\"all\",\n" },
	{ "/etc/x/sub/more", "dora\n@inner\n" },
	{ "/etc/x/sub/inner", "emil" },
	{ "/etc/x/loop", "@loop\n" },
	{ "/etc/x/wide", "@wide2,@wide2,@wide2,@wide2,@wide2,@wide2\n" },
	{ "/etc/x/wide2", "@wide3,@wide3,@wide3,@wide3,@wide3,@wide3\n" },
	{ "/etc/x/wide3", "@wide4,@wide4,@wide4,@wide4,@wide4,@wide4\n" },
	{ "/etc/x/wide4", "@users,@users,@users,@users,@users,@users\n" },
	{ "/etc/x/broken", "ann\n\"bob\n" },
	{ "/etc/x/roles", "ann\n+crew\n" },
	{ "/etc/x/nested", "include sub/more\n" },
	{ "/etc/x/maps", "m ann shop\n" },
	{ "/etc/x/badmaps", "m ann shop\nm ann\n" },
	{ "/etc/x/bad", "local all all trust\nlocal all all rejct\n"
	    "local x y peer map=none\n" },
	{ "/etc/x/rules", "# more\nhost shop @sub/inner all md5\n"
	    "include sub/rules\n" },
	{ "/etc/x/sub/rules", "hostssl shop @inner ::1/128 cert\n"
	    "include_if_exists absent\ninclude_dir d\n" },
	{ "/etc/x/sub/d/a.conf", "host shop fritz all password\n" },
	{ "/etc/x/sub/d/b.conf", "host shop @/etc/x/sub/inner all trust\n" },
	{ "/etc/x/rings", "include rings\n" },
	{ "/etc/x/hba", "local all all peer map=m\n" },
	{ "/elsewhere", "fritz\n" },
	{ "/etc/x/nul", "# the zero is another\n# 0\n" },
	{ "/etc/x/empty", "" },
	{ "/etc/x/blank", " \t\r\n\n" },
	{ "/etc/x/nobody", "# meant\n" },
	{ "/etc/x/keys", "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\","
	    "\"kid\":\"k\",\"x\":"
	    "\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}" },
};

static int read_file(const char *path, struct file_text *f)
{
	for (size_t i = 0; i < COUNT(files); i++) {
		if (strcmp(files[i].path, path) != 0)
			continue;
		f->at = mem_strdup(files[i].text);
		f->len = strlen(files[i].text);
		if (f->at != NULL && strcmp(path, "/etc/x/nul") == 0)
			*strchr(f->at, '0') = '\0';
		errno = ENOMEM;
		return f->at != NULL ? 0 : -1;
	}
	errno = ENOENT;
	return -1;
}

static int list_files(const char *path, struct file_names *n)
{
	static const char *const names[] = {
		"/etc/x/sub/d/a.conf", "/etc/x/sub/d/b.conf",
	};

	errno = ENOENT;
	if (strcmp(path, "/etc/x/sub/d") != 0)
		return -1;
	n->at = mem_alloc(sizeof(names));
	errno = ENOMEM;
	for (; n->at != NULL && n->count < COUNT(names); n->count++) {
		n->at[n->count] = mem_strdup(names[n->count]);
		if (n->at[n->count] == NULL)
			break;
	}
	if (n->at != NULL && n->count == COUNT(names))
		return 0;
	file_names_fini(n);
	errno = ENOMEM;
	return -1;
}

static struct hba *parse_bytes(struct got *g, const char *text, size_t len)
{
	static const char map_text[] = "m ann shop\nm2 bob all\n";
	char *const copy = test_malloc(len > 0 ? len : 1);
	const struct hba_source src = {
		.text = copy, .len = len, .path = "/etc/x/hba.conf",
		.read = read_file, .list = list_files, .report = on_report,
		.arg = g, .skip_unknown = g->skip,
	};
	const struct hba_source map_src = {
		.text = map_text, .len = strlen(map_text), .path = "/m",
	};

	memcpy(copy, text, len);
	text_init(&g->text, g->buf, sizeof(g->buf));
	g->e.text[0] = '\0';
	struct ident *const maps = ident_parse(&map_src, &g->e);
	struct hba *const h = maps == NULL ? NULL :
	    hba_parse(&src, maps, &g->e);
	test_free(copy);
	return h;
}

static struct hba *parse(struct got *g, const char *text)
{
	return parse_bytes(g, text, strlen(text));
}

/* This machine is 127.0.0.1 in 127.0.0.0/8; nobody knows about ::1. */
static enum hba_fit near(const struct net_addr *a, bool net)
{
	if (a->family == NET_IPV6)
		return HBA_DOUBT;
	if (a->ip[0] != 127)
		return HBA_DIFFERS;
	return net || a->ip[3] == 1 ? HBA_FITS : HBA_DIFFERS;
}

/*
 * Who wants in: address, database, user; "+" before the address: TLS. Behind
 * a blank: the name of his machine, "?" for one that is not known.
 */
static const struct hba_rule *find(const struct hba *h, const char *from,
    const char *database, const char *user)
{
	struct net_addr a = { .family = NET_UNIX };
	const bool tls = from[0] == '+', physical = database[0] == '>';
	const char *const name = strchr(from, ' ');
	char ip[NET_TEXT_MAX];
	const struct hba_login l = {
		.addr = &a, .tls = tls, .physical = physical,
		.database = database + physical, .user = user, .near = near,
		.host_state = name == NULL ? HBA_HOST_NONE : name[1] == '?' ?
		    HBA_HOST_UNKNOWN : HBA_HOST_KNOWN,
		.host = name == NULL ? NULL : name + 1,
	};

	snprintf(ip, sizeof(ip), "%.*s", (int)strcspn(from + tls, " "),
	    from + tls);
	if (from[0] != '\0')
		assert_int_equal(net_parse_ip(ip, 0, &a), 0);
	return hba_find(h, &l);
}

static void test_first_rule_that_fits_decides(void **state)
{
	static const char text[] =
	    "# who may do what\n"				/* 1 */
	    "local all postgres peer map=m\n"			/* 2 */
	    "hostssl shop ann 10.0.0.0/8 cert\n"		/* 3 */
	    "hostnossl shop ann 10.0.0.0/8 reject\n"		/* 4 */
	    "host shop,\"all\", stock ann,bob 10.1.0.0 255.255.0.0 md5\n"
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
		{ "fe80::5", "d", "more", 9 },
		{ "fe80::5", "d", "words", 9 },
		{ "fe80::5", "d", "wor", 0 },
		{ "fe80::5", "d", "emil", 10 },
		{ "fe80::5", "d", "fritz", 10 },
		{ "9.9.9.9", "sameuser", "Ann \"x\", #", 11 },
		{ "192.168.1.1", "me", "sameuser", 12 },
		{ "192.168.1.1", "me", "me", 0 },
		{ "192.168.1.1", "db", "replication", 13 },
		/* IPv4, however it is written */
		{ "::ffff:10.2.3.4", "shop", "ann", 4 },
	};
	struct got g = { .skip = false };
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
		{ "\"local\" all all \"trust\"", AUTH_TRUST, "", NULL },
		{ "local all all ident map=m", AUTH_PEER, "", "m" },
		{ "local all all ldap", AUTH_LDAP, "", NULL },
		{ "local all all ldap  ldapserver=a, b=\"x#y\"  # c",
		    AUTH_LDAP, "ldapserver=a, b=\"x#y\"", NULL },
	};
	struct got g = { .skip = false };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct hba *h = parse(&g, rows[i].text);
		const struct hba_rule *const r = find(h, "", "d", "u");

		if (rows[i].method != AUTH_CERT)	/* for hostssl, else a warning */
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

#ifdef HAVE_GSSAPI
static void test_gss_comes_with_its_options(void **state)
{
	static const struct {
		const char *options;
		bool include_realm;
		const char *krb_realm, *map;
	} rows[] = {
		{ "", true, NULL, NULL },
		{ "include_realm=1", true, NULL, NULL },
		{ "include_realm=0", false, NULL, NULL },
		{ "include_realm=yes", false, NULL, NULL },
		{ "include_realm=11", false, NULL, NULL },
		{ "include_realm=0 include_realm=1", true, NULL, NULL },
		{ "krb_realm=A.B krb_realm=\"C D\"", true, "C D", NULL },
		{ "krb_realm=", true, "", NULL },
		{ "map=m include_realm=0 krb_realm=A", false, "A", "m" },
	};
	struct got g = { .skip = false };
	char text[256];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(text, sizeof(text), "host all all all gss %s",
		    rows[i].options);
		struct hba *h = parse(&g, text);
		const struct hba_rule *const r = find(h, "::1", "d", "u");

		assert_string_equal(g.buf, "");
		assert_non_null(r);
		assert_int_equal(r->method, AUTH_GSS);
		assert_int_equal(r->include_realm, rows[i].include_realm);
		if (rows[i].krb_realm != NULL)
			assert_string_equal(r->krb_realm, rows[i].krb_realm);
		else
			assert_null(r->krb_realm);
		assert_int_equal(r->map != NULL, rows[i].map != NULL);
		hba_unref(&h);
	}
}
#endif

#define OAUTH "oauth issuer=https://i audience=a "

static bool is_oauth(const struct hba_rule *r)
{
	return r->method == AUTH_OAUTH;
}

static void test_oauth_comes_with_its_options(void **state)
{
	struct got g = { .skip = false };

	(void)state;
	struct hba *h = parse(&g, "host all all all " OAUTH
	    "scope=\"b c\" jwks=keys\n");
	const struct hba_rule *r = find(h, "::1", "d", "u");

	assert_string_equal(g.buf, "");
	assert_int_equal(r->method, AUTH_OAUTH);
	assert_string_equal(r->oauth->issuer, "https://i");
	assert_string_equal(r->oauth->audience, "a");
	assert_string_equal(r->oauth->scope, "b c");
	assert_string_equal(r->oauth->claim, "sub");
	assert_string_equal(jwks_file_path(r->oauth->keys), "/etc/x/keys");
	assert_false(oauth_is_cleartext(r->oauth));
	assert_null(r->map);
	hba_unref(&h);
	h = parse(&g, "hostssl all all all " OAUTH "jwks=\"/etc/x/keys\" "
	    "scope=b cleartext=1 user_claim=email map=m\n"
	    "host all all all trust\n");
	assert_string_equal(g.buf, "");
	r = hba_find_like(h, is_oauth);
	assert_true(oauth_is_cleartext(r->oauth));
	assert_string_equal(r->oauth->claim, "email");
	assert_non_null(r->map);
	hba_unref(&h);
}

static void test_oauth_that_lets_nobody_in_gets_a_warning(void **state)
{
	struct got g = { .skip = false };

	(void)state;
	struct hba *h = parse(&g, "local all all " OAUTH "scope=b jwks=keys\n"
	    "hostssl all all all " OAUTH "scope=b jwks=absent\n"
	    "hostssl all all all " OAUTH "scope=b jwks=nobody\n");

	assert_int_equal(hba_count(h), 3);
	assert_string_equal(g.buf,
	    "(skip) hba line 1: the rule lets nobody in, because oauth needs "
	    "TLS: write hostssl (/etc/x/hba.conf:1)\n"
	    "(skip) hba line 2: the rule lets nobody in, because the JWKS file "
	    "\"/etc/x/absent\" cannot be used: No such file or directory "
	    "(/etc/x/hba.conf:2)\n"
	    "(skip) hba line 3: the rule lets nobody in, because the JWKS file "
	    "\"/etc/x/nobody\" cannot be used: it is no JSON object "
	    "(/etc/x/hba.conf:3)\n");
	hba_unref(&h);
}

static void test_a_faulty_line_refuses_the_file(void **state)
{
	static const struct {
		const char *line, *why;
	} rows[] = {
		{ "Host all all all trust", "unknown type \"Host\"" },
		{ "host", "a name is missing" },
		{ "host all", "a name is missing" },
		{ "host all,", "a name is missing" },
		{ "host , all all trust", "a name is missing" },
		{ "host a,,b all all trust", "a name is missing" },
		{ "host a ,b all all trust", "a name is missing" },
#ifdef HAVE_GSSAPI
		{ "local all all gss",
		    "a local rule cannot have the method \"gss\"" },
		{ "host all all all gss compat_realm=1",
		    "unknown option \"compat_realm\"" },
		{ "host all all all md5 krb_realm=A",
		    "unknown option \"krb_realm\"" },
#endif
		{ "hostgssenc all all all gss nonsense=1",
		    "unknown option \"nonsense\"" },
		{ "host \"\" all all trust", "an empty name" },
		{ "host all @ all trust", "no file name behind @" },
		{ "host all @none all trust", "could not open file "
		    "\"/etc/x/none\": No such file or directory" },
		{ "host all @loop all trust",
		    "too many files behind /etc/x/loop" },
		{ "host all @wide all trust",
		    "too many files behind /etc/x/users" },
		{ "host all @broken all trust",
		    "an open quote, /etc/x/broken:2" },
		{ "host all @nested all trust",
		    "include in a list, /etc/x/nested:1" },
		{ "host all /a( all trust",
		    "regular expression: an open parenthesis" },
		{ "host \"/\" all all trust",
		    "regular expression: an empty branch" },
		{ "include", "include wants the name of one file" },
		{ "include a b", "include wants the name of one file" },
		{ "\"include\" @a", "include wants the name of one file" },
		{ "include absent", "could not open file "
		    "\"/etc/x/absent\": No such file or directory" },
		{ "include empty", "file \"/etc/x/empty\" is empty: if this is "
		    "intended, put a comment in it" },
		{ "include_if_exists blank", "file \"/etc/x/blank\" is empty: if "
		    "this is intended, put a comment in it" },
		{ "host all @blank all trust", "file \"/etc/x/blank\" is empty"
		    ": if this is intended, put a comment in it" },
		{ "include_dir absent", "could not open directory "
		    "\"/etc/x/absent\": No such file or directory" },
		{ "host all all", "the address is missing" },
		{ "host all all trust", "the method is missing" },
		{ "host all all 10.1 trust", "invalid address \"10.1\"" },
		{ "host all all 0x7f.1 trust", "invalid address \"0x7f.1\"" },
		{ "host all all a:b trust", "invalid address \"a:b\"" },
		{ "host all all a..b trust", "invalid address \"a..b\"" },
		{ "host all all a. trust", "invalid address \"a.\"" },
		{ "host all all . trust", "invalid address \".\"" },
		{ "host all all a/8 trust", "invalid address \"a/8\"" },
		{ "host all all fe80::1%lo trust",
		    "invalid address \"fe80::1%lo\"" },
		{ "host all all 10.0.0.0/33 trust",
		    "invalid address \"10.0.0.0/33\"" },
		{ "host all all 10.0.0.1 trust", "invalid mask \"trust\"" },
		{ "host all all 10.0.0.1", "the mask is missing" },
		{ "host all all 10.0.0.1 ::ff trust",
		    "invalid mask \"::ff\"" },
		{ "host all all all", "the method is missing" },
		{ "host all all all plain", "unknown method \"plain\"" },
		{ "host all all all any", "unknown method \"any\"" },
		{ "host all all all oauth",
		    "the method oauth needs issuer=" },
		{ "host all all all oauth issuer=https://i",
		    "the method oauth needs audience=" },
		{ "host all all all " OAUTH, "the method oauth needs scope=" },
		{ "host all all all " OAUTH "scope=b",
		    "the method oauth needs jwks=" },
		{ "host all all all " OAUTH "jwks=",
		    "\"jwks=\" wants the name of a file" },
		{ "host all all all " OAUTH "jwks=k jwks=k",
		    "\"jwks=\" is given twice" },
		{ "host all all all " OAUTH "audience=b",
		    "\"audience=\" is given twice" },
		{ "host all all all " OAUTH "scope=\" b\"",
		    "\"scope=\" wants words with one blank between two" },
		{ "host all all all oauth issuer=i",
		    "\"issuer=\" wants a URL" },
		{ "host all all all oauth issuer=\"https://i x\"",
		    "\"issuer=\" wants a URL" },
		{ "host all all all " OAUTH "cleartext=on",
		    "\"cleartext=\" wants 0 or 1" },
		{ "host all all all " OAUTH "validator=x",
		    "unknown option \"validator\"" },
		{ "host all all all trust issuer=x",
		    "unknown option \"issuer\"" },
		{ "local all all peer map=none",
		    "unknown ident map \"map=none\"" },
		{ "host all all all trust map=m",
		    "no method that takes a map, but \"map=m\"" },
		{ "host all all all md5 ldapbindpasswd=secret",
		    "unknown option \"ldapbindpasswd\"" },
		{ "host all all all trust, x", "unknown option \",\"" },
		{ "host all \"all all trust", "an open quote" },
		{ "host all all all trust \"map=m", "an open quote" },
		{ "\"host", "an open quote" },
	};
	char text[256], want[512];
	struct got g = { .skip = false };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(text, sizeof(text), "local all all trust\n%s\n"
		    "local all all trust\n", rows[i].line);
		snprintf(want, sizeof(want), "hba line 2: %s "
		    "(/etc/x/hba.conf:2)\ncould not parse hba config line "
		    "2\n", rows[i].why);
		for (g.skip = false;; g.skip = true) {
			assert_null(parse(&g, text));
			assert_string_equal(g.buf, want);
			want[strcspn(want, "\n")] = '\0';
			assert_string_equal(g.e.text, want);
			want[strlen(want)] = '\n';
			if (g.skip)
				break;
		}
		g.skip = false;
	}
}

static void test_what_nobody_here_knows_refuses_the_file_or_is_skipped(
    void **state)
{
	static const struct {
		const char *line, *why;
	} rows[] = {
		{ "local samerole all reject", "\"samerole\" is not "
		    "supported: members of roles are not known here" },
		{ "local a,samegroup all reject", "\"samegroup\" is not "
		    "supported: members of roles are not known here" },
		{ "local all +g reject", "\"+g\" is not supported: members "
		    "of roles are not known here" },
		{ "local all @roles reject", "\"+crew\" is not supported: "
		    "members of roles are not known here" },
		{ "host all all all pam", "unsupported method \"pam\"" },
		{ "host all all all sspi", "unsupported method \"sspi\"" },
#ifndef HAVE_GSSAPI
		{ "host all all all gss", "unsupported method \"gss\"" },
#endif
		{ "host all all all ident", "unsupported method \"ident\"" },
		{ "hostssl all all all cert clientcert=verify-ca",
		    "unknown option \"clientcert\"" },
	};
	char text[256], want[512];
	struct got g = { .skip = false };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(text, sizeof(text), "%s\nlocal all all trust\n",
		    rows[i].line);
		snprintf(want, sizeof(want), "hba line 1: %s "
		    "(/etc/x/hba.conf:1)\ncould not parse hba config line "
		    "1\n", rows[i].why);
		g.skip = false;
		assert_null(parse(&g, text));
		assert_string_equal(g.buf, want);

		snprintf(want, sizeof(want), "(skip) hba line 1: %s "
		    "(/etc/x/hba.conf:1): skipped\n(skip) could not parse "
		    "hba config line 1\n", rows[i].why);
		g.skip = true;
		struct hba *h = parse(&g, text);
		assert_string_equal(g.buf, want);
		assert_int_equal(find(h, "", "d", "u")->line, 2);
		hba_unref(&h);
	}
}

/* PostgreSQL docs, The pg_hba.conf File */
static void test_words_mean_what_they_mean_to_postgresql(void **state)
{
	static const struct {
		const char *text, *from, *database, *user;
		unsigned line;		/* 0: none */
	} rows[] = {
		/* only where a word begins with a quote it is no keyword */
		{ "host \"all\" a all trust", "::1", "d", "a", 0 },
		{ "host a\"ll\" a a\"\"ll trust", "::1", "d", "a", 1 },
		/* roles belong to users, sameuser to databases */
		{ "host +x a all trust", "::1", "+x", "a", 1 },
		{ "host d \"+x\" all trust", "::1", "d", "+x", 1 },
		{ "host d sameuser all trust", "::1", "d", "d", 0 },
		/* regular expressions, in quotes too */
		{ "host /^d\\d$ /a all trust", "::1", "d7", "bab", 1 },
		{ "host /^d\\d$ /a all trust", "::1", "d77", "bab", 0 },
		{ "host \"/^(a,b)$\" x,/^y all trust", "::1", "a,b", "yes",
		    1 },
		{ "host /. all all trust", "::1", ">d", "a", 0 },
		/* GSS */
		{ "hostgssenc all all all gss include_realm=0\n"
		    "hostnogssenc all all all trust", "::1", "d", "a", 2 },
		{ "hostnogssenc all all all trust", "", "d", "a", 0 },
		/* a comma belongs to the name before it */
		{ "host a, b all all trust", "::1", "b", "a", 1 },
		/* continued lines; comments are, too */
		{ "host all \\\n  a \\\r\n all trust\nhost all b all md5",
		    "::1", "d", "b", 4 },
		{ "host all a\\\nb all trust", "::1", "d", "ab", 1 },
		{ "# no \\\nhost all all all trust\nlocal d u md5", "::1",
		    "d", "a", 0 },
		{ "local all all trust\nhost all all all trust \\", "::1",
		    "d", "a", 2 },
		/* this machine, and the networks that it is in */
		{ "host all all samehost trust", "127.0.0.1", "d", "a", 1 },
		{ "host all all samehost trust", "127.0.0.2", "d", "a", 0 },
		{ "host all all samenet trust", "127.0.0.2", "d", "a", 1 },
		{ "host all all samenet trust", "10.0.0.2", "d", "a", 0 },
		/* in uncertain nobody gets in */
		{ "host all all samenet trust", "::1", "d", "a", 0 },
		{ "host all all samenet reject", "::1", "d", "a", 1 },
		{ "host all all x trust", "::1 ?", "d", "a", 0 },
		{ "host all all x reject", "::1 ?", "d", "a", 1 },
		{ "host all b x reject", "::1 ?", "d", "a", 0 },
		/* host names */
		{ "host all all Db.Example.com trust", "::1 db.example.COM",
		    "d", "a", 1 },
		{ "host all all db.example.com trust", "::1 adb.example.com",
		    "d", "a", 0 },
		{ "host all all .Example.com trust", "::1 db.example.com",
		    "d", "a", 1 },
		{ "host all all .example.com trust", "::1 example.com",
		    "d", "a", 0 },
		{ "host all all \"samehost\" trust", "127.0.0.1 samehost",
		    "d", "a", 1 },
		{ "host all all db.example.com reject", "::1", "d", "a", 0 },
	};
	struct got g = { .skip = false };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct hba *h = parse(&g, rows[i].text);

		assert_string_equal(g.buf, "");
		const struct hba_rule *const r = find(h, rows[i].from,
		    rows[i].database, rows[i].user);
		if ((r != NULL ? r->line : 0) != rows[i].line)
			fail_msg("row %zu: %u", i, r != NULL ? r->line : 0);
		hba_unref(&h);
	}
}

static void test_included_rules_stand_in_their_place(void **state)
{
	static const struct {
		const char *from, *user;
		enum auth_type method;
		unsigned line;
	} rows[] = {
		{ "10.0.0.1", "emil", AUTH_REJECT, 1 },
		{ "10.0.0.2", "emil", AUTH_MD5, 2 },
		{ "10.0.0.2", "fritz", AUTH_PLAIN, 1 },
		{ "10.0.0.2", "gerd", AUTH_TRUST, 3 },
	};
	struct got g = { .skip = false };
	struct hba *h = parse(&g, "host all all 10.0.0.1/32 reject\n"
	    "\"include\" rules\nhost all all all trust\n");

	(void)state;
	assert_string_equal(g.buf, "");
	assert_int_equal(hba_count(h), 6);
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct hba_rule *const r = find(h, rows[i].from, "shop",
		    rows[i].user);

		assert_int_equal(r->method, rows[i].method);
		assert_int_equal(r->line, rows[i].line);
	}
	hba_unref(&h);

	assert_null(parse(&g, "local all all trust\ninclude bad\n"));
	assert_string_equal(g.buf,
	    "hba line 2: unknown method \"rejct\" (/etc/x/bad:2)\n"
	    "could not parse hba config line 2\n"
	    "hba line 3: unknown ident map \"map=none\" (/etc/x/bad:3)\n"
	    "could not parse hba config line 3\n");
	assert_string_equal(g.e.text,
	    "hba line 2: unknown method \"rejct\" (/etc/x/bad:2)");
	assert_null(parse(&g, "include rings\n"));
	assert_string_equal(g.e.text, "hba line 1: too many files behind "
	    "/etc/x/rings (/etc/x/rings:1)");
}

static void test_names_of_hosts_are_asked_for_where_rules_need_them(
    void **state)
{
	static const struct {
		const char *text;
		bool asks;
	} rows[] = {
		{ "host all all x trust", true },
		{ "host d b x trust", true },
		{ "host /^d b .x trust", true },
		{ "host e a x trust", false },
		{ "hostssl d a x trust", false },
		{ "host d all 10.0.0.0/8 trust\nhost all all x trust", false },
		{ "host d b 10.0.0.0/8 trust\nhost all all x trust", true },
		{ "host d all 11.0.0.0/8 trust\nhost all all x trust", true },
		{ "local all all trust", false },
	};
	struct net_addr a, local = { .family = NET_UNIX };
	struct hba_login l = { .addr = &a, .database = "d", .user = "a" };
	struct got g = { .skip = false };

	(void)state;
	assert_int_equal(net_parse_ip("10.1.1.1", 1, &a), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct hba *h = parse(&g, rows[i].text);

		l.addr = &a;
		assert_int_equal(hba_asks_host(h, &l), rows[i].asks);
		l.addr = &local;
		assert_false(hba_asks_host(h, &l));
		hba_unref(&h);
	}
	assert_false(hba_asks_host(NULL, &l));
}

static void test_a_nul_byte_refuses_the_file(void **state)
{
	static const char *const texts[] = {
		"local all a trust\nlocal all a\0b trust\n",
		"local all a trust\n# no\0thing                ",
		"local all a trust\n\0                        ",
	};
	struct got g = { .skip = true };

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		assert_null(parse_bytes(&g, texts[i], 35));
		assert_string_equal(g.e.text,
		    "hba line 2: a NUL byte (/etc/x/hba.conf:2)");
	}
	assert_null(parse(&g, "include nul\n"));
	assert_string_equal(g.e.text, "hba line 2: a NUL byte (/etc/x/nul:2)");
	assert_null(parse(&g, "host all @nul all trust\n"));
	assert_string_equal(g.e.text, "hba line 1: a NUL byte, /etc/x/nul:2 "
	    "(/etc/x/hba.conf:1)");
}

static void test_bits_outside_the_mask_do_not_count(void **state)
{
	struct got g = { .skip = false };
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

static void test_a_comment_says_that_a_file_is_meant_empty(void **state)
{
	struct got g = { .skip = false };
	struct hba *h = parse(&g, "include nobody\ninclude_if_exists nobody\n"
	    "local all @nobody reject\nlocal all all trust\n");

	(void)state;
	assert_string_equal(g.buf, "");
	assert_int_equal(find(h, "", "d", "ann")->line, 4);
	hba_unref(&h);
}

static void test_rule_of_mapped_addresses_fits_nobody_and_warns(void **state)
{
	struct got g = { .skip = false };
	struct hba *h = parse(&g,
	    "host all all ::ffff:0.0.0.0/96 trust\n"
	    "host all all ::ffff:10.0.0.7 ffff:ffff:ffff:ffff:ffff:ffff:"
	    "ff00:0 reject\n"
	    "host all all ::/0 trust\n"
	    "host all all 10.0.0.0/8 md5\n");

	(void)state;
	/* PostgreSQL source: check_ip() compares the families first */
	assert_int_equal(find(h, "10.0.0.7", "d", "ann")->line, 4);
	assert_int_equal(find(h, "::ffff:10.0.0.7", "d", "ann")->line, 4);
	assert_null(find(h, "11.0.0.7", "d", "ann"));
	assert_non_null(strstr(g.buf, "(skip) hba line 1: the rule fits no "
	    "client, because its address is an IPv4 address written as one of "
	    "IPv6: write it as IPv4 (/etc/x/hba.conf:1)\n"));
	assert_non_null(strstr(g.buf, "(skip) hba line 2: "));
	assert_null(strstr(g.buf, "line 3"));
	hba_unref(&h);
}

static void test_method_on_a_line_that_postgresql_refuses_warns(void **state)
{
	struct got g = { .skip = false };
	struct hba *h = parse(&g, "local all all peer\nhostssl all all all cert\n"
	    "host all all all peer\nhost all all all cert\n");

	(void)state;
	assert_string_equal(g.buf,
	    "(skip) hba line 3: PostgreSQL refuses the method on such a line: "
	    "peer is for local, cert for hostssl (/etc/x/hba.conf:3)\n"
	    "(skip) hba line 4: PostgreSQL refuses the method on such a line: "
	    "peer is for local, cert for hostssl (/etc/x/hba.conf:4)\n");
	hba_unref(&h);
}

static void test_a_file_without_rules_is_refused(void **state)
{
	struct got g = { .skip = false };

	(void)state;
	assert_null(parse(&g, "# nothing\n\n"));
	assert_string_equal(g.e.text,
	    "hba config file /etc/x/hba.conf has no rules");
	assert_null(find(NULL, "", "d", "u"));
}

static void test_files_that_cannot_be_read_are_named(void **state)
{
	struct got g = { .skip = false };
	const struct hba_source how = {
		.read = read_file, .list = list_files, .report = on_report,
		.arg = &g,
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
	/* without its map the rule can't be used */
	assert_null(hba_load("/etc/x/hba", "", &how, &e));
	assert_string_equal(e.text, "hba line 1: unknown ident map \"map=m\" "
	    "(/etc/x/hba:1)");
	assert_null(hba_load("/etc/x/hba", "/etc/x/badmaps", &how, &e));
	assert_string_equal(e.text,
	    "ident line 2: a name is missing (/etc/x/badmaps:2)");
	assert_null(hba_load("", NULL, &how, &e));
	assert_string_equal(e.text, "auth_type=hba needs auth_hba_file");
}

static void test_each_failed_allocation_gives_null(void **state)
{
	struct got g = { .skip = false };
	struct hba *h;
	unsigned long n = 0;

	(void)state;
	do {
		mem_fail_at(++n);
		h = parse(&g, "hostssl a,b,c,d,e @users all cert map=m\n"
		    "local /x all ldap x=y\ninclude rules\n"
		    "host all all .example.com reject\n");
		mem_fail_at(0);
		assert_string_equal(g.buf, "");
	} while (h == NULL);
	assert_true(n > 40);
	assert_int_equal(hba_count(h), 7);
	hba_unref(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_rule_that_fits_decides),
		cmocka_unit_test(test_method_and_options_come_with_the_rule),
#ifdef HAVE_GSSAPI
		cmocka_unit_test(test_gss_comes_with_its_options),
#endif
		cmocka_unit_test(test_oauth_comes_with_its_options),
		cmocka_unit_test(test_oauth_that_lets_nobody_in_gets_a_warning),
		cmocka_unit_test(test_a_faulty_line_refuses_the_file),
		cmocka_unit_test(
		    test_what_nobody_here_knows_refuses_the_file_or_is_skipped),
		cmocka_unit_test(test_words_mean_what_they_mean_to_postgresql),
		cmocka_unit_test(test_included_rules_stand_in_their_place),
		cmocka_unit_test(
		    test_names_of_hosts_are_asked_for_where_rules_need_them),
		cmocka_unit_test(test_a_nul_byte_refuses_the_file),
		cmocka_unit_test(test_bits_outside_the_mask_do_not_count),
		cmocka_unit_test(
		    test_a_comment_says_that_a_file_is_meant_empty),
		cmocka_unit_test(
		    test_rule_of_mapped_addresses_fits_nobody_and_warns),
		cmocka_unit_test(
		    test_method_on_a_line_that_postgresql_refuses_warns),
		cmocka_unit_test(test_a_file_without_rules_is_refused),
		cmocka_unit_test(test_files_that_cannot_be_read_are_named),
		cmocka_unit_test(test_each_failed_allocation_gives_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
