/* command.c - the commands of the console, one row each.
 * SPDX-License-Identifier: ISC */
#include "console/command.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "base/err.h"
#include "base/log.h"
#include "base/num.h"
#include "base/text.h"
#include "broker/cancel.h"
#include "conf/persist.h"
#include "conf/words.h"
#include "console/admin.h"
#include "console/admin_parse.h"
#include "console/console.h"
#include "console/handover.h"
#include "console/table.h"
#include "console/views.h"
#include "login/auth_cache.h"
#include "login/peer.h"
#include "pool/catalog.h"
#include "session/client.h"
#include "session/server.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TOPIC_COLUMNS 72	/* of a line of topics in SHOW HELP */

static struct command_group command_group_show(void)
{
	static const struct command commands[] = {
		{ .name = "SHOW", .shows = true, .arg = ARG_OPTIONAL,
		    .help = "SHOW [JSON] <topic> [EXTENDED] [(<column>, ...)]"
		    " [WHERE <column> = <value> [AND ...]]\n"
		    "\t\t[ORDER BY <column> [DESC]] [LIMIT <n>]" },
		{ .name = "SELECT", .shows = true, .arg = ARG_OPTIONAL,
		    .help = "SELECT *|<column>, ... FROM <topic>"
		    " [WHERE ...] [ORDER BY ...] [LIMIT ...]" },
	};

	return (struct command_group){ commands, COUNT(commands) };
}

/* In the order of SHOW HELP. */
static struct command_group (*const groups[])(void) = {
	command_group_show,
	command_group_process,
	command_group_databases,
	command_group_sessions,
};

static const struct command *command_at(size_t i)
{
	for (size_t g = 0; g < COUNT(groups); g++) {
		const struct command_group group = groups[g]();

		if (i < group.count)
			return &group.commands[i];
		i -= group.count;
	}
	return NULL;
}

/* What is wrong with it is seen before rights are looked at. */
static bool fits_grammar(const struct command *row,
    const struct admin_command *cmd)
{
	if (cmd->is_host)
		return row->host;
	if (cmd->is_user || row->arg == ARG_USER)
		return cmd->is_user && row->arg == ARG_USER;
	if (cmd->is_set != (row->arg == ARG_SETTING))
		return false;
	if (!cmd->has_arg)
		return row->arg != ARG_TEXT;
	return row->arg != ARG_NONE && (row->arg != ARG_WORD ||
	    words_find(row->words, cmd->arg) >= 0);
}

const struct command *command_find(const struct admin_command *cmd)
{
	const struct command *row;

	for (size_t i = 0; (row = command_at(i)) != NULL; i++) {
		if (text_casecmp(row->name, cmd->verb) == 0)
			return fits_grammar(row, cmd) ? row : NULL;
	}
	return NULL;
}

void command_near(struct nearest *n)
{
	const struct command *row;

	for (size_t i = 0; (row = command_at(i)) != NULL; i++)
		nearest_offer(n, row->name);
}

/* (spec/logging.md section 8) */
static void log_command(const struct command *row,
    const struct admin_command *cmd)
{
	const char *word = "";

	if (cmd->is_host || cmd->is_user) {
		log_info("%s %s '%s' command issued", row->name,
		    cmd->is_host ? "HOST" : "USER", cmd->value);
		return;
	}
	if (row->arg != ARG_WORD && cmd->has_arg) {
		log_info("%s '%s' command issued", row->name, cmd->arg);
		return;
	}
	if (cmd->has_arg)
		word = row->words[words_find(row->words, cmd->arg)];
	log_info("%s%s%s command issued", row->name, word[0] != '\0' ? " " : "",
	    word);
}

/* The other workers stand still: what is theirs is ours. */
static enum command_result run_in_a_hold(const struct command *row,
    struct console *k, const struct admin_command *cmd, struct err *e)
{
	/* k may end */
	struct admin *const a = k->admin;

	if (a->ops->hold(a->app, e) < 0)
		return COMMAND_FAILED;
	const enum command_result result = row->run(k, cmd, e);

	a->ops->let_go(a->app);
	return result;
}

void command_log_access(struct client *c)
{
	if (c->only_looks && sessions_settings(c->ss)->log_connections)
		log_at(LEVEL_INFO, &c->who,
		    "pgbouncer access from unix socket");
	c->only_looks = false;
}

enum command_result command_run(const struct command *row, struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	const struct admin *const a = k->admin;

	command_log_access(k->client);
	if (row->admin && !k->client->admin)
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "admin access needed"));
	if (row->arg == ARG_DATABASE && !cmd->has_arg)
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "a database is required"));
	if (!row->always && handover_permit(k, e) < 0)
		return COMMAND_FAILED;
	if (row->logged)
		log_command(row, cmd);
	return a->next == NULL ? row->run(k, cmd, e) :
	    run_in_a_hold(row, k, cmd, e);
}

/* (section 5.2) */
void command_help(struct text *out)
{
	const struct command *row;
	const struct view *v;
	size_t line = out->len;

	text_add(out, "\n\tSHOW HELP");
	for (size_t i = 0; (v = view_at(i)) != NULL; i++) {
		if (out->len - line > TOPIC_COLUMNS) {
			line = out->len;
			text_add(out, "\n\tSHOW ");
		} else {
			text_add(out, "|");
		}
		text_add(out, v->topic);
	}
	for (size_t i = 0; (row = command_at(i)) != NULL; i++) {
		if (row->help != NULL)
			text_addf(out, "\n\t%s", row->help);
	}
}


