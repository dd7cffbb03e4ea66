/* convert_odyssey.c - what odyssey.conf says, in our words.
 * SPDX-License-Identifier: ISC
 *
 * By what Odyssey's documents say of its settings. Where they leave it open what a
 * setting means exactly, it is left out with a remark. */
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "ctl/convert_parts.h"

#define LISTEN "listen"
#define STORAGE "storage" FACT_SEP "*"
#define DATABASE "database" FACT_SEP "*"
#define ROUTE DATABASE FACT_SEP "user" FACT_SEP "*"
#define NO_SECRET "not let in: the user has no password of its own, and no auth_query"
#define NO_THREADS "there is nothing to choose here"

static const struct convert_rule rules[] = {
	{ "", "daemonize", LEFT_OUT, "pgsluice -d goes to the background",
	    NULL },
	{ "", "pid_file", TO_SETTING, "pidfile", NULL },
	{ "", "unix_socket_dir", TO_SETTING, "unix_socket_dir", NULL },
	{ "", "unix_socket_mode", TO_SETTING, "unix_socket_mode", NULL },
	{ "", "log_file", TO_SETTING, "logfile", NULL },
	{ "", "log_to_stdout", LEFT_OUT, "the log goes to stderr, unless a "
	    "setting says otherwise", NULL },
	{ "", "log_format", LEFT_OUT, "log_format is text or json", NULL },
	{ "", "log_syslog", TO_SETTING, "syslog", NULL },
	{ "", "log_syslog_ident", TO_SETTING, "syslog_ident", NULL },
	{ "", "log_syslog_facility", TO_SETTING, "syslog_facility", NULL },
	{ "", "log_debug", LEFT_OUT, "verbose, or pgsluice -v", NULL },
	{ "", "log_session", TO_SETTING, "log_connections", NULL },
	{ "", "log_stats", TO_SETTING, "log_stats", NULL },
	{ "", "stats_interval", TO_SETTING, "stats_period", NULL },
	{ "", "workers", BY_CODE, NULL, NULL },
	{ "", "resolvers", LEFT_OUT, NO_THREADS, NULL },
	{ "", "readahead", LEFT_OUT, NO_THREADS, NULL },
	{ "", "cache_coroutine", LEFT_OUT, NO_THREADS, NULL },
	{ "", "coroutine_stack_size", LEFT_OUT, NO_THREADS, NULL },
	{ "", "keepalive", TO_SETTING, "tcp_keepidle", NULL },
	{ "", "keepalive_keep_interval", TO_SETTING, "tcp_keepintvl", NULL },
	{ "", "keepalive_probes", TO_SETTING, "tcp_keepcnt", NULL },
	{ "", "keepalive_usr_timeout", TO_SETTING, "tcp_user_timeout", NULL },
	{ "", "client_max", TO_SETTING, "max_client_conn", NULL },
	{ "", "server_login_retry", TO_SETTING, "server_login_retry", "ms" },
	{ "", "hba_file", LEFT_OUT, "set auth_type = hba, and auth_hba_file",
	    NULL },
	{ "", "include", LEFT_OUT, "this file is not read", NULL },
	{ LISTEN, "host", TO_SETTING, "listen_addr", NULL },
	{ LISTEN, "port", TO_SETTING, "listen_port", NULL },
	{ LISTEN, "backlog", TO_SETTING, "listen_backlog", NULL },
	{ LISTEN, "client_login_timeout", TO_SETTING, "client_login_timeout",
	    "ms" },
	{ LISTEN, "tls", BY_CODE, NULL, NULL },
	{ LISTEN, "tls_ca_file", TO_SETTING, "client_tls_ca_file", NULL },
	{ LISTEN, "tls_key_file", TO_SETTING, "client_tls_key_file", NULL },
	{ LISTEN, "tls_cert_file", TO_SETTING, "client_tls_cert_file", NULL },
	{ STORAGE, "type", BY_CODE, NULL, NULL },
	{ STORAGE, "host", BY_CODE, NULL, NULL },
	{ STORAGE, "port", BY_CODE, NULL, NULL },
	{ STORAGE, "tls", BY_CODE, NULL, NULL },
	{ STORAGE, "tls_ca_file", BY_CODE, NULL, NULL },
	{ STORAGE, "tls_key_file", BY_CODE, NULL, NULL },
	{ STORAGE, "tls_cert_file", BY_CODE, NULL, NULL },
	{ ROUTE, "authentication", BY_CODE, NULL, NULL },
	{ ROUTE, "password", BY_CODE, NULL, NULL },
	{ ROUTE, "auth_common_name", BY_CODE, NULL, NULL },
	{ ROUTE, "role", BY_CODE, NULL, NULL },
	{ ROUTE, "storage", BY_CODE, NULL, NULL },
	{ ROUTE, "storage_db", TO_ENTRY, "dbname", NULL },
	{ ROUTE, "storage_user", TO_ENTRY, "user", NULL },
	{ ROUTE, "storage_password", TO_ENTRY, "password", NULL },
	{ ROUTE, "auth_query", TO_ENTRY, "auth_query", NULL },
	{ ROUTE, "auth_query_user", TO_ENTRY, "auth_user", NULL },
	{ ROUTE, "auth_query_db", TO_ENTRY, "auth_dbname", NULL },
	{ ROUTE, "pool", TO_ENTRY, "pool_mode", NULL },
	{ ROUTE, "pool_size", TO_LIMIT, "pool_size", NULL },
	{ ROUTE, "min_pool_size", TO_ENTRY, "min_pool_size", NULL },
	{ ROUTE, "pool_timeout", TO_ENTRY, "query_wait_timeout", "ms" },
	{ ROUTE, "pool_ttl", LEFT_OUT, "for all pools there is "
	    "server_idle_timeout", NULL },
	{ ROUTE, "server_lifetime", TO_ENTRY, "server_lifetime", NULL },
	{ ROUTE, "client_max", LEFT_OUT, "max_db_client_connections of the "
	    "database, or max_user_client_connections of the user", NULL },
	{ ROUTE, "pool_discard", LEFT_OUT, "in session pooling "
	    "server_reset_query, in transaction pooling session_state", NULL },
	{ ROUTE, "pool_cancel", LEFT_OUT, "a query whose client has gone is "
	    "cancelled by server_rollback_on_disconnect or ended", NULL },
	{ ROUTE, "pool_rollback", LEFT_OUT,
	    "for all pools there is server_rollback_on_disconnect", NULL },
	{ ROUTE, "pool_reserve_prepared_statement", LEFT_OUT,
	    "max_prepared_statements needs no word", NULL },
	{ ROUTE, "client_fwd_error", LEFT_OUT,
	    "the errors of servers reach clients", NULL },
	{ ROUTE, "application_name_add_host", LEFT_OUT,
	    "for all pools there is application_name_add_host", NULL },
	{ ROUTE, "log_debug", LEFT_OUT, "verbose, or pgsluice -v", NULL },
	{ .scope = NULL },
};

