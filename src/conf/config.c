/* config.c - one whole configuration: share, look up, derive.
 * SPDX-License-Identifier: ISC */
#include "conf/config.h"

#include <errno.h>
#include <string.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/net.h"
#include "base/num.h"
#include "base/osuser.h"
#include "conf/config_parts.h"
#include "conf/config_state.h"
#include "conf/file.h"
#include "conf/hba.h"
#include "conf/hba_source.h"
#include "conf/memory_limit.h"
#include "conf/require.h"
#include "conf/startup_params.h"
#include "conf/userlist.h"

struct config *config_seed(int verbose)
{
	struct config *c = mem_zalloc(sizeof(*c));

	if (c == NULL)
		return NULL;
	c->refs = 1;
	c->is_seed = true;
	c->server_peer = -1;
	c->index = config_index_new();
	if (c->index == NULL || settings_init(&c->set) != 0)
		config_unref(&c);
	else
		c->set.verbose = verbose;
	return c;
}

struct config *config_ref(struct config *c)
{
	c->refs++;
	return c;
}

void config_unref(struct config **cp)
{
	struct config *const c = *cp;

	*cp = NULL;
	if (c == NULL || --c->refs > 0)
		return;

	struct config_index *ix = c->index;
	config_index_unref(&ix);
	userlist_unref(&c->userlist);
	hba_unref(&c->hba);
	settings_fini(&c->set);
	for (size_t i = 0; i < OPTION_COUNT; i++)
		mem_free(c->source[i]);
	mem_free(c->path);
	secret_wipe(&c->mock, sizeof(c->mock));
	mem_free(c);
}

const char *config_source(const struct config *c, size_t i)
{
	return c->source[i] != NULL ? c->source[i] : "default";
}

int config_note_source(struct config *c, size_t i, const char *text)
{
	mem_free(c->source[i]);
	c->source[i] = text == NULL ? NULL : mem_strdup(text);
	return text == NULL || c->source[i] != NULL ? 0 : -1;
}

const struct config_db *config_find_db(const struct config *c,
    const char *name)
{
	const struct config_index *const ix = c->index;

	return config_node_find(ix->dbs, name, strlen(name));
}

const struct config_user *config_find_user(const struct config *c,
    const char *name)
{
	const struct config_index *const ix = c->index;

	return config_node_find(ix->users, name, strlen(name));
}

const struct config_peer *config_find_peer(const struct config *c, int id)
{
	const struct config_index *const ix = c->index;

	return config_node_find(ix->peers, &id, sizeof(id));
}

struct config_db *config_auto_db(const struct config *c, const char *name,
    struct err *e)
{
	if (c->auto_db != NULL)
		return config_db_parse(name, c->auto_db, e);
	err_set(e, ERRCODE_UNDEFINED_DATABASE, "%s", "");
	return NULL;
}

static struct config *copy_all(const struct config *c)
{
	struct config *copy = mem_zalloc(sizeof(*copy));

	if (copy == NULL)
		return NULL;
	copy->refs = 1;
	copy->is_seed = c->is_seed;
	copy->server_peer = c->server_peer;
	copy->index = config_index_ref(c->index);
	copy->dbs = c->dbs;
	copy->users = c->users;
	copy->peers = c->peers;
	copy->auto_db = c->auto_db;
	copy->mock = c->mock;
	copy->http_token = c->http_token;
	if (c->userlist != NULL)
		copy->userlist = userlist_ref(c->userlist);
	if (c->hba != NULL)
		copy->hba = hba_ref(c->hba);
	if (c->path != NULL)
		copy->path = mem_strdup(c->path);
	if ((c->path != NULL && copy->path == NULL) ||
	    settings_copy(&copy->set, &c->set) != 0)
		config_unref(&copy);
	for (size_t i = 0; copy != NULL && i < OPTION_COUNT; i++) {
		if (config_note_source(copy, i, c->source[i]) != 0)
			config_unref(&copy);
	}
	return copy;
}

