/* config_entry.c - one line of [databases], [users] or [peers].
 * SPDX-License-Identifier: ISC */
#include <stdint.h>
#include <string.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "conf/command_line.h"
#include "conf/config.h"
#include "conf/config_parts.h"
#include "conf/connstr.h"
#include "conf/require.h"
#include "conf/startup_params.h"
#include "conf/words.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define PORT_SERVER 5432
#define PORT_PEER 6432
#define PEER_ID_MAX 65535

struct entry_key {
	const char *name;
	int (*set)(const struct entry_key *k, void *at, const char *value,
	    struct err *e);
	size_t offset;		/* of the field in the entry */
};

/* The keys of one kind of entry. */
struct entry_keys {
	const struct entry_key *keys;
	size_t count;
	const char *unknown;	/* the message, without the key */
};

static int set_str(const struct entry_key *k, void *at, const char *value,
    struct err *e)
{
	char *const copy = mem_strdup(value);

	(void)k;
	if (copy == NULL)
		return err_nomem(e);
	secret_free(*(char **)at);
	*(char **)at = copy;
	return 0;
}

static int set_secret(const struct entry_key *k, void *at, const char *value,
    struct err *e)
{
	char *const copy = secmem_strdup(value);

	(void)k;
	if (copy == NULL)
		return err_nomem(e);
	secmem_free(*(char **)at);
	*(char **)at = copy;
	return 0;
}

static int set_command(const struct entry_key *k, void *at,
    const char *value, struct err *e)
{
	struct command_line line;

	if (command_line_parse(value, &line, e) < 0)
		return err_is_nomem(e) ? -1 : err_prepend(e, "%s: ", k->name);
	command_line_fini(&line);
	return set_str(k, at, value, e);
}

/* A name or a comma list; the reference leaves empty items undefined. */
static int set_host(const struct entry_key *k, void *at, const char *value,
    struct err *e)
{
	const size_t len = strlen(value);

	if (value[0] == ',' || value[len - 1] == ',' ||
	    strstr(value, ",,") != NULL)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "empty entry in host list: %s", value);
	return set_str(k, at, value, e);
}

static int set_user(const struct entry_key *k, void *at, const char *value,
    struct err *e)
{
	if (strlen(value) >= CONFIG_USER_MAX)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "too long user name: %s", value);
	return set_str(k, at, value, e);
}

static int set_startup(const struct entry_key *k, void *at, const char *value,
    struct err *e)
{
	return startup_params_check(value, e) == 0 ? set_str(k, at, value, e) :
	    -1;
}

/* Decimal only, also with leading zeros; too large becomes the largest. */
static int parse_decimal(const char *s, int *out)
{
	const bool negative = *s == '-';
	int64_t v = 0;

	if (*s == '-' || *s == '+')
		s++;
	if (*s == '\0')
		return -1;
	for (; *s >= '0' && *s <= '9'; s++) {
		v = v * 10 + (*s - '0');
		if (v > INT32_MAX)
			v = INT32_MAX;
	}
	if (*s != '\0')
		return -1;
	*out = (int)(negative ? -v : v);
	return 0;
}

static int set_port(const struct entry_key *k, void *at, const char *value,
    struct err *e)
{
	int port;

	(void)k;
	if (parse_decimal(value, &port) != 0 || port < 1 || port > UINT16_MAX)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "invalid port: %s", value);
	*(int *)at = port;
	return 0;
}

/* Negative: not set. */
static int set_int(const struct entry_key *k, void *at, const char *value,
    struct err *e)
{
	int v;

	if (parse_decimal(value, &v) != 0)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "invalid number for %s: %s", k->name, value);
	*(int *)at = v >= 0 ? v : CONFIG_UNSET;
	return 0;
}

/* Negative: there is none, whatever the setting says. */
static int set_limit(const struct entry_key *k, void *at, const char *value,
    struct err *e)
{
	if (set_int(k, at, value, e) != 0)
		return -1;
	if (*(int *)at == CONFIG_UNSET)
		*(int *)at = CONFIG_NO_LIMIT;
	return 0;
}

