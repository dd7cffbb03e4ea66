/* config_workers.c - what several workers can't do together yet.
 * SPDX-License-Identifier: ISC */
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "conf/config.h"
#include "conf/config_parts.h"
#include "conf/config_state.h"

static bool is_text(const char *s)
{
	return s != NULL && s[0] != '\0';
}

/* The pool that answers would be another worker's. */
static bool asks_other_database(const struct config *c)
{
	for (const struct config_db *db = c->dbs; db != NULL; db = db->next) {
		if (is_text(db->auth_dbname))
			return true;
	}
	return is_text(c->set.auth_dbname);
}

bool config_keeps_state(const struct config *c)
{
	bool keeps = c->set.session_state != STATE_FORGET;

	for (const struct config_db *db = c->dbs; db != NULL; db = db->next)
		keeps = keeps || db->session_state > STATE_FORGET;
	for (const struct config_user *u = c->users; u != NULL; u = u->next)
		keeps = keeps || u->session_state > STATE_FORGET;
	return keeps;
}

int config_check_workers(const struct config *c, struct err *e)
{
	static const struct {
		bool (*used)(const struct config *c);
		const char *what;
	} rows[] = {
		{ asks_other_database, "auth_dbname" },
	};

	if (c->set.workers <= 1)
		return 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (rows[i].used(c))
			return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
			    "workers = %d can't go with %s yet",
			    c->set.workers, rows[i].what);
	}
	return 0;
}
