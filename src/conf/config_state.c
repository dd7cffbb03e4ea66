/* config_state.c - questions about a whole configuration: state, listeners.
 * SPDX-License-Identifier: ISC */
#include "conf/config_state.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/net.h"
#include "conf/config.h"
#include "conf/userlist.h"

bool config_keeps_state(const struct config *c)
{
	bool keeps = c->set.session_state != STATE_FORGET ||
	    c->set.pool_mode == POOL_SESSION;

	for (const struct config_db *db = c->dbs; db != NULL; db = db->next)
		keeps = keeps || db->session_state > STATE_FORGET ||
		    db->pool_mode == POOL_SESSION;
	for (const struct config_user *u = c->users; u != NULL; u = u->next)
		keeps = keeps || u->session_state > STATE_FORGET ||
		    u->pool_mode == POOL_SESSION;
	return keeps;
}

static int is_for_scram(const char *name, const char *secret, void *arg)
{
	const enum secret_kind kind = secret_kind(secret);

	(void)name;
	(void)arg;
	return kind == SECRET_PLAIN || kind == SECRET_SCRAM;
}

static bool is_by_password(enum auth_type type)
{
	return type == AUTH_PLAIN || type == AUTH_MD5 ||
	    type == AUTH_SCRAM_SHA_256;
}

static bool has_auth_user(const struct config *c)
{
	const struct config_db *db = c->dbs;

	while (db != NULL && db->auth_user == NULL)
		db = db->next;
	return db != NULL ||
	    (c->set.auth_user != NULL && c->set.auth_user[0] != '\0');
}

const char *config_nobody(const struct config *c)
{
	const enum auth_type type = (enum auth_type)c->set.auth_type;
	const struct userlist *const u = c->userlist;

	if (!is_by_password(type) || has_auth_user(c))
		return NULL;
	if (u == NULL || userlist_count(u) == 0)
		return "auth_file has no users, and auth_user is not set";
	return type == AUTH_SCRAM_SHA_256 &&
	    userlist_each(u, is_for_scram, NULL) == 0 ?
	    "auth_type is scram-sha-256, and no secret in auth_file is for it" :
	    NULL;
}

#define NAME_BYTES 256

/* The next item of a list, cut to size; NULL: there is none. */
static const char *config_state_next_item(const char *list,
    char item[NAME_BYTES])
{
	list += strspn(list, ", \t");
	const size_t n = strcspn(list, ", \t");
	const size_t len = n < NAME_BYTES ? n : NAME_BYTES - 1;

	memcpy(item, list, len);
	item[len] = '\0';
	return n > 0 ? list + n : NULL;
}

static bool config_state_is_any(const struct net_addr *a)
{
	static const uint8_t none[sizeof a->ip];

	return memcmp(a->ip, none, sizeof none) == 0;
}

/* Of a name only the one is known that each machine has for itself. */
static int config_state_parse(const char *item, struct net_addr *a)
{
	return net_parse_ip(strcasecmp(item, "localhost") == 0 ? "127.0.0.1" :
	    item, 0, a);
}

static bool meet(const char *item, const char *other)
{
	struct net_addr a, b;

	if (strcmp(item, "*") == 0 || strcmp(other, "*") == 0)
		return true;
	return config_state_parse(item, &a) == 0 &&
	    config_state_parse(other, &b) == 0 && a.family == b.family &&
	    (config_state_is_any(&a) || config_state_is_any(&b) ||
		net_equal(&a, &b));
}

int clash_check(const struct settings *set, struct err *e)
{
	char item[NAME_BYTES], other[NAME_BYTES];
	const char *at = set->listen_addr;

	if (set->http_listen_port == 0 ||
	    set->http_listen_port != set->listen_port)
		return 0;
	while ((at = config_state_next_item(at, item)) != NULL) {
		const char *http = set->http_listen_addr;

		while ((http = config_state_next_item(http, other)) != NULL)
			if (meet(item, other))
				return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
				    "http_listen_port %d at %s is where "
				    "clients connect to (listen_port, "
				    "listen_addr %s)", set->http_listen_port,
				    other, item);
	}
	return 0;
}
