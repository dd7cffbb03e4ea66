/* login_user.c - the user of a login, its room, and its method.
 * SPDX-License-Identifier: ISC */
#include <string.h>
#include <unistd.h>

#include "base/ceiling.h"
#include "base/err.h"
#include "base/text.h"
#include "conf/hba.h"
#include "io/gssenc.h"
#include "io/machine.h"
#include "io/socket.h"
#include "io/tls.h"
#include "login/auth_query.h"
#include "login/login_database.h"
#include "login/login_lobby.h"
#include "login/login_log.h"
#include "login/login_parts.h"
#include "login/login_shape.h"
#include "pool/catalog.h"
#include "pool/credentials.h"
#include "pool/lobby.h"
#include "pool/users.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "session/client.h"
#include "session/sessions.h"

/*
 * Of all workers; but for those that another one will close at once, for
 * consoles, which have a limit of their own, and for connections with a key that
 * a peer may know, which are no clients.
 */
static int count_clients(struct sessions *ss)
{
	/* first, as who goes meanwhile must not be taken off twice */
	const unsigned n = catalog_clients(ss->catalog) -
	    catalog_consoles(ss->catalog);

	return (int)(n - catalog_requests(ss->catalog) -
	    (ss->others == 0 ? 0 : lobby_leaving(&ss->lobby)));
}

int login_claim_room(struct client *c, struct err *e)
{
	const int max = sessions_settings(c->ss)->max_client_conn;

	if (ceiling_level() == CEILING_FULL) {
		c->ss->tally.limits_hit[TALLY_memory_limit][0]++;
		return err_set(e, ERRCODE_OUT_OF_MEMORY,
		    "no more connections allowed (memory_limit)");
	}
	while (!c->has_reserve_fd) {
		if (count_clients(c->ss) <= max)
			return 0;
		if (!login_displace(c))
			break;
	}
	c->ss->tally.limits_hit[TALLY_max_client_conn][0]++;
	return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
	    "no more connections allowed (max_client_conn)");
}

int login_check_room(struct client *c, struct err *e)
{
	return catalog_is_console(c->login->db_name) || c->login->arrived ? 0 :
	    login_claim_room(c, e);
}

static int limit(int own, int global)
{
	return own > 0 ? own : global;
}

/* The limits of u are checked once c is in. */
static void assign_user(struct client *c, struct user *u)
{
	c->user = u;
	u->clients++;
	u->logins++;
}

static void assign_database(struct client *c, struct database *db)
{
	c->db = db;
	database_count_client(db, 1);
	db->logins++;
}

static int login_user_refuse(const struct client *c, enum tally_limit limit,
    struct err *e)
{
	c->ss->tally.limits_hit[limit][0]++;
	return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
	    "client connections exceeded (%s)", tally_limit_name(limit));
}

static int check_limits(struct client *c, struct err *e)
{
	const struct settings *set = sessions_settings(c->ss);
	const struct config_user *own = c->user->conf;

	c->counted = c->admin && user_admit(c->user, 0) &&
	    database_admit(c->db, 0);
	if (c->admin)
		return 0;
	if (!database_admit(c->db, limit(
	    c->db->conf->max_db_client_connections,
	    set->max_db_client_connections)))
		return login_user_refuse(c, TALLY_max_db_client_connections, e);
	c->counted = user_admit(c->user, limit(
	    own != NULL ? own->max_user_client_connections : 0,
	    set->max_user_client_connections));
	if (c->counted)
		return 0;
	database_dismiss(c->db);
	return login_user_refuse(c, TALLY_max_user_client_connections, e);
}

/* Console rights by name (spec/admin-console.md section 1). */
static int find_rights(struct client *c, struct err *e)
{
	const struct settings *set = sessions_settings(c->ss);
	const char *name = c->login->user;

	if (!c->db->console || c->own_user)
		return 0;
	c->admin = text_list_has(set->admin_users, name);
	if (c->admin || set->auth_type == AUTH_ANY ||
	    text_list_has(set->stats_users, name))
		return 0;
	return err_set(e, ERRCODE_INVALID_AUTHORIZATION, "not allowed");
}

/*
 * A client that connected before the shutdown began is waited for; later ones
 * come by Unix sockets, for the console. During a drain TCP is still accepted:
 * where the address is shared, a client that comes by it has come before.
 */
static bool is_too_late(const struct client *c)
{
	const struct sessions *ss = c->ss;

	if (ss->shutdown == SHUTDOWN_NONE || c->db->console)
		return false;
	if (ss->shutdown == SHUTDOWN_DRAIN)
		return departure_is_late(&ss->departure, c->born) &&
		    (c->addr.family == NET_UNIX ||
		    !sessions_settings(ss)->so_reuseport);
	return ss->shutdown != SHUTDOWN_WAIT_FOR_CLIENTS ||
	    (c->addr.family == NET_UNIX && c->born >= ss->shutdown_since);
}