/* verify_full is verify-full here. */
static int say_dashed(struct convert *cv, const char *scope, const char *key,
    const struct fact *f)
{
	char value[64];
	struct fact made = *f;

	if (!text_copy(value, sizeof value, f->value))
		return convert_say(cv, scope, key, f);
	for (char *at = value; *at != '\0'; at++) {
		if (*at == '_')
			*at = '-';
	}
	made.value = value;
	return convert_say(cv, scope, key, &made);
}

/* What a storage says of its server goes to each entry that names it. */
static int use_storage(struct convert *cv, const struct fact *f,
    const char *name)
{
	static const char *const keys[][2] = {
		{ "host", "host" }, { "port", "port" },
		{ "tls", "server_tls_sslmode" },
		{ "tls_ca_file", "server_tls_ca_file" },
		{ "tls_key_file", "server_tls_key_file" },
		{ "tls_cert_file", "server_tls_cert_file" },
	};
	char scope[FACT_SCOPE_MAX], entry[FACT_SCOPE_MAX];
	struct text t;

	text_init(&t, entry, sizeof entry);
	text_addf(&t, OUT_ENTRY "%s", name);
	text_init(&t, scope, sizeof scope);
	text_addf(&t, "storage" FACT_SEP "%s", f->value);
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		const struct fact *const s = facts_get(&cv->in, scope,
		    keys[i][0]);

		if (s == NULL)
			continue;
		if ((strcmp(s->key, "tls") == 0 ? say_dashed(cv, entry,
		    keys[i][1], s) : convert_say(cv, entry, keys[i][1], s)) < 0)
			return -1;
	}
	return 0;
}

