/* command_session.c - KILL_CLIENT and others that mean a session by its id.
 * SPDX-License-Identifier: ISC */
#include "console/command.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "base/err.h"
#include "base/num.h"
#include "broker/cancel.h"
#include "console/admin.h"
#include "console/admin_parse.h"
#include "console/console.h"
#include "console/views.h"
#include "login/peer.h"
#include "pool/catalog.h"
#include "session/client.h"
#include "session/server.h"

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

/* Among the clients that SHOW CLIENTS lists. */
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

/* The id of the argument; 0 or -1 with e. what: "client" */
static int parse_id(const struct admin_command *cmd, const char *what,
    uint32_t *id, struct err *e)
{
	char digits[sizeof cmd->arg];

	snprintf(digits, sizeof digits, "%.*s",
	    (int)strspn(cmd->arg, "0123456789"), cmd->arg);
	if (digits[0] == '\0')
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "invalid %s pointer supplied", what);
	/* what is too long for one is nobody's */
	if (num_parse_u32(digits, id) < 0)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION, "%s not found",
		    what);
	return 0;
}

/* The client of the argument; NULL with e. */
static struct client *client_of_arg(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct client *c;
	uint32_t id;

	if (parse_id(cmd, "client", &id, e) < 0)
		return NULL;
	c = NULL;
	for (const struct admin *a = k->admin; a != NULL && c == NULL;
	    a = a->next)
		c = find_client(a->ss, id);
	if (c == NULL)
		err_set(e, ERRCODE_PROTOCOL_VIOLATION, "client not found");
	return c;
}

/* (section 4.5) */
static enum command_result cmd_kill_client(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct client *const victim = client_of_arg(k, cmd, e);

	if (victim == NULL)
		return COMMAND_FAILED;
	client_fail(victim, CLOSE_ADMIN_FORCED_DISCONNECT);
	return COMMAND_DONE;
}

/* As if the client had asked for it itself. */
static enum command_result cmd_cancel_client(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct client *const c = client_of_arg(k, cmd, e);

	if (c == NULL)
		return COMMAND_FAILED;
	if (c->role == c->ss->client_ops.console)
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "client is a console: KILL_CLIENT ends it"));
	return cancel_by_admin(c, e) < 0 ? COMMAND_FAILED : COMMAND_DONE;
}

static struct server *server_in_pool(const struct pool *p, uint32_t id)
{
	for (int state = 0; state < SERVER_GONE; state++) {
		struct pool_server *ps;

		DL_FOREACH(p->servers[state], ps) {
			if (view_id(server_of(ps)->id) == id)
				return server_of(ps);
		}
	}
	return NULL;
}

/* Among the servers that SHOW SERVERS lists. */
static struct server *find_server(const struct sessions *ss, uint32_t id)
{
	struct server *found = NULL;

	for (const struct pool *p = ss->catalog->pools;
	    p != NULL && found == NULL; p = p->hh.next)
		found = server_in_pool(p, id);
	for (const struct peer *p = ss->peers; p != NULL && found == NULL;
	    p = p->hh.next)
		found = server_in_pool(&p->pool, id);
	return found;
}

static enum command_result cmd_kill_server(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct server *victim;
	uint32_t id;

	if (parse_id(cmd, "server", &id, e) < 0)
		return COMMAND_FAILED;
	victim = NULL;
	for (const struct admin *a = k->admin; a != NULL && victim == NULL;
	    a = a->next)
		victim = find_server(a->ss, id);
	if (victim == NULL)
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "server not found"));
	/* the server's client, if there is one, is told the same */
	server_close(victim, CLOSE_ADMIN_FORCED_DISCONNECT);
	return COMMAND_DONE;
}

struct command_group command_group_sessions(void)
{
	static const struct command commands[] = {
		{ .name = "KILL_CLIENT", .admin = true, .arg = ARG_OPTIONAL,
		    .run = cmd_kill_client,
		    .help = "KILL_CLIENT <client_id>" },
		{ .name = "KILL_SERVER", .admin = true, .logged = true,
		    .arg = ARG_OPTIONAL, .run = cmd_kill_server,
		    .help = "KILL_SERVER <server_id>" },
		{ .name = "CANCEL_CLIENT", .admin = true, .logged = true,
		    .arg = ARG_OPTIONAL, .run = cmd_cancel_client,
		    .help = "CANCEL_CLIENT <client_id>" },
	};

	return (struct command_group){ commands, COUNT(commands) };
}