int login_admit(struct client *c, struct err *e)
{
	if (is_too_late(c))
		return err_set(e, c->ss->shutdown == SHUTDOWN_DRAIN ?
		    ERRCODE_CANNOT_CONNECT_NOW : ERRCODE_PROTOCOL_VIOLATION,
		    "pooler is shutting down");
	if (find_rights(c, e) < 0 || check_limits(c, e) < 0)
		return -1;
	if (c->login->query.found != NULL)
		login_shape_learn(c->ss, c->login->query.found->secret);
	return 0;
}

/* User "pgbouncer" over our own Unix socket with our own uid. */
static bool is_own_user(const struct client *c)
{
	uid_t uid;
	pid_t pid;

	return c->addr.family == NET_UNIX &&
	    catalog_is_console(c->login->user) &&
	    socket_peer_cred(c->stream.fd, &uid, &pid) == 0 &&
	    uid == getuid();
}

/* Before any rule is asked. */
static enum auth_type global_method(const struct client *c)
{
	if (c->own_user)
		return AUTH_ANY;
	return (enum auth_type)sessions_settings(c->ss)->auth_type;
}

/* With "any": the forced user; on the console, whoever it says. */
static int find_anybody(struct client *c, struct user **user, struct err *e)
{
	if (c->db == NULL || c->db->conf->user == NULL)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "bouncer config error");
	*user = catalog_get_user(c->ss->catalog, c->db->console ?
	    c->login->user : c->db->conf->user);
	return *user != NULL ? 0 :
	    err_set(e, ERRCODE_OUT_OF_MEMORY, "bouncer resources exhaustion");
}

/* A user of the auth file; *user stays NULL: not known, so far. */
static int find_listed(struct client *c, struct user **user, struct err *e)
{
	if (!users_has_listed(c->ss->catalog, c->login->user))
		return 0;
	*user = catalog_get_user(c->ss->catalog, c->login->user);
	return *user != NULL ? 0 :
	    err_set(e, ERRCODE_OUT_OF_MEMORY, "bouncer resources exhaustion");
}

bool login_is_checked_elsewhere(enum auth_type method)
{
	return method == AUTH_PAM || method == AUTH_LDAP ||
	    method == AUTH_OAUTH;
}

/* By a rule of HBA, or by none. */
static bool is_rejected(enum auth_type type)
{
	return type == AUTH_REJECT || type == AUTH_HBA;
}

static enum login_who await_typed(const struct client *c, struct err *e)
{
	/* spec/authentication.md section 2 */
	if (c->login->method == AUTH_OAUTH || c->db == NULL ||
	    c->db->conf->auth_user == NULL)
		return LOGIN_KNOWN;
	err_set(e, ERRCODE_PROTOCOL_VIOLATION, "bouncer config error");
	return LOGIN_REFUSED;
}

static enum login_who login_user_find_known(struct client *c, struct err *e)
{
	struct user *u = NULL;
	const int rc = global_method(c) == AUTH_ANY ? find_anybody(c, &u, e) :
	    find_listed(c, &u, e);

	if (rc < 0)
		return LOGIN_REFUSED;
	if (u != NULL)
		assign_user(c, u);
	else if (auth_query_is_possible(c))
		return LOGIN_ASK;
	else
		login_log(c, LEVEL_INFO, "no such user: %s", c->login->user);
	return LOGIN_KNOWN;
}

enum login_who login_identify(struct client *c, struct err *e)
{
	struct database *db = login_find_database(c, c->login->db_name, e);

	if (e->code[0] != '\0')
		return LOGIN_REFUSED;
	if (db != NULL)
		assign_database(c, db);
	c->own_user = db != NULL && db->console && is_own_user(c);
	c->admin = c->only_looks = c->own_user;
	return login_find_user(c, e);
}

enum login_who login_find_user(struct client *c, struct err *e)
{
	login_choose_method(c);
	/* whatever the name: nobody is asked, and none is told from others */
	if (is_rejected(c->login->method))
		return LOGIN_KNOWN;
	return login_is_checked_elsewhere(c->login->method) ?
	    await_typed(c, e) : login_user_find_known(c, e);
}

/* A secret that is known already brings what was derived from it. */
static void keep_known_secret(struct client *c)
{
	struct login *l = c->login;
	struct pool *p = c->db == NULL || c->db->conf->user != NULL ? NULL :
	    catalog_find_pool(c->ss->catalog, c->db, c->user);

	if (p == NULL || p->credentials == NULL ||
	    strcmp(p->credentials->secret, l->query.found->secret) != 0)
		return;
	credentials_unref(&l->query.found);
	l->query.found = credentials_ref(p->credentials);
}

