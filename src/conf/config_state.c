/* config_state.c - is there any pool with a session_state?
 * SPDX-License-Identifier: ISC */
#include "conf/config_state.h"

#include <stddef.h>

#include "conf/config.h"

bool config_keeps_state(const struct config *c)
{
	bool keeps = c->set.session_state != STATE_FORGET;

	for (const struct config_db *db = c->dbs; db != NULL; db = db->next)
		keeps = keeps || db->session_state > STATE_FORGET;
	for (const struct config_user *u = c->users; u != NULL; u = u->next)
		keeps = keeps || u->session_state > STATE_FORGET;
	return keeps;
}
