/* convert_pgcat.c - what pgcat.toml says, in our words.
 * SPDX-License-Identifier: ISC
 *
 * By what PgCat's documents say of its settings. Where they leave it open what a
 * setting means exactly, it is left out with a remark. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "ctl/convert_parts.h"

#define GENERAL "general"
#define POOL "pools" FACT_SEP "*"
#define USER POOL FACT_SEP "users" FACT_SEP "*"
#define SHARD POOL FACT_SEP "shards" FACT_SEP "*"
#define METHOD "scram-sha-256"
#define NO_ROUTING "no query is read to choose a server: the application takes " \
	"the entry for writing or the one for reading"

static const struct convert_rule rules[] = {
	{ GENERAL, "host", TO_SETTING, "listen_addr", NULL },
	{ GENERAL, "port", TO_SETTING, "listen_port", NULL },
	{ GENERAL, "worker_threads", LEFT_OUT, "one worker serves about what "
	    "one core can; see workers", NULL },
	{ GENERAL, "connect_timeout", TO_SETTING, "server_connect_timeout",
	    "ms" },
	{ GENERAL, "idle_timeout", TO_SETTING, "server_idle_timeout", "ms" },
	{ GENERAL, "server_lifetime", TO_SETTING, "server_lifetime", "ms" },
	{ GENERAL, "idle_client_in_transaction_timeout", TO_SETTING,
	    "idle_transaction_timeout", "ms" },
	{ GENERAL, "healthcheck_delay", TO_SETTING, "server_check_delay",
	    "ms" },
	{ GENERAL, "healthcheck_timeout", LEFT_OUT,
	    "the check has server_connect_timeout", NULL },
	{ GENERAL, "shutdown_timeout", TO_SETTING, "shutdown_drain_timeout",
	    "ms" },
	{ GENERAL, "ban_time", LEFT_OUT,
	    "a server that failed is tried again after server_login_retry",
	    NULL },
	{ GENERAL, "log_client_connections", TO_SETTING, "log_connections",
	    NULL },
	{ GENERAL, "log_client_disconnections", TO_SETTING,
	    "log_disconnections", NULL },
	{ GENERAL, "tls_certificate", TO_SETTING, "client_tls_cert_file",
	    NULL },
	{ GENERAL, "tls_private_key", TO_SETTING, "client_tls_key_file",
	    NULL },
	{ GENERAL, "server_tls", BY_CODE, NULL, NULL },
	{ GENERAL, "verify_server_certificate", BY_CODE, NULL, NULL },
	{ GENERAL, "admin_username", BY_CODE, NULL, NULL },
	{ GENERAL, "admin_password", BY_CODE, NULL, NULL },
	{ GENERAL, "tcp_keepalives_idle", TO_SETTING, "tcp_keepidle", NULL },
	{ GENERAL, "tcp_keepalives_count", TO_SETTING, "tcp_keepcnt", NULL },
	{ GENERAL, "tcp_keepalives_interval", TO_SETTING, "tcp_keepintvl",
	    NULL },
	{ GENERAL, "enable_prometheus_exporter", LEFT_OUT,
	    "metrics are there where http_listen_port is set", NULL },
	{ GENERAL, "prometheus_exporter_port", BY_CODE, NULL, NULL },
	{ GENERAL, "autoreload", LEFT_OUT,
	    "the files are read again by RELOAD", NULL },
	{ POOL, "pool_mode", TO_ENTRY, "pool_mode", NULL },
	{ POOL, "prepared_statements_cache_size", LEFT_OUT,
	    "for all pools there is max_prepared_statements", NULL },
	{ POOL, "load_balancing_mode", LEFT_OUT,
	    "hosts take turns; see load_balance_hosts", NULL },
	{ POOL, "default_role", LEFT_OUT, NO_ROUTING, NULL },
	{ POOL, "query_parser_enabled", LEFT_OUT, NO_ROUTING, NULL },
	{ POOL, "query_parser_read_write_splitting", LEFT_OUT, NO_ROUTING,
	    NULL },
	{ POOL, "primary_reads_enabled", LEFT_OUT, NO_ROUTING, NULL },
	{ POOL, "sharding_function", LEFT_OUT,
	    "the application takes the entry of the shard", NULL },
	{ USER, "username", BY_CODE, NULL, NULL },
	{ USER, "password", BY_CODE, NULL, NULL },
	{ USER, "pool_size", TO_ENTRY, "pool_size", NULL },
	{ USER, "min_pool_size", TO_ENTRY, "min_pool_size", NULL },
	{ USER, "pool_mode", TO_ENTRY, "pool_mode", NULL },
	{ USER, "server_lifetime", TO_ENTRY, "server_lifetime", "ms" },
	{ USER, "server_username", TO_ENTRY, "user", NULL },
	{ USER, "server_password", TO_ENTRY, "password", NULL },
	{ USER, "statement_timeout", BY_CODE, NULL, NULL },
	{ SHARD, "servers", BY_CODE, NULL, NULL },
	{ SHARD, "database", TO_ENTRY, "dbname", NULL },
	{ .scope = NULL },
};

/* --- servers: three facts for each --- */