int config_check_setting(const char *key, const char *value, struct err *e)
{
	unsigned forbidden;

	if (strcmp(key, "console_locked_settings") == 0)
		return option_check_patterns(value, e);
	if (strcmp(key, "server_require_auth") == 0)
		return require_auth_parse(value, &forbidden, e);
	if (strcmp(key, "proxy_trusted_nets") == 0)
		return net_list_check(value, e);
	if (strcmp(key, "memory_limit") == 0)
		return memory_limit_parse(value, &(size_t){ 0 }, e);
	if (strcmp(key, "startup_parameters") == 0)
		return startup_params_check(value, e);
	if (strcmp(key, "worker_cpus") == 0)
		return cpu_list_check(value, e);
	return 0;
}

int config_find_peer_user(struct config *c, struct err *e)
{
	const char *const name = c->set.server_require_peer;
	uid_t uid;

	c->server_peer = -1;
	if (name[0] == '\0')
		return 0;
	if (osuser_find(name, &uid) < 0)
		return errno == ENOMEM ?
		    err_nomem(e) :
		    err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "server_require_peer: there is no user \"%s\"", name);
	c->server_peer = uid;
	return 0;
}

int config_take(struct config *c, const struct config *prev,
    bool (*wanted)(const struct option_row *o))
{
	size_t count;
	const struct option_row *const rows = option_rows(&count);

	for (size_t i = 0; i < count; i++) {
		if (!wanted(&rows[i]))
			continue;
		if (option_copy(&rows[i], &c->set, &prev->set) != 0 ||
		    config_note_source(c, i, prev->source[i]) != 0)
			return -1;
	}
	return 0;
}

int config_complete(struct config *c, struct err *e)
{
	const struct settings *const set = &c->set;

	if (set->client_proxy_protocol != PROXY_OFF &&
	    set->proxy_trusted_nets[0] == '\0')
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "client_proxy_protocol needs proxy_trusted_nets");
	if (clash_check(set, e) < 0)
		return -1;
	return config_find_peer_user(c, e);
}

int config_load_hba(struct config *c, config_report_fn *report, void *arg,
    struct err *e)
{
	const struct hba_source how = {
		.read = file_read, .list = file_list, .report = report,
		.arg = arg,
		.skip_unknown = c->set.auth_hba_unknown == HBA_UNKNOWN_SKIP,
	};

	hba_unref(&c->hba);
	if (c->set.auth_type != AUTH_HBA)
		return 0;
	c->hba = hba_load(c->set.auth_hba_file, c->set.auth_ident_file, &how,
	    e);
	return c->hba != NULL ? 0 : -1;
}

static void on_hba_line(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	if (level > LEVEL_ERROR)
		log_warning("%s", text);
	else
		log_error("%s", text);
}

static bool is_about_hba(const char *key)
{
	static const char *const keys[] = {
		"auth_type", "auth_hba_file", "auth_hba_unknown",
		"auth_ident_file",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (strcmp(keys[i], key) == 0)
			return true;
	}
	return false;
}

int config_unknown_setting(const char *key, struct err *e)
{
	const char *const near = option_nearest(key);

	if (near == NULL)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "unknown parameter: pgbouncer/%s", key);
	return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
	    "unknown parameter: pgbouncer/%s (did you mean \"%s\"?)", key,
	    near);
}

struct config *config_with(const struct config *c, const char *key,
    const char *value, struct err *e)
{
	const struct option_row *const o = option_find(key);
	int rc;

	if (o == NULL) {
		config_unknown_setting(key, e);
		return NULL;
	}

	struct config *copy = copy_all(c);
	if (copy == NULL) {
		err_nomem(e);
		return NULL;
	}
	rc = config_check_setting(key, value, e);
	if (rc == 0)
		rc = option_set(o, &copy->set, value, e);
	if (rc == 0 && o->effect != OPT_START &&
	    config_note_source(copy, option_index(key), "SET") != 0)
		rc = err_nomem(e);
	/* A value for the next start is checked, and then of no effect. */
	if (rc == 0 && o->effect == OPT_START &&
	    option_copy(o, &copy->set, &c->set) != 0)
		rc = err_nomem(e);
	if (rc == 0 && is_about_hba(key))
		rc = config_load_hba(copy, on_hba_line, NULL, e);
	if (rc == 0 && strcmp(key, "server_require_peer") == 0)
		rc = config_find_peer_user(copy, e);
	if (rc == 0 && strncmp(key, "http_listen_", 12) == 0)
		rc = clash_check(&copy->set, e);
	if (rc != 0)
		config_unref(&copy);
	return copy;
}

