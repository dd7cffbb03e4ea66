/* login_database.c - the database that a login or its auth_query asks for.
 * SPDX-License-Identifier: ISC */
#include "login/login_database.h"

#include <string.h>

#include "base/err.h"
#include "login/login_guess.h"
#include "login/login_log.h"
#include "pool/catalog.h"
#include "session/client.h"
#include "session/sessions.h"

struct database *login_find_database(struct client *c, const char *name,
    struct err *e)
{
	struct catalog *cat = c->ss->catalog;
	struct database *db = catalog_find_database(cat, name);

	e->code[0] = e->text[0] = '\0';
	if (db != NULL || strlen(name) >= CONFIG_NAME_MAX)
		return db;
	db = catalog_auto_database(cat, name, e);
	if (db != NULL)
		db->tentative = true;
	else if (e->text[0] != '\0')
		login_log(c, LEVEL_WARNING, "%s", e->text);
	if (!err_is_nomem(e))
		e->code[0] = '\0';
	return db;
}

void login_keep_database(const struct client *c, struct database *db)
{
	if (!db->tentative)
		return;
	database_keep(db);
	login_guess_right(c->ss, db);
	log_at(LEVEL_INFO, &c->who, "registered new auto-database: %s",
	    db->name);
}