/* 0 does not override either. */
static int set_positive(const struct entry_key *k, void *at,
    const char *value, struct err *e)
{
	if (set_int(k, at, value, e) != 0)
		return -1;
	if (*(int *)at == 0)
		*(int *)at = CONFIG_UNSET;
	return 0;
}

static int set_time(const struct entry_key *k, void *at, const char *value,
    struct err *e)
{
	usec_t v;
	int seconds;

	if (parse_decimal(value, &seconds) == 0)
		v = seconds >= 0 ? seconds * USEC : CONFIG_UNSET;
	else if (num_parse_usec(value, &v) != 0)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "invalid time for %s: %s", k->name, value);
	*(usec_t *)at = v;
	return 0;
}

static int set_positive_time(const struct entry_key *k, void *at,
    const char *value, struct err *e)
{
	if (set_time(k, at, value, e) != 0)
		return -1;
	if (*(usec_t *)at == 0)
		*(usec_t *)at = CONFIG_UNSET;
	return 0;
}

static int set_mode(const struct entry_key *k, void *at, const char *value,
    struct err *e)
{
	const int mode = words_find(option_find("pool_mode")->words, value);

	(void)k;
	if (mode < 0)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "invalid pool mode: %s", value);
	*(int *)at = mode;
	return 0;
}

static int set_load_balance(const struct entry_key *k, void *at,
    const char *value, struct err *e)
{
	static const char *const words[] = {
		[LB_ROUND_ROBIN] = "round-robin",
		[LB_DISABLE] = "disable",
		NULL
	};
	const int i = words_find(words, value);

	(void)k;
	if (i < 0)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "invalid load_balance_hosts: %s", value);
	*(int *)at = i;
	return 0;
}

static int set_attrs(const struct entry_key *k, void *at, const char *value,
    struct err *e)
{
	const int i = session_attrs_find(value);

	if (i < 0)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "invalid %s: %s", k->name, value);
	*(int *)at = i;
	return 0;
}

/* A word of the setting with the name of the key. */
static int set_word(const struct entry_key *k, void *at, const char *value,
    struct err *e)
{
	const int i = words_find(option_find(k->name)->words, value);

	if (i < 0)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "invalid %s: %s", k->name, value);
	*(int *)at = i;
	return 0;
}

#define DB(field) offsetof(struct config_db, field)
#define USER(field) offsetof(struct config_user, field)
#define PEER(field) offsetof(struct config_peer, field)

static const struct entry_key db_key_rows[] = {
	{ "host", set_host, DB(host) },
	{ "port", set_port, DB(port) },
	{ "dbname", set_str, DB(dbname) },
	{ "user", set_user, DB(user) },
	{ "password", set_secret, DB(password) },
	{ "password_file", set_str, DB(secret.file) },
	{ "password_command", set_command, DB(secret.command) },
	{ "password_ttl", set_positive_time, DB(secret.ttl) },
	{ "auth_user", set_str, DB(auth_user) },
	{ "auth_query", set_str, DB(auth_query) },
	{ "auth_dbname", set_str, DB(auth_dbname) },
	{ "connect_query", set_str, DB(connect_query) },
	{ "client_encoding", set_str, DB(client_encoding) },
	{ "datestyle", set_str, DB(datestyle) },
	{ "timezone", set_str, DB(timezone) },
	{ "application_name", set_str, DB(application_name) },
	{ "startup_parameters", set_startup, DB(startup_parameters) },
	{ "pool_size", set_int, DB(pool_size) },
	{ "min_pool_size", set_int, DB(min_pool_size) },
	{ "reserve_pool_size", set_int, DB(reserve_pool_size) },
	{ "reserve_pool", set_int, DB(reserve_pool_size) },
	{ "pool_mode", set_mode, DB(pool_mode) },
	{ "session_state", set_word, DB(session_state) },
	{ "listen_lost", set_word, DB(listen_lost) },
	{ "max_pinned", set_limit, DB(max_pinned) },
	{ "pin_timeout", set_time, DB(pin_timeout) },
	{ "max_db_connections", set_positive, DB(max_db_connections) },
	{ "max_db_client_connections", set_positive,
	    DB(max_db_client_connections) },
	{ "server_lifetime", set_positive_time, DB(server_lifetime) },
	{ "query_wait_timeout", set_time, DB(query_wait_timeout) },
	{ "server_down_timeout", set_time, DB(server_down_timeout) },
	{ "load_balance_hosts", set_load_balance, DB(load_balance_hosts) },
	{ "target_session_attrs", set_attrs, DB(target_session_attrs) },
	{ "server_gss", set_word, DB(server_gss) },
	{ "server_tls_sslmode", set_word, DB(tls.sslmode) },
	{ "server_tls_negotiation", set_word, DB(tls.negotiation) },
	{ "server_tls_ca_file", set_str, DB(tls.ca_file) },
	{ "server_tls_crl_file", set_str, DB(tls.crl_file) },
	{ "server_tls_key_file", set_str, DB(tls.key_file) },
	{ "server_tls_cert_file", set_str, DB(tls.cert_file) },
	{ "server_tls_protocols", set_str, DB(tls.protocols) },
	{ "server_tls_ciphers", set_str, DB(tls.ciphers) },
	{ "server_tls13_ciphers", set_str, DB(tls.tls13_ciphers) },
};

