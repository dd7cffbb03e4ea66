/* fuzz_convert.c - any bytes as another pooler's configuration.
 * SPDX-License-Identifier: ISC
 *
 * What is written is read again: as what was meant, and letting in nobody whom the
 * configuration did not let in, to the same place and by the same password. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/net.h"
#include "base/text.h"
#include "conf/connstr.h"
#include "conf/hba.h"
#include "conf/hba_source.h"
#include "conf/ident.h"
#include "conf/ini.h"
#include "conf/userlist.h"
#include "ctl/convert_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PGCAT_USER "pools" FACT_SEP "*" FACT_SEP "users" FACT_SEP "*"
#define ROUTE "database" FACT_SEP "*" FACT_SEP "user" FACT_SEP "*"

struct out {
	char *text;
	size_t len;
};

struct run {
	struct convert cv;
	struct out ini, auth, hba;
	char section[32];
	size_t settings, entries;
};

static const char *value(const struct facts *f, const char *scope,
    const char *key)
{
	const struct fact *const found = facts_get(f, scope, key);

	return found == NULL ? NULL : found->value;
}

static bool same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static const char *scope_of(const char *kind, const char *name)
{
	static char scope[FACT_SCOPE_MAX];
	struct text t;

	text_init(&t, scope, sizeof scope);
	text_addf(&t, "%s%s", kind, name);
	return scope;
}

/* --- the ini --- */

static enum ini_step on_section(void *arg, const char *name,
    const struct ini_place *at)
{
	struct run *const r = arg;

	(void)at;
	assert(strcmp(name, "databases") == 0 || strcmp(name, "users") == 0 ||
	    strcmp(name, "pgbouncer") == 0);
	text_copy(r->section, sizeof r->section, name);
	return INI_GO;
}

static void on_problem(void *arg, const char *text)
{
	(void)arg;
	fprintf(stderr, "%s\n", text);
	abort();
}

static void check_setting(struct run *r, const char *key, const char *text)
{
	if (strcmp(key, "auth_type") == 0) {
		assert(strcmp(text, "hba") == 0);
	} else if (strcmp(key, "auth_file") == 0) {
		assert(strcmp(text, "/auth") == 0);
	} else if (strcmp(key, "auth_hba_file") == 0) {
		assert(strcmp(text, "/hba") == 0);
	} else {
		const char *const want = value(&r->cv.out, OUT_SETTINGS, key);

		assert(want != NULL && (text[0] == '\0' ||
		    strstr(want, text) != NULL));
		r->settings++;
	}
}

static void check_line(struct run *r, const char *name, const char *text)
{
	const char *const scope = scope_of(strcmp(r->section, "users") == 0 ?
	    OUT_USER : OUT_ENTRY, name);
	char *const copy = strdup(text);
	struct connstr_pair pair;
	struct connstr c;
	struct err e;
	enum connstr_step step;

	connstr_init(&c, copy);
	while ((step = connstr_next(&c, &pair, &e)) == CONNSTR_PAIR)
		assert(same(pair.value, value(&r->cv.out, scope, pair.key)));
	/* an empty value is refused, with the line that has it */
	if (step != CONNSTR_END && strstr(text, "=''") == NULL)
		on_problem(r, text);
	free(copy);
}

static enum ini_step on_entry(void *arg, const char *key, const char *text,
    const struct ini_place *at)
{
	struct run *const r = arg;

	(void)at;
	if (strcmp(r->section, "pgbouncer") == 0)
		check_setting(r, key, text);
	else
		check_line(r, key, text);
	return INI_GO;
}

static enum ini_step on_include(void *arg, const char *path,
    const struct ini_place *at)
{
	(void)arg;
	(void)path;
	(void)at;
	abort();
}