/* The shards of a pool, and where they are looked at. */
struct shard {
	struct convert *cv;
	const struct fact *first;
	size_t count;			/* of servers */
	char name[FACT_SCOPE_MAX];	/* of the entry */
	char hosts[4096];
	bool primary, replica;
};

static const char *item(const struct shard *s, size_t server, unsigned nth)
{
	return s->first[server * 3 + nth].value;
}

static int list_hosts(struct shard *s)
{
	struct text t;

	text_init(&t, s->hosts, sizeof s->hosts);
	for (size_t i = 0; i < s->count; i++) {
		text_addf(&t, "%s%s", i > 0 ? "," : "", item(s, i, 0));
		s->primary |= strcmp(item(s, i, 2), "primary") == 0;
		s->replica |= strcmp(item(s, i, 2), "replica") == 0;
		if (strcmp(item(s, i, 1), item(s, 0, 1)) != 0)
			convert_remark(s->cv, &s->first[i * 3],
			    "all hosts of an entry have the port of the first");
	}
	return t.cut ? err_set(s->cv->e, ERRCODE_CONFIG_FILE_ERROR,
	    "line %u: too many servers", s->first->line) : 0;
}

/* attrs: NULL for a list that needs none */
static int add_entry(struct shard *s, const char *name, const char *attrs)
{
	struct fact f = { .value = s->hosts, .line = s->first->line };
	char scope[FACT_SCOPE_MAX];
	struct text t;

	text_init(&t, scope, sizeof scope);
	text_addf(&t, OUT_ENTRY "%s", name);
	if (!convert_is_entry(name) ||
	    facts_get(&s->cv->out, scope, "host") != NULL)
		return err_set(s->cv->e, ERRCODE_CONFIG_FILE_ERROR,
		    "line %u: no entry can have the name \"%.200s\", or "
		    "another one has it", f.line, name);
	if (convert_say(s->cv, scope, "host", &f) < 0)
		return -1;
	f.value = (char *)item(s, 0, 1);
	if (convert_say(s->cv, scope, "port", &f) < 0)
		return -1;
	f.value = (char *)attrs;
	if (attrs != NULL &&
	    convert_say(s->cv, scope, "target_session_attrs", &f) < 0)
		return -1;
	return convert_route(s->cv, s->first, name);
}

static bool has_shards(const struct convert *cv, const char *pool)
{
	char name[256], other[256];
	const char *scope = NULL;

	for (size_t i = 0; i < cv->in.count; i++) {
		const struct fact *const f = &cv->in.at[i];

		if (strcmp(f->key, "servers") != 0 ||
		    !facts_scope_fits(f->scope, SHARD) ||
		    strcmp(facts_word(f->scope, 1, name, sizeof name),
		    facts_word(pool, 1, other, sizeof other)) != 0)
			continue;
		if (scope != NULL && strcmp(scope, f->scope) != 0)
			return true;
		scope = f->scope;
	}
	return false;
}

static int convert_shard(struct convert *cv, const struct fact *f, size_t n)
{
	struct shard s = { .cv = cv, .first = f, .count = n / 3 };
	char pool[256], number[256], reading[FACT_SCOPE_MAX + 8];
	struct text t;

	if (n == 0 || n % 3 != 0)
		return err_set(cv->e, ERRCODE_CONFIG_FILE_ERROR,
		    "line %u: servers are not [host, port, role]", f->line);
	facts_word(f->scope, 1, pool, sizeof pool);
	text_init(&t, s.name, sizeof s.name);
	text_add(&t, pool);
	if (has_shards(cv, f->scope)) {
		text_addf(&t, "_%s", facts_word(f->scope, 3, number,
		    sizeof number));
		convert_remark(cv, f, "each shard is an entry of its own");
	}
	if (list_hosts(&s) < 0 ||
	    add_entry(&s, s.name, s.count == 1 ? NULL :
	    s.primary ? "primary" : "prefer-standby") < 0)
		return -1;
	if (!s.primary || !s.replica)
		return 0;
	text_init(&t, reading, sizeof reading);
	text_addf(&t, "%s_ro", s.name);
	return add_entry(&s, reading, "prefer-standby");
}

static int convert_servers(struct convert *cv)
{
	size_t n = 0;

	for (size_t i = 0; i < cv->in.count; i += n > 0 ? n : 1) {
		const struct fact *const f = &cv->in.at[i];

		for (n = 0; i + n < cv->in.count &&
		    strcmp(f[n].key, "servers") == 0 &&
		    strcmp(f[n].scope, f->scope) == 0; n++)
			;
		if (n > 0 && facts_scope_fits(f->scope, SHARD) &&
		    convert_shard(cv, f, n) < 0)
			return -1;
	}
	return 0;
}

/* --- users --- */