static const struct entry_key user_key_rows[] = {
	{ "startup_parameters", set_startup, USER(startup_parameters) },
	{ "pool_size", set_int, USER(pool_size) },
	{ "reserve_pool_size", set_int, USER(reserve_pool_size) },
	{ "pool_mode", set_mode, USER(pool_mode) },
	{ "session_state", set_word, USER(session_state) },
	{ "listen_lost", set_word, USER(listen_lost) },
	{ "max_pinned", set_limit, USER(max_pinned) },
	{ "pin_timeout", set_time, USER(pin_timeout) },
	{ "max_user_connections", set_positive, USER(max_user_connections) },
	{ "max_user_client_connections", set_positive,
	    USER(max_user_client_connections) },
	{ "query_timeout", set_positive_time, USER(query_timeout) },
	{ "idle_transaction_timeout", set_positive_time,
	    USER(idle_transaction_timeout) },
	{ "transaction_timeout", set_positive_time,
	    USER(transaction_timeout) },
	{ "client_idle_timeout", set_positive_time,
	    USER(client_idle_timeout) },
	{ "query_wait_timeout", set_time, USER(query_wait_timeout) },
	{ "server_down_timeout", set_time, USER(server_down_timeout) },
	{ "password_file", set_str, USER(secret.file) },
	{ "password_command", set_command, USER(secret.command) },
	{ "password_ttl", set_positive_time, USER(secret.ttl) },
};

static const struct entry_key peer_key_rows[] = {
	{ "host", set_host, PEER(host) },
	{ "port", set_port, PEER(port) },
	{ "pool_size", set_int, PEER(pool_size) },
};

static const struct entry_keys db_keys = {
	db_key_rows, COUNT(db_key_rows), "unrecognized connection parameter"
};
static const struct entry_keys user_keys = {
	user_key_rows, COUNT(user_key_rows), "unrecognized user parameter"
};
static const struct entry_keys peer_keys = {
	peer_key_rows, COUNT(peer_key_rows),
	"unrecognized connection parameter"
};

/* What others call it; NULL: nothing that is known. */
static const char *other_name(const struct entry_keys *known, const char *key)
{
	static const char *const others[][2] = {
		{ "database", "dbname" }, { "db", "dbname" },
		{ "username", "user" }, { "hostname", "host" },
		{ "hostaddr", "host" }, { "sslmode", "server_tls_sslmode" },
	};

	for (size_t i = 0; known == &db_keys && i < COUNT(others); i++) {
		if (strcmp(others[i][0], key) == 0)
			return others[i][1];
	}
	return NULL;
}

static int unknown_key(const struct entry_keys *known, const char *key,
    struct err *e)
{
	struct nearest n;

