/* command_session.c - KILL_CLIENT and others that mean a session by its id.
 * SPDX-License-Identifier: ISC */
#include "app/command.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "app/admin_parse.h"
#include "app/app.h"
#include "app/console.h"
#include "app/views.h"
#include "base/err.h"
#include "base/num.h"
#include "pool/catalog.h"
#include "session/client.h"
#include "session/peer.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct client *find_in_pool(const struct pool *p, uint32_t id)
{
	for (int state = CLIENT_ACTIVE; state < CLIENT_STATES; state++) {
		struct pool_client *pc;

		DL_FOREACH(p->clients[state], pc) {
			if (view_id(client_of(pc)->id) == id)
				return client_of(pc);
		}
	}
	return NULL;
}

/* Among those that SHOW CLIENTS lists. */
static struct client *find_client(const struct sessions *ss, uint32_t id)
{
	struct client *found = NULL;

	for (const struct pool *p = ss->catalog->pools;
	    p != NULL && found == NULL; p = p->hh.next)
		found = find_in_pool(p, id);
	for (const struct peer *p = ss->peers; p != NULL && found == NULL;
	    p = p->hh.next)
		found = find_in_pool(&p->pool, id);
	return found;
}

/* (section 4.5) */
static enum command_result cmd_kill_client(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	char digits[sizeof cmd->arg];
	uint32_t id;

	snprintf(digits, sizeof digits, "%.*s",
	    (int)strspn(cmd->arg, "0123456789"), cmd->arg);
	if (digits[0] == '\0')
		return command_failed(err_set(e, "08P01",
		    "invalid client pointer supplied"));
	struct client *const victim = num_parse_u32(digits, &id) == 0 ?
	    find_client(&k->app->ss, id) : NULL;

	if (victim == NULL)
		return command_failed(err_set(e, "08P01", "client not found"));
	client_fail(victim, NULL, "admin forced disconnect");
	return COMMAND_DONE;
}

struct command_group command_group_sessions(void)
{
	static const struct command commands[] = {
		{ .name = "KILL_CLIENT", .admin = true, .arg = ARG_OPTIONAL,
		    .run = cmd_kill_client,
		    .help = "KILL_CLIENT <client_id>" },
	};

	return (struct command_group){ commands, COUNT(commands) };
}