struct config *config_with_marked(const struct config *c,
    const struct config *from, const bool marked[OPTION_COUNT], struct err *e)
{
	size_t count;
	const struct option_row *const rows = option_rows(&count);
	struct config *copy = copy_all(c);
	bool hba = false;
	int rc = 0;

	for (size_t i = 0; copy != NULL && rc == 0 && i < count; i++) {
		if (!marked[i])
			continue;
		rc = option_copy(&rows[i], &copy->set, &from->set);
		if (rc == 0)
			rc = config_note_source(copy, i, from->source[i]);
		hba = hba || is_about_hba(rows[i].name);
	}
	if (copy == NULL || rc != 0)
		err_nomem(e);
	else if (hba)
		rc = config_load_hba(copy, on_hba_line, NULL, e);
	if (rc == 0 && copy != NULL)
		rc = config_find_peer_user(copy, e);
	if (rc != 0)
		config_unref(&copy);
	return copy;
}

static bool str_equal(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a, b) == 0;
}

struct config_tls config_tls_merge(const struct settings *s,
    const struct config_tls *tls)
{
	struct config_tls all = {
		.sslmode = s->server_tls_sslmode,
		.negotiation = s->server_tls_negotiation,
		.ca_file = s->server_tls_ca_file,
		.crl_file = s->server_tls_crl_file,
		.key_file = s->server_tls_key_file,
		.cert_file = s->server_tls_cert_file,
		.protocols = s->server_tls_protocols,
		.ciphers = s->server_tls_ciphers,
		.tls13_ciphers = s->server_tls13_ciphers,
	};

	if (tls == NULL)
		return all;
	if (tls->sslmode != CONFIG_UNSET)
		all.sslmode = tls->sslmode;
	if (tls->negotiation != CONFIG_UNSET)
		all.negotiation = tls->negotiation;
	if (tls->ca_file != NULL)
		all.ca_file = tls->ca_file;
	if (tls->crl_file != NULL)
		all.crl_file = tls->crl_file;
	/* key and certificate go together: both of a database, or none */
	if (tls->key_file != NULL || tls->cert_file != NULL) {
		all.key_file = tls->key_file;
		all.cert_file = tls->cert_file;
	}
	if (tls->protocols != NULL)
		all.protocols = tls->protocols;
	if (tls->ciphers != NULL)
		all.ciphers = tls->ciphers;
	if (tls->tls13_ciphers != NULL)
		all.tls13_ciphers = tls->tls13_ciphers;
	return all;
}

bool config_tls_recycles(const struct config_tls *a,
    const struct config_tls *b)
{
	return a->sslmode != b->sslmode ||
	    a->negotiation != b->negotiation ||
	    !str_equal(a->ca_file, b->ca_file) ||
	    !str_equal(a->crl_file, b->crl_file) ||
	    !str_equal(a->key_file, b->key_file) ||
	    !str_equal(a->cert_file, b->cert_file) ||
	    !str_equal(a->protocols, b->protocols) ||
	    !str_equal(a->ciphers, b->ciphers);
}

bool config_tls_equal(const struct config_tls *a, const struct config_tls *b)
{
	return !config_tls_recycles(a, b) &&
	    str_equal(a->tls13_ciphers, b->tls13_ciphers);
}

bool config_db_recycles(const struct config_db *a, const struct config_db *b)
{
	return a->port != b->port ||
	    a->load_balance_hosts != b->load_balance_hosts ||
	    a->target_session_attrs != b->target_session_attrs ||
	    !str_equal(a->host, b->host) ||
	    !str_equal(a->dbname, b->dbname) ||
	    !str_equal(a->user, b->user) ||
	    !str_equal(a->auth_query, b->auth_query) ||
	    !str_equal(a->auth_dbname, b->auth_dbname) ||
	    !str_equal(a->connect_query, b->connect_query) ||
	    config_tls_recycles(&a->tls, &b->tls);
}