static bool is_local(const struct convert *cv, const char *storage)
{
	char scope[FACT_SCOPE_MAX];
	struct text t;

	text_init(&t, scope, sizeof scope);
	text_addf(&t, "storage" FACT_SEP "%s", storage);
	const struct fact *const type = facts_get(&cv->in, scope, "type");

	return type != NULL && strcmp(type->value, "local") == 0;
}

/* Here the certificate must have the name of the user. */
static bool takes_own_certificate(const struct convert *cv,
    const struct fact *route, const char *user)
{
	for (size_t i = 0; i < cv->in.count; i++) {
		const struct fact *const f = &cv->in.at[i];

		if (strcmp(f->key, "auth_common_name") == 0 &&
		    strcmp(f->scope, route->scope) == 0 &&
		    (strcmp(f->value, "default") == 0 ||
		    (user[0] != '\0' && strcmp(f->value, user) == 0)))
			return true;
	}
	return false;
}

/* auth_query of another user of the same entry must not stand in. */
static bool has_secret(const struct convert *cv, const struct fact *route,
    const char *user)
{
	const bool query = facts_get(&cv->in, route->scope,
	    "auth_query") != NULL;
	const bool password = facts_get(&cv->in, route->scope,
	    "password") != NULL;

	return user[0] == '\0' ? query && !password : query || password;
}

/* NULL: it lets in nobody, or without a password, which is up to its owner. */
static const char *find_method(struct convert *cv, const struct fact *route,
    const char *user)
{
	static const struct {
		const char *theirs, *ours;
		bool (*fits)(const struct convert *, const struct fact *,
		    const char *user);
		const char *why;
	} methods[] = {
		{ "clear_text", "password", has_secret, NO_SECRET },
		{ "md5", "md5", has_secret, NO_SECRET },
		{ "scram-sha-256", "scram-sha-256", has_secret, NO_SECRET },
		{ "cert", "cert", takes_own_certificate, "not let in: "
		    "auth_common_name is neither default nor this user" },
	};
	const struct fact *const f = facts_get(&cv->in, route->scope,
	    "authentication");
	const char *why = "not let in: write a rule of auth_hba_file for it";

	for (size_t i = 0; f != NULL &&
	    i < sizeof methods / sizeof methods[0]; i++) {
		if (strcmp(methods[i].theirs, f->value) != 0)
			continue;
		if (methods[i].fits(cv, route, user))
			return methods[i].ours;
		why = methods[i].why;
	}
	convert_remark(cv, f != NULL ? f : route, why);
	return NULL;
}

/* Into the database of this name here; user: "" for all others. */
static int admit(struct convert *cv, const struct fact *f, const char *name,
    const char *user)
{
	static const struct convert_same same = { ROUTE, {
		{ "storage", false }, { "storage_db", false },
		{ "storage_user", false }, { "storage_password", false },
		{ "auth_query", true }, { "auth_query_user", true },
		{ "auth_query_db", true },
	} };
	const struct fact *const password = facts_get(&cv->in, f->scope,
	    "password");
	const bool fits = convert_agrees(cv, f, name, &same);
	const struct convert_rule_line line = {
		.database = strcmp(name, "*") == 0 ? "" : name, .user = user,
		.method = fits ? find_method(cv, f, user) : NULL,
		.password = password != NULL ? password->value : NULL,
	};

	if (convert_admit(cv, f, &line) < 0)
		return -1;
	if (!fits)
		return 0;
	return use_storage(cv, f, name) < 0 ? -1 : convert_route(cv, f, name);
}