static void check_ini(struct run *r)
{
	static const struct ini_ops ops = {
		on_section, on_entry, on_include, on_problem,
	};
	const struct ini_source src = {
		.text = r->ini.text, .len = r->ini.len, .file = "f",
	};
	size_t settings = 0;

	for (size_t i = 0; i < r->cv.out.count; i++)
		settings += r->cv.out.at[i].scope[0] == '\0';
	assert(ini_parse(&src, &ops, r) == INI_GO);
	assert(r->settings == settings);
}

/* --- who gets in --- */

static int check_secret(const char *name, const char *secret, void *arg)
{
	const struct run *const r = arg;

	assert(same(secret, value(&r->cv.out, OUT_AUTH, name)));
	return 0;
}

static void check_auth(struct run *r)
{
	const struct userlist_source src = {
		.text = r->auth.text, .len = r->auth.len, .path = "f",
	};
	struct userlist *u = userlist_parse(&src);

	if (u == NULL)
		return;
	userlist_each(u, check_secret, r);
	userlist_unref(&u);
}

/* Does this user of the input get to what the entry leads to? */
static bool leads_to(const struct run *r, const char *scope, const char *entry,
    const char *user, const char *password)
{
	const char *const to = scope_of(OUT_ENTRY, entry);

	return same(value(&r->cv.in, scope, user),
	    value(&r->cv.out, to, "user")) &&
	    same(value(&r->cv.in, scope, password),
	    value(&r->cv.out, to, "password"));
}

/* The one password of the user is that of this database, or there is none. */
static bool knows(const struct run *r, const char *scope, const char *user)
{
	const char *const known = value(&r->cv.out, OUT_AUTH, user);

	return known == NULL || same(known,
	    value(&r->cv.in, scope, "password"));
}

static bool pgcat_lets_in(const struct run *r, const struct fact *f,
    const char *entry, const char *user)
{
	char pool[256];

	if (strcmp(f->key, "username") != 0 || strcmp(f->value, user) != 0 ||
	    !facts_scope_fits(f->scope, PGCAT_USER))
		return false;
	facts_word(f->scope, 1, pool, sizeof pool);
	return strncmp(entry, pool, strlen(pool)) == 0 &&
	    knows(r, f->scope, user) &&
	    leads_to(r, f->scope, entry, "server_username", "server_password");
}

static bool is_named(const char *word, const char *name)
{
	return strcmp(word, name) == 0 || strcmp(word, "default") == 0;
}

static bool odyssey_lets_in(const struct run *r, const struct fact *f,
    const char *entry, const char *user)
{
	const char *const how = value(&r->cv.in, f->scope, "authentication");
	char name[256], who[256];

	if (strcmp(f->key, "storage") != 0 ||
	    !facts_scope_fits(f->scope, ROUTE) || how == NULL ||
	    strcmp(how, "none") == 0 || strcmp(how, "block") == 0)
		return false;
	facts_word(f->scope, 1, name, sizeof name);
	facts_word(f->scope, 3, who, sizeof who);
	return is_named(name, entry) && is_named(who, user) &&
	    (strcmp(how, "cert") == 0 || (strcmp(who, "default") == 0 ?
	    value(&r->cv.out, OUT_AUTH, user) == NULL :
	    knows(r, f->scope, user))) &&
	    leads_to(r, f->scope, strcmp(name, "default") == 0 ? "*" : entry,
	    "storage_user", "storage_password");
}

static bool is_admin(const struct run *r, const struct fact *f,
    const char *user)
{
	char word[256];

	if (strcmp(f->key, "admin_username") == 0 &&
	    strcmp(f->scope, "general") == 0)
		return strcmp(f->value, user) == 0;
	return strcmp(f->key, "storage") == 0 &&
	    facts_scope_fits(f->scope, ROUTE) && same("local", value(&r->cv.in,
	    scope_of("storage" FACT_SEP, f->value), "type")) &&
	    strcmp(facts_word(f->scope, 3, word, sizeof word), user) == 0;
}

