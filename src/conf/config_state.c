/* config_state.c - is there any pool that keeps, or sets, a session's state?
 * SPDX-License-Identifier: ISC */
#include "conf/config_state.h"

#include <stddef.h>

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