	nearest_init(&n, key);
	for (size_t i = 0; i < known->count; i++)
		nearest_offer(&n, known->keys[i].name);
	if (other_name(known, key) != NULL)
		n.best = other_name(known, key);
	if (n.best == NULL)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE, "%s: %s",
		    known->unknown, key);
	return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
	    "%s: %s (did you mean \"%s\"?)", known->unknown, key, n.best);
}

static int set_pair(const struct entry_keys *known, void *entry,
    const struct connstr_pair *p, struct err *e)
{
	for (size_t i = 0; i < known->count; i++) {
		const struct entry_key *const k = &known->keys[i];

		if (strcmp(k->name, p->key) == 0)
			return k->set(k, (char *)entry + k->offset, p->value,
			    e);
	}
	return unknown_key(known, p->key, e);
}

/* Every mistake of a line is told, in the order of the line. */
static int add_mistake(struct err *e, const struct err *why)
{
	return e->text[0] == '\0' ? err_set(e, why->code, "%s", why->text) :
	    err_set(e, why->code, "%s; %s", e->text, why->text);
}

static int set_all(const struct entry_keys *known, void *entry,
    const char *text, struct err *e)
{
	/* Wiped whole: the parser writes NULs into it. */
	const size_t size = strlen(text) + 1;
	char *const copy = mem_dup(text, size);
	struct connstr c;
	struct connstr_pair p;
	enum connstr_step step;
	struct err all = { .text = "" }, why;
	int rc = 0;

	if (copy == NULL)
		return err_nomem(e);
	connstr_init(&c, copy);
	while (!err_is_nomem(&all) &&
	    (step = connstr_next(&c, &p, &why)) != CONNSTR_END) {
		if (step == CONNSTR_BAD ||
		    set_pair(known, entry, &p, &why) != 0)
			rc = add_mistake(&all, &why);
	}
	if (rc != 0)
		(void)err_set(e, all.code, "%s", all.text);
	secret_wipe(copy, size);
	mem_free(copy);
	return rc;
}

/* Which of two would count is nothing to guess at. */
static int check_secret(const char *password, const struct config_secret *s,
    struct err *e)
{
	const int given = (password != NULL) + (s->file != NULL) +
	    (s->command != NULL);

	return given <= 1 ? 0 : err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
	    "only one of password, password_file and password_command may be "
	    "given");
}

/* One file has the password of one user. */
static int check_db_secret(const struct config_db *db, struct err *e)
{
	if (db->secret.file != NULL && db->user == NULL)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "password_file needs user");
	return check_secret(db->password, &db->secret, e);
}

static int fill_db(struct config_db *db, const char *name, const char *text,
    struct err *e)
{
	db->name = mem_strdup(name);
	if (db->name == NULL)
		return err_nomem(e);
	if (set_all(&db_keys, db, text, e) != 0 || check_db_secret(db, e) != 0)
		return -1;
	if (db->dbname == NULL)
		db->dbname = mem_strdup(name);
	if (db->dbname == NULL)
		return err_nomem(e);
	return 0;
}

struct config_db *config_db_parse(const char *name, const char *text,
    struct err *e)
{
	if (strcmp(name, CONFIG_RESERVED_DB) == 0) {
		err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "database name \"%s\" is reserved", name);
		return NULL;
	}
	if (strlen(name) >= CONFIG_NAME_MAX) {
		err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "too long db name: %s", name);
		return NULL;
	}

	struct config_db *const db = mem_alloc(sizeof(*db));
	if (db == NULL) {
		err_nomem(e);
		return NULL;
	}
	*db = (struct config_db){
		.port = PORT_SERVER,
		.pool_size = CONFIG_UNSET,
		.min_pool_size = CONFIG_UNSET,
		.reserve_pool_size = CONFIG_UNSET,
		.pool_mode = CONFIG_UNSET,
		.session_state = CONFIG_UNSET,
		.server_gss = CONFIG_UNSET,
		.listen_lost = CONFIG_UNSET,
		.max_pinned = CONFIG_UNSET,
		.pin_timeout = CONFIG_UNSET,
		.max_db_connections = CONFIG_UNSET,
		.max_db_client_connections = CONFIG_UNSET,
		.server_lifetime = CONFIG_UNSET,
		.query_wait_timeout = CONFIG_UNSET,
		.server_down_timeout = CONFIG_UNSET,
		.load_balance_hosts = LB_ROUND_ROBIN,
		.secret = { .ttl = CONFIG_UNSET },
		.tls = { .sslmode = CONFIG_UNSET, .negotiation = CONFIG_UNSET },
	};
	if (fill_db(db, name, text, e) == 0)
		return db;
	config_db_free(db);
	return NULL;
}