/* Of the user whose name stands beside f. */
static int keep_timeout(struct convert *cv, const struct fact *name)
{
	const struct fact *const f = facts_get(&cv->in, name->scope,
	    "statement_timeout");
	char scope[FACT_SCOPE_MAX], value[64];
	struct fact made;
	struct text t;

	if (f == NULL || strcmp(f->value, "0") == 0)
		return 0;
	made = *f;
	text_init(&t, scope, sizeof scope);
	text_addf(&t, OUT_USER "%s", name->value);
	text_init(&t, value, sizeof value);
	text_addf(&t, "%sms", f->value);
	made.value = value;
	return convert_say(cv, scope, "query_timeout", &made);
}

static int keep_password(struct convert *cv, const struct fact *name,
    const char *key)
{
	const struct fact *const f = facts_get(&cv->in, name->scope, key);

	if (f == NULL) {
		convert_remark(cv, name,
		    "no password: add the user to the auth file");
		return 0;
	}
	return convert_say(cv, OUT_AUTH, name->value, f);
}

/* The name is a list here. */
static int keep_admin(struct convert *cv)
{
	const struct fact *const f = facts_get(&cv->in, GENERAL,
	    "admin_username");
	const struct fact *const password = facts_get(&cv->in, GENERAL,
	    "admin_password");

	if (f == NULL)
		return 0;
	if (!text_list_has(f->value, f->value)) {
		convert_remark(cv, f, "not let in: a name with a comma or a "
		    "space cannot be one of admin_users");
		return 0;
	}
	if (keep_password(cv, f, "admin_password") < 0 ||
	    convert_admit(cv, f, &(struct convert_rule_line){ "pgbouncer",
	    f->value, METHOD, password != NULL ? password->value : NULL }) < 0)
		return -1;
	return convert_say(cv, OUT_SETTINGS, "admin_users", f);
}

static int keep_users(struct convert *cv)
{
	for (size_t i = 0; i < cv->in.count; i++) {
		const struct fact *const f = &cv->in.at[i];

		if (strcmp(f->key, "username") != 0 ||
		    !facts_scope_fits(f->scope, USER))
			continue;
		if (keep_password(cv, f, "password") < 0 ||
		    keep_timeout(cv, f) < 0)
			return -1;
	}
	return 0;
}

static int admit_user(struct convert *cv, const struct fact *f,
    const char *entry)
{
	static const struct convert_same same = { USER, {
		{ "server_username", false }, { "server_password", false },
	} };
	const struct fact *const password = facts_get(&cv->in, f->scope,
	    "password");
	const bool fits = convert_agrees(cv, f, entry, &same);

	if (convert_admit(cv, f, &(struct convert_rule_line){ entry, f->value,
	    fits ? METHOD : NULL, password != NULL ? password->value : NULL }))
		return -1;
	return fits ? convert_route(cv, f, entry) : 0;
}

/* users.0 is not below shards.0: its settings are those of the whole pool. */
static int admit_users(struct convert *cv)
{
	const size_t n = cv->routes.count;

	for (size_t i = 0; i < cv->in.count; i++) {
		const struct fact *const f = &cv->in.at[i];
		char pool[256], other[256];

		if (strcmp(f->key, "username") != 0 ||
		    !facts_scope_fits(f->scope, USER))
			continue;
		facts_word(f->scope, 1, pool, sizeof pool);
		for (size_t k = 0; k < n; k++) {
			const struct fact *const r = &cv->routes.at[k];

			if (strcmp(pool, facts_word(r->scope, 1, other,
			    sizeof other)) == 0 &&
			    admit_user(cv, f, r->key) < 0)
				return -1;
		}
	}
	return 0;
}

/* A port that is not used there is not opened here. */
static int convert_exporter(struct convert *cv)
{
	const struct fact *const on = facts_get(&cv->in, GENERAL,
	    "enable_prometheus_exporter");
	const struct fact *const port = facts_get(&cv->in, GENERAL,
	    "prometheus_exporter_port");

	return on == NULL || port == NULL || strcmp(on->value, "true") != 0 ? 0 :
	    convert_say(cv, OUT_SETTINGS, "http_listen_port", port);
}

static int convert_tls(struct convert *cv)
{
	const struct fact *const on = facts_get(&cv->in, GENERAL, "server_tls");
	const struct fact *const verify = facts_get(&cv->in, GENERAL,
	    "verify_server_certificate");
	const struct fact *const cert = facts_get(&cv->in, GENERAL,
	    "tls_certificate");
	struct fact f;

	if (on != NULL && strcmp(on->value, "true") == 0) {
		f = *on;
		f.value = verify != NULL && strcmp(verify->value, "true") == 0 ?
		    "verify-full" : "require";
		if (convert_say(cv, OUT_SETTINGS, "server_tls_sslmode", &f) < 0)
			return -1;
	}
	if (cert == NULL)
		return 0;
	f = *cert;
	f.value = "allow";
	return convert_say(cv, OUT_SETTINGS, "client_tls_sslmode", &f);
}

int convert_pgcat(struct convert *cv)
{
	if (convert_servers(cv) < 0 || keep_admin(cv) < 0 ||
	    keep_users(cv) < 0 || admit_users(cv) < 0 ||
	    convert_tls(cv) < 0 || convert_exporter(cv) < 0)
		return -1;
	return convert_by_rules(cv, rules);
}