int login_adopt(struct client *c, struct err *e)
{
	struct login *l = c->login;

	/* from here on it is that name that counts, for rights and rules too */
	text_copy(l->user, sizeof l->user, l->query.name);
	struct user *u = catalog_get_user(c->ss->catalog, l->user);

	if (u == NULL)
		return err_set(e, ERRCODE_OUT_OF_MEMORY,
		    "bouncer resources exhaustion");
	assign_user(c, u);
	keep_known_secret(c);
	return 0;
}

static int login_user_no_memory(struct err *e)
{
	return err_set(e, ERRCODE_OUT_OF_MEMORY,
	    "bouncer resources exhaustion");
}

/* A reload may have changed everything meanwhile. */
int login_unpack(struct client *c, struct err *e)
{
	struct login *const l = c->login;
	struct reader all, list;

	reader_init(&all, l->query.errand->params.at,
	    l->query.errand->params.len);
	params_list_read(&all, &list);
	if (params_list_load(c->ss->params, list, &c->params) < 0)
		return login_user_no_memory(e);
	struct database *const db = login_find_database(c, l->db_name, e);

	if (e->code[0] != '\0')
		return -1;
	if (db != NULL)
		assign_database(c, db);
	else if (l->query.errand->has_database)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "database removed");
	return 0;
}

int login_adopt_typed(struct client *c, struct credentials *typed,
    struct err *e)
{
	struct user *u = catalog_get_user(c->ss->catalog, c->login->user);

	if (u == NULL)
		return err_set(e, ERRCODE_OUT_OF_MEMORY,
		    "bouncer resources exhaustion");
	/* a newer line of the auth file would take away what is put now */
	(void)user_credentials(c->ss->catalog, u);
	if (typed != NULL)
		user_put_typed(u, typed);
	assign_user(c, u);
	return 0;
}

struct credentials *login_credentials(const struct client *c)
{
	if (c->login->query.found != NULL)
		return c->login->query.found;
	return c->user == NULL ? NULL :
	    user_credentials(c->ss->catalog, c->user);
}

int login_name_length(const struct client *c)
{
	return (int)text_fitting(c->login->db_name, CONFIG_NAME_MAX - 1);
}

void login_log_attempt(const struct client *c)
{
	static const char *const replications[] = {
		[REPLICATION_NONE] = "no",
		[REPLICATION_LOGICAL] = "database",
		[REPLICATION_PHYSICAL] = "yes",
	};
	char tls[TLS_TEXT_MAX];

	tls_describe(&c->stream, tls, sizeof tls);
	/* who looks after the pooler does that all day */
	log_at(c->only_looks ? LEVEL_DEBUG : LEVEL_INFO, &c->who,
	    "login attempt: db=%.*s user=%s tls=%s replication=%s",
	    login_name_length(c), c->login->db_name, c->login->user, tls[0] != '\0' ? tls : "no",
	    replications[c->replication]);
}

/* --- the method --- */

static enum hba_fit login_user_is_near(const struct net_addr *a, bool net)
{
	const int found = interfaces_have(a, net);

	return found < 0 ? HBA_DOUBT : found > 0 ? HBA_FITS : HBA_DIFFERS;
}

struct hba_login login_describe(const struct client *c)
{
	const struct login *const l = c->login;

	return (struct hba_login){
		.addr = &c->addr,
		.tls = tls_state(&c->stream) == TLS_UP,
		.gss = gssenc_state(&c->stream) == GSSENC_UP,
		.physical = c->replication == REPLICATION_PHYSICAL,
		.database = l->db_name,
		.user = l->user,
		.near = login_user_is_near,
		.host_state = l->host_state,
		.host = l->host,
	};
}

static void choose_rule(struct login *l, struct hba *hba,
    const struct hba_login *who)
{
	l->rule = hba_find(hba, who);
	if (l->rule == NULL)
		return;
	/* a reload must not take the rule away from under the exchange */
	l->hba = hba_ref(hba);
	l->method = l->rule->method;
}

/* (spec/authentication.md section 4) */
void login_choose_method(struct client *c)
{
	struct login *l = c->login;
	struct hba *hba = c->ss->catalog->config->hba;
	const struct hba_login who = login_describe(c);

	/*
	 * The rule is chosen again before the exchange: a reload, or a user
	 * that auth_query has found, may have come since.
	 */
	if (l->rule != NULL && l->hba == hba && l->query.found == NULL &&
	    global_method(c) == AUTH_HBA)
		return;
	l->rule = NULL;
	hba_unref(&l->hba);
	l->method = global_method(c);
	if (l->method == AUTH_HBA)
		choose_rule(l, hba, &who);
	/* none of these speaks of a name that auth_query was asked for */
	if (l->lookups > 0 && (l->method == AUTH_ANY ||
	    login_is_checked_elsewhere(l->method)))
		l->method = AUTH_HBA;
}