/* SET PERSIST: what is wrong is told, for it may be the disk's fault. */
static enum command_result set_persistent(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	const struct persist_entry entry = { .key = cmd->arg,
		.value = cmd->value, .by = k->client->user->name };

	k->reload = k->admin->ops->persist(k->admin->app, &entry, e);
	if (k->reload == 0)
		return COMMAND_FAILED;
	k->wait = CONSOLE_PERSIST;
	return COMMAND_WAITS;
}

/* Tools know the others as one. */
static const char *set_code(const struct err *why)
{
	static const char *const codes[] = { ERRCODE_OUT_OF_MEMORY,
	    ERRCODE_INSUFFICIENT_PRIVILEGE };

	for (size_t i = 0; i < COUNT(codes); i++) {
		if (strcmp(codes[i], why->code) == 0)
			return codes[i];
	}
	return ERRCODE_PROTOCOL_VIOLATION;
}

/* (section 4.11) */
static enum command_result cmd_set(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	const struct client *const c = k->client;
	char tag[sizeof "SET =" + sizeof cmd->arg + sizeof cmd->value];
	struct err why = { .text = "" };

	if (!c->admin)
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "admin access needed"));
	if (cmd->persist)
		return set_persistent(k, cmd, e);
	if (k->admin->ops->set(k->admin->app, cmd->arg, cmd->value, &why) < 0) {
		log_at(LEVEL_WARNING, &c->who, "SET %s: %s", cmd->arg,
		    why.text);
		return command_failed(err_set(e, set_code(&why),
		    "SET failed%s%s", ERR_DETAIL, why.text));
	}
	if (why.text[0] != '\0')
		console_notice(k, why.text, NULL);
	snprintf(tag, sizeof tag, "SET %s=%s", cmd->arg, cmd->value);
	console_complete(k, tag);
	return COMMAND_REPLIED;
}

/* (section 4.10) */
static enum command_result cmd_reload(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	(void)cmd;
	(void)e;
	k->wait = CONSOLE_RELOAD;
	k->reload = k->admin->ops->reload(k->admin->app);
	return COMMAND_WAITS;
}

/* What auth_query has said of a user, in whatever database. */
static enum command_result cmd_forget(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	(void)e;
	for (struct admin *a = k->admin; a != NULL; a = a->next)
		(void)auth_cache_forget(a->ss->answers, cmd->value);
	return COMMAND_DONE;
}

/* A line of the operator's own, to find the place in the log again. */
static enum command_result cmd_log(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	(void)e;
	log_at(LEVEL_INFO, &k->client->who, "%s", cmd->value);
	return COMMAND_DONE;
}

/* Indexes are those of enum shutdown_mode. */
static const char *const shutdown_words[] = {
	[SHUTDOWN_NONE] = "",
	[SHUTDOWN_WAIT_FOR_SERVERS] = "WAIT_FOR_SERVERS",
	[SHUTDOWN_WAIT_FOR_CLIENTS] = "WAIT_FOR_CLIENTS",
	[SHUTDOWN_DRAIN] = "DRAIN",
	NULL,
};

static enum command_result shut_down_by_drain(struct console *k,
    const char *seconds, struct err *e)
{
	const bool given = seconds[0] != '\0';
	usec_t time;

	if (given && num_parse_usec(seconds, &time) < 0)
		return command_failed(err_set(e,
		    ERRCODE_INVALID_PARAMETER_VALUE,
		    "SHUTDOWN DRAIN takes a number of seconds, 0 or more"));
	k->admin->ops->drain(k->admin->app, given ? &time : NULL);
	return COMMAND_DONE;
}

/* (section 4.9) */
static enum command_result cmd_shutdown(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	if (!cmd->has_arg) {
		k->admin->ops->exit(k->admin->app);
		return COMMAND_REPLIED;
	}
	const enum shutdown_mode mode = (enum shutdown_mode)
	    words_find(shutdown_words, cmd->arg);

	if (mode == SHUTDOWN_DRAIN)
		return shut_down_by_drain(k, cmd->value, e);
	k->admin->ops->shutdown(k->admin->app, mode);
	return COMMAND_DONE;
}

struct command_group command_group_process(void)
{
	static const struct command commands[] = {
		{ .name = "SET", .arg = ARG_SETTING, .run = cmd_set,
		    .help = "SET [PERSIST] key = arg" },
		{ .name = "LOG", .admin = true, .arg = ARG_TEXT,
		    .always = true, .run = cmd_log, .help = "LOG <text>" },
		{ .name = "RELOAD", .admin = true, .logged = true,
		    .arg = ARG_NONE, .run = cmd_reload, .help = "RELOAD" },
		{ .name = "FORGET", .admin = true, .logged = true,
		    .arg = ARG_USER, .run = cmd_forget,
		    .help = "FORGET USER <name>" },
		{ .name = "SHUTDOWN", .admin = true, .logged = true,
		    .arg = ARG_WORD, .words = shutdown_words,
		    .run = cmd_shutdown, .help = "SHUTDOWN\n"
		    "\tSHUTDOWN WAIT_FOR_SERVERS|WAIT_FOR_CLIENTS\n"
		    "\tSHUTDOWN DRAIN [<seconds>]" },
	};

	return (struct command_group){ commands, COUNT(commands) };
}


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
