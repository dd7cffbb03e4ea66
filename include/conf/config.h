/* config.h - one whole, immutable configuration: load, validate, look up.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_CONFIG_H
#define CONF_CONFIG_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/log.h"
#include "conf/file.h"
#include "conf/mock.h"
#include "conf/options.h"
#include "conf/file.h"
#include "conf/secret.h"

struct err;
struct hba;
struct userlist;

#define CONFIG_NAME_MAX 64	/* database name, NUL included */
#define CONFIG_USER_MAX 128	/* user name, NUL included */
#define CONFIG_UNSET (-1)	/* an int or time that was not given */
#define CONFIG_NO_LIMIT INT32_MAX /* given as a negative number */

/* How TLS with the servers of a database differs from the settings. */
struct config_tls {
	int sslmode, negotiation;	/* CONFIG_UNSET: as the setting */
	char *ca_file, *crl_file, *key_file, *cert_file, *protocols, *ciphers,
	    *tls13_ciphers;		/* NULL: as the setting */
};

/* One line of [databases]; defaults not applied: CONFIG_UNSET or NULL. */
struct config_db {
	char *name;
	char *host;		/* NULL = Unix socket; may be a comma list */
	int port;		/* 5432 when not given */
	char *dbname;		/* on the server; never NULL */
	char *user;		/* forced user, NULL = the client's */
	char *password;		/* of the forced user; secret; NULL */
	struct config_secret secret;	/* the same, if it changes */
	char *auth_user, *auth_query, *auth_dbname, *connect_query;
	char *client_encoding, *datestyle, *timezone, *application_name;
	char *startup_parameters;	/* see startup_params.h; NULL */
	int pool_size, min_pool_size, reserve_pool_size, max_pinned;
	int pool_mode, session_state, listen_lost;	/* enums of these, or
							 * CONFIG_UNSET */
	int max_db_connections, max_db_client_connections;
	usec_t server_lifetime, query_wait_timeout, pin_timeout;
	usec_t server_down_timeout;
	int load_balance_hosts, target_session_attrs;	/* enums of these */
	int server_gss;			/* 0, 1, or CONFIG_UNSET */
	struct config_tls tls;
	struct config_db *next;	/* in file order */
};

/* One line of [users]. */
struct config_user {
	char *name;
	int pool_size, reserve_pool_size, pool_mode, session_state, listen_lost;
	int max_user_connections, max_user_client_connections, max_pinned;
	char *startup_parameters;	/* NULL: none */
	usec_t query_timeout, idle_transaction_timeout, transaction_timeout,
	    client_idle_timeout, query_wait_timeout, pin_timeout,
	    server_down_timeout;
	struct config_secret secret;	/* for servers */
	struct config_user *next;	/* in byte order of the names */
};

/* One line of [peers]. */
struct config_peer {
	int id;
	char *host;
	int port, pool_size;	/* 6432, CONFIG_UNSET when not given */
	struct config_peer *next;	/* by id */
};

struct config {
	atomic_uint refs;	/* a thread reads the next one: reload */
	bool is_seed;		/* from config_seed(), not from a file */
	char *path;		/* the main file; NULL in a seed */
	struct settings set;
	char *source[OPTION_COUNT];	/* owned; NULL: the default */
	int64_t server_peer;	/* uid of server_require_peer; -1: any */
	struct config_db *dbs;
	struct config_user *users;
	struct config_peer *peers;
	char *auto_db;		/* text of the "*" entry; NULL = none */
	struct userlist *userlist;	/* a reference; NULL when not loaded */
	struct hba *hba;	/* a reference; NULL: no auth_type=hba, or no file */
	struct mock mock;	/* for users who don't exist */
	struct token http_token;	/* of http_auth_token_file as it was read */
	void *index;		/* private: owns the four above, shared */
};

/*
 * The configuration before the first file is read: defaults and the verbosity
 * of the command line. To be given to the first config_load() as prev; settings
 * that take effect at start only are not taken over.
 * Returns: one reference, or NULL out of memory.
 */
struct config *config_seed(int verbose);

/*
 * Called with each line for the log; text names file and line. A load may
 * succeed in spite of lines: an unreadable auth file, a faulty "*" entry.
 */
typedef void config_report_fn(void *arg, enum log_level level, const char *text);

/*
 * Read path and all that it names, validate it, report every problem. prev (may
 * be NULL) is in force: settings that take effect at start only, or without a
 * default and no longer named, are taken over (spec/settings.md section 2).
 * Returns: one reference, or NULL with the first problem in e.
 */
struct config *config_load(const char *path, const struct config *prev,
    config_report_fn *report, void *arg, struct err *e);

/*
 * Where the value of setting number i comes from: "default", "FILE:LINE",
 * "environment (VARIABLE)", "SET". Borrowed.
 */
const char *config_source(const struct config *c, size_t i);

struct config *config_ref(struct config *c);
/* Drops the reference and sets *c to NULL; secrets are wiped. */
void config_unref(struct config **c);

/* Exact, case-sensitive; NULL when there is none. Owned by c. (db: tests) */
const struct config_db *config_find_db(const struct config *c,
    const char *name);
const struct config_user *config_find_user(const struct config *c,
    const char *name);
const struct config_peer *config_find_peer(const struct config *c, int id);

/*
 * Make the entry for an unknown database from the "*" line.
 * Returns: an entry owned by the caller (config_db_free), or NULL with e set
 *          (no "*" line: e->text is empty).
 */
struct config_db *config_auto_db(const struct config *c, const char *name,
    struct err *e);
void config_db_free(struct config_db *db);

/*
 * A copy of c with one [pgbouncer] setting changed, for the console's SET;
 * the HBA file is read when it is one of its settings.
 * Returns NULL with e set when the key is unknown or the value bad.
 */
struct config *config_with(const struct config *c, const char *key,
    const char *value, struct err *e);

/* The same with all settings of from whose row is marked. */
struct config *config_with_marked(const struct config *c,
    const struct config *from, const bool marked[OPTION_COUNT], struct err *e);

/* The server_tls_* settings, with what tls (may be NULL) says instead. */
struct config_tls config_tls_merge(const struct settings *s,
    const struct config_tls *tls);
/* All but tls13_ciphers, which the reference does not look at. */
bool config_tls_recycles(const struct config_tls *a,
    const struct config_tls *b);
bool config_tls_equal(const struct config_tls *a, const struct config_tls *b);

/* Would b need other server connections than a? (spec/config-files.md section 3) */
bool config_db_recycles(const struct config_db *a, const struct config_db *b);

#endif