static bool was_let_in(const struct run *r, const char *entry,
    const char *user)
{
	const bool console = strcmp(entry, "pgbouncer") == 0;

	for (size_t i = 0; i < r->cv.in.count; i++) {
		const struct fact *const f = &r->cv.in.at[i];

		if (console ? is_admin(r, f, user) :
		    pgcat_lets_in(r, f, entry, user) ||
		    odyssey_lets_in(r, f, entry, user))
			return true;
	}
	return false;
}

static void check_login(const struct run *r, const struct hba *h,
    const char *entry, const char *user)
{
	struct net_addr a = { .family = NET_UNIX };

	for (int i = 0; i < 2; i++) {
		const struct hba_login l = {
			.addr = &a, .tls = true, .database = entry,
			.user = user, .host_state = HBA_HOST_UNKNOWN,
		};
		const struct hba_rule *const rule = hba_find(h, &l);

		assert(rule == NULL || rule->method == AUTH_REJECT ||
		    ((rule->method == AUTH_SCRAM_SHA_256 ||
		    rule->method == AUTH_MD5 || rule->method == AUTH_PLAIN ||
		    rule->method == AUTH_CERT) && was_let_in(r, entry, user)));
		net_parse_ip("10.0.0.1", 1, &a);
	}
}

/* Each user of the input and a stranger. */
static void check_entry(const struct run *r, const struct hba *h,
    const char *entry)
{
	char who[256];

	check_login(r, h, entry, "a stranger");
	for (size_t i = 0; i < r->cv.in.count; i++) {
		const struct fact *const f = &r->cv.in.at[i];

		if (strcmp(f->key, "username") == 0 ||
		    strcmp(f->key, "admin_username") == 0)
			check_login(r, h, entry, f->value);
		else if (strcmp(f->key, "storage") == 0)
			check_login(r, h, entry, facts_word(f->scope, 3, who,
			    sizeof who));
	}
}

static void check_hba(const struct run *r)
{
	const struct hba_source src = {
		.text = r->hba.text, .len = r->hba.len, .path = "f",
	};
	struct err e;
	struct hba *h = hba_parse(&src, NULL, &e);
	char word[256];

	if (h == NULL)
		fprintf(stderr, "%s\n", e.text);
	assert(h != NULL);
	check_entry(r, h, "pgbouncer");
	check_entry(r, h, "elsewhere");
	for (size_t i = 0; i < r->cv.routes.count; i++)
		check_entry(r, h, r->cv.routes.at[i].key);
	for (size_t i = 0; i < r->cv.in.count; i++)
		check_entry(r, h, facts_word(r->cv.in.at[i].scope, 1, word,
		    sizeof word));
	hba_unref(&h);
}

static void write_and_read(struct run *r)
{
	const struct convert_files to = {
		.ini = open_memstream(&r->ini.text, &r->ini.len),
		.auth = open_memstream(&r->auth.text, &r->auth.len),
		.hba = open_memstream(&r->hba.text, &r->hba.len),
	};

	assert(to.ini != NULL && to.auth != NULL && to.hba != NULL);
	convert_write(&r->cv.out, &to, "/auth", "/hba");
	fclose(to.ini);
	fclose(to.auth);
	fclose(to.hba);
	check_ini(r);
	check_auth(r);
	check_hba(r);
	free(r->ini.text);
	free(r->auth.text);
	free(r->hba.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = { 0 };
	struct run r = { .cv = { .path = "f", .e = &e } };

	/* each login is looked for among all facts */
	if (size > 4096 || memchr(data, '\0', size) != NULL)
		return 0;
	char *const text = strndup((const char *)data, size);

	if (convert_read(&r.cv, text) < 0)
		assert(e.text[0] != '\0');
	else if (r.cv.routes.count > 0)
		write_and_read(&r);
	free(text);
	facts_fini(&r.cv.in);
	facts_fini(&r.cv.out);
	facts_fini(&r.cv.routes);
	facts_fini(&r.cv.remarks);
	return 0;
}