static void free_strings(const struct entry_keys *known, void *entry)
{
	for (size_t i = 0; i < known->count; i++) {
		const struct entry_key *const k = &known->keys[i];

		if (k->set == set_str || k->set == set_host ||
		    k->set == set_user || k->set == set_command ||
		    k->set == set_startup)
			secret_free(*(char **)((char *)entry + k->offset));
	}
}

void config_db_free(struct config_db *db)
{
	if (db == NULL)
		return;
	free_strings(&db_keys, db);
	secmem_free(db->password);
	mem_free(db->name);
	mem_free(db);
}

struct config_user *config_user_parse(const char *name, const char *text,
    struct err *e)
{
	if (strlen(name) >= CONFIG_USER_MAX) {
		err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "too long user name: %s", name);
		return NULL;
	}

	struct config_user *const u = mem_alloc(sizeof(*u));
	if (u == NULL) {
		err_nomem(e);
		return NULL;
	}
	*u = (struct config_user){
		.name = mem_strdup(name),
		.pool_size = CONFIG_UNSET,
		.reserve_pool_size = CONFIG_UNSET,
		.pool_mode = CONFIG_UNSET,
		.session_state = CONFIG_UNSET,
		.listen_lost = CONFIG_UNSET,
		.max_pinned = CONFIG_UNSET,
		.pin_timeout = CONFIG_UNSET,
		.max_user_connections = CONFIG_UNSET,
		.max_user_client_connections = CONFIG_UNSET,
		.query_timeout = CONFIG_UNSET,
		.idle_transaction_timeout = CONFIG_UNSET,
		.transaction_timeout = CONFIG_UNSET,
		.client_idle_timeout = CONFIG_UNSET,
		.query_wait_timeout = CONFIG_UNSET,
		.server_down_timeout = CONFIG_UNSET,
		.secret = { .ttl = CONFIG_UNSET },
	};
	if (u->name == NULL)
		err_nomem(e);
	else if (set_all(&user_keys, u, text, e) == 0 &&
	    check_secret(NULL, &u->secret, e) == 0)
		return u;
	config_user_free(u);
	return NULL;
}

void config_user_free(struct config_user *u)
{
	if (u == NULL)
		return;
	free_strings(&user_keys, u);
	mem_free(u->name);
	mem_free(u);
}

struct config_peer *config_peer_parse(const char *id, const char *text,
    struct err *e)
{
	int number;

	if (parse_decimal(id, &number) != 0 || number < 1 ||
	    number > PEER_ID_MAX) {
		err_set(e, ERRCODE_INVALID_PARAMETER_VALUE, "ids of peers must "
		    "be a number larger than 0 and at most 65536");
		return NULL;
	}

	struct config_peer *const p = mem_alloc(sizeof(*p));
	if (p == NULL) {
		err_nomem(e);
		return NULL;
	}
	*p = (struct config_peer){
		.id = number,
		.port = PORT_PEER,
		.pool_size = CONFIG_UNSET,
	};
	if (set_all(&peer_keys, p, text, e) == 0) {
		if (p->host != NULL)
			return p;
		err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "host was not provided for peer %d", p->id);
	}
	config_peer_free(p);
	return NULL;
}

void config_peer_free(struct config_peer *p)
{
	if (p == NULL)
		return;
	mem_free(p->host);
	mem_free(p);
}