/* NULL: none that there is here. */
static const char *find_rights(const struct convert *cv, const struct fact *f)
{
	static const char *const rights[][2] = {
		{ "admin", "admin_users" }, { "stat", "stats_users" },
	};
	const struct fact *const role = facts_get(&cv->in, f->scope, "role");

	for (size_t i = 0; role != NULL &&
	    i < sizeof rights / sizeof rights[0]; i++) {
		if (strcmp(role->value, rights[i][0]) == 0)
			return rights[i][1];
	}
	return NULL;
}

/* A user of the database that is the console. */
static int use_console(struct convert *cv, const struct fact *f,
    const char *user)
{
	const char *const rights = find_rights(cv, f);
	struct fact made = *f;

	convert_remark(cv, f, "the console is the database pgbouncer here");
	if (rights == NULL)
		convert_remark(cv, f, "not let in: the roles admin and stat "
		    "are known");
	if (rights == NULL || user[0] == '\0' || !text_list_has(user, user))
		return 0;
	const struct fact *const password = facts_get(&cv->in, f->scope,
	    "password");

	made.value = (char *)user;
	if (convert_admit(cv, f, &(struct convert_rule_line){ "pgbouncer", user,
	    find_method(cv, f, user),
	    password != NULL ? password->value : NULL }))
		return -1;
	return convert_say(cv, OUT_SETTINGS, rights, &made);
}

static int convert_route_of(struct convert *cv, const struct fact *f)
{
	char name[256], user[256];

	facts_word(f->scope, 1, name, sizeof name);
	facts_word(f->scope, 3, user, sizeof user);
	if (strcmp(user, "default") == 0)
		user[0] = '\0';
	if (is_local(cv, f->value))
		return use_console(cv, f, user);
	if (!convert_is_entry(name)) {
		convert_remark(cv, f, "no entry can have the name of this "
		    "database");
		return 0;
	}
	if (strcmp(name, "default") == 0)
		text_copy(name, sizeof name, "*");
	return admit(cv, f, name, user);
}

static int convert_routes(struct convert *cv)
{
	for (size_t i = 0; i < cv->in.count; i++) {
		const struct fact *const f = &cv->in.at[i];

		if (strcmp(f->key, "storage") == 0 &&
		    facts_scope_fits(f->scope, ROUTE) &&
		    convert_route_of(cv, f) < 0)
			return -1;
	}
	return 0;
}

static int convert_passwords(struct convert *cv)
{
	for (size_t i = 0; i < cv->in.count; i++) {
		const struct fact *const f = &cv->in.at[i];
		char user[256];

		if (strcmp(f->key, "password") != 0 ||
		    !facts_scope_fits(f->scope, ROUTE))
			continue;
		facts_word(f->scope, 3, user, sizeof user);
		if (strcmp(user, "default") == 0)
			convert_remark(cv, f, "one password for all users is "
			    "not had here; see auth_query");
		else if (!convert_is_user(user))
			convert_remark(cv, f, "not let in: no rule has such a "
			    "name");
		else if (convert_say(cv, OUT_AUTH, user, f) < 0)
			return -1;
	}
	return 0;
}

static int convert_general(struct convert *cv)
{
	const struct fact *const tls = facts_get(&cv->in, LISTEN, "tls");
	const struct fact *const workers = facts_get(&cv->in, "", "workers");

	if (tls != NULL &&
	    say_dashed(cv, OUT_SETTINGS, "client_tls_sslmode", tls) < 0)
		return -1;
	if (workers == NULL)
		return 0;
	convert_remark(cv, workers,
	    "one worker serves about what one core can; see workers");
	return 0;
}

int convert_odyssey(struct convert *cv)
{
	if (convert_passwords(cv) < 0 || convert_routes(cv) < 0 ||
	    convert_except_listed(cv) < 0 || convert_general(cv) < 0)
		return -1;
	return convert_by_rules(cv, rules);
}
