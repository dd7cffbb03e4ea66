/* admin_commands.c - what the console can be told to do, one row a command.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "app/app.h"
#include "app/console.h"
#include "app/views.h"
#include "base/err.h"
#include "base/log.h"
#include "base/num.h"
#include "base/text.h"
#include "conf/words.h"
#include "pool/catalog.h"
#include "session/broker.h"
#include "session/client.h"
#include "session/peer.h"

enum arg_rule {
	ARG_NONE,	/* must be absent */
	ARG_OPTIONAL,
	ARG_DATABASE,	/* must be there */
	ARG_WORD,	/* absent, or one of the row's words */
};

struct command {
	const char *name;	/* and tag, as long as tag is NULL */
	const char *tag;
	bool admin;		/* needs admin rights */
	bool logged;		/* "... command issued" */
	enum arg_rule arg;
	const char *const *words;	/* ARG_WORD */
	enum command_result (*run)(struct console *k,
	    const struct admin_command *cmd, struct err *e);
	const char *help;	/* lines of SHOW HELP; NULL = none */
};

static enum command_result failed(int rc)
{
	(void)rc;		/* of err_set() */
	return COMMAND_FAILED;
}

/* --- databases as arguments --- */

/*
 * The database of the argument. verb: what can't be done to the console's own
 * ("pause", NULL = nothing).
 */
static struct database *find_database(struct console *k, const char *name,
    const char *verb, struct err *e)
{
	struct database *const db = catalog_find_database(k->app->catalog,
	    name);

	if (db == NULL) {
		err_set(e, "08P01", "no such database: %s", name);
		return NULL;
	}
	if (db->console && verb != NULL) {
		err_set(e, "08P01", "cannot %s admin db: %s", verb, name);
		return NULL;
	}
	return db;
}

/* The same, but made from the "*" entry when it is not there. */
static struct database *get_database(struct console *k, const char *name,
    const char *verb, struct err *e)
{
	struct catalog *const c = k->app->catalog;

	if (name[0] != '\0' && catalog_find_database(c, name) == NULL)
		catalog_auto_database(c, name, NULL);
	return find_database(k, name, verb, e);
}

static bool is_halted(const struct console *k)
{
	return k->app->catalog->paused || k->app->ss.suspended;
}

static enum command_result wait_for(struct console *k, enum console_wait what,
    const struct database *db)
{
	k->wait = what;
	text_copy(k->db, sizeof k->db, db != NULL ? db->name : "");
	return COMMAND_WAITS;
}

/* (admin-console.md section 4.1) */
static enum command_result cmd_pause(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct database *db;

	if (is_halted(k))
		return failed(err_set(e, "08P01", "already suspended/paused"));
	if (!cmd->has_arg) {
		app_pause(k->app);
		return wait_for(k, CONSOLE_PAUSE, NULL);
	}
	db = get_database(k, cmd->arg, "pause", e);
	if (db == NULL)
		return COMMAND_FAILED;
	db->paused = true;
	broker_pause_changed(&k->app->ss);
	return db->servers == 0 ? COMMAND_DONE :
	    wait_for(k, CONSOLE_PAUSE, db);
}

/* (section 4.2) */
static enum command_result cmd_resume(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct database *db;

	if (!cmd->has_arg) {
		if (k->app->ss.shutdown != SHUTDOWN_NONE)
			return failed(err_set(e, "08P01",
			    "pooler is shutting down"));
		if (!is_halted(k))
			return failed(err_set(e, "08P01",
			    "pooler is not paused/suspended"));
		app_resume(k->app);
		return COMMAND_DONE;
	}
	db = find_database(k, cmd->arg, NULL, e);
	if (db == NULL)
		return COMMAND_FAILED;
	if (!db->paused)
		return failed(err_set(e, "08P01", "database %s is not paused",
		    db->name));
	db->paused = false;
	broker_pause_changed(&k->app->ss);
	return COMMAND_DONE;
}

/* (section 4.3) */
static enum command_result cmd_disable(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct database *const db = get_database(k, cmd->arg, "disable", e);

	if (db == NULL)
		return COMMAND_FAILED;
	db->disabled = true;
	return COMMAND_DONE;
}

static enum command_result cmd_enable(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct database *const db = find_database(k, cmd->arg, "enable", e);

	if (db == NULL)
		return COMMAND_FAILED;
	db->disabled = false;
	return COMMAND_DONE;
}

static void kill_database(struct console *k, struct database *db)
{
	db->paused = true;
	while (db->pools != NULL)
		broker_kill_pool(&k->app->ss, db->pools);
}

/* (section 4.4) */
static enum command_result cmd_kill(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct database *db, *next;

	if (is_halted(k))
		return failed(err_set(e, "08P01", "already suspended/paused"));
	if (cmd->has_arg) {
		db = get_database(k, cmd->arg, "kill", e);
		if (db == NULL)
			return COMMAND_FAILED;
		kill_database(k, db);
		return COMMAND_DONE;
	}
	HASH_ITER(hh, k->app->catalog->databases, db, next) {
		if (!db->console && db->pools != NULL)
			kill_database(k, db);
	}
	return COMMAND_DONE;
}

/* (section 4.6) */
static enum command_result cmd_reconnect(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct database *db, *next;

	if (cmd->has_arg) {
		db = get_database(k, cmd->arg, "reconnect", e);
		if (db == NULL)
			return COMMAND_FAILED;
		broker_reconnect(&k->app->ss, db);
		return COMMAND_DONE;
	}
	HASH_ITER(hh, k->app->catalog->databases, db, next) {
		if (!db->console)
			broker_reconnect(&k->app->ss, db);
	}
	return COMMAND_DONE;
}

/* (section 4.7) */
static enum command_result cmd_wait_close(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	const struct database *db = NULL;

	if (cmd->has_arg) {
		db = get_database(k, cmd->arg, "wait in", e);
		if (db == NULL)
			return COMMAND_FAILED;
	}
	if ((db != NULL ? db->servers : k->app->ss.servers) == 0)
		return COMMAND_DONE;
	return wait_for(k, CONSOLE_CLOSE, db);
}

/* --- clients, settings, the process --- */

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
		return failed(err_set(e, "08P01",
		    "invalid client pointer supplied"));
	struct client *const victim = num_parse_u32(digits, &id) == 0 ?
	    find_client(&k->app->ss, id) : NULL;

	if (victim == NULL)
		return failed(err_set(e, "08P01", "client not found"));
	client_fail(victim, NULL, "admin forced disconnect");
	return COMMAND_DONE;
}

/* (section 4.11) */
static enum command_result cmd_set(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	const struct view *const v = view_find(cmd->arg);
	const struct client *const c = k->client;
	char tag[sizeof "SET =" + sizeof cmd->arg + sizeof cmd->value];
	struct err why;

	if (!cmd->is_set)
		return COMMAND_FAILED;
	if (v != NULL && v->setting) {
		console_notice(k, "SET ignored", NULL);
		return COMMAND_DONE;
	}
	if (!c->admin)
		return failed(err_set(e, "08P01", "admin access needed"));
	if (app_set(k->app, cmd->arg, cmd->value, &why) < 0) {
		log_at(LEVEL_WARNING, &c->who, "SET %s: %s", cmd->arg,
		    why.text);
		return failed(err_set(e, "08P01", "SET failed"));
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
	if (app_reload(k->app, e) == 0)
		return COMMAND_DONE;
	log_error("RELOAD Failed, see logs for more details");
	console_refuse(k, e);
	return COMMAND_REPLIED;
}

/* Indexes are those of enum shutdown_mode. */
static const char *const shutdown_words[] = {
	[SHUTDOWN_NONE] = "",
	[SHUTDOWN_WAIT_FOR_SERVERS] = "WAIT_FOR_SERVERS",
	[SHUTDOWN_WAIT_FOR_CLIENTS] = "WAIT_FOR_CLIENTS",
	NULL,
};

/* (section 4.9) */
static enum command_result cmd_shutdown(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	(void)e;
	if (!cmd->has_arg) {
		app_exit(k->app, 0);
		return COMMAND_REPLIED;
	}
	app_shutdown(k->app,
	    (enum shutdown_mode)words_find(shutdown_words, cmd->arg));
	return COMMAND_DONE;
}

/* --- SHOW --- */

static void send_help(struct console *k);

static enum command_result cmd_show(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	const struct view *const v = view_find(cmd->arg);

	if (text_casecmp(cmd->arg, "HELP") == 0) {
		send_help(k);
		return COMMAND_DONE;
	}
	if (v == NULL)
		return COMMAND_FAILED;
	return console_show(k, v, e) < 0 ? COMMAND_FAILED : COMMAND_DONE;
}

static const struct command commands[] = {
	{ .name = "SHOW", .arg = ARG_OPTIONAL, .run = cmd_show },
	{ .name = "SELECT", .tag = "SHOW", .arg = ARG_OPTIONAL,
	    .run = cmd_show },
	{ .name = "SET", .arg = ARG_OPTIONAL, .run = cmd_set,
	    .help = "SET key = arg" },
	{ .name = "RELOAD", .admin = true, .logged = true, .arg = ARG_NONE,
	    .run = cmd_reload, .help = "RELOAD" },
	{ .name = "PAUSE", .admin = true, .logged = true,
	    .arg = ARG_OPTIONAL, .run = cmd_pause, .help = "PAUSE [<db>]" },
	{ .name = "RESUME", .admin = true, .logged = true,
	    .arg = ARG_OPTIONAL, .run = cmd_resume, .help = "RESUME [<db>]" },
	{ .name = "DISABLE", .admin = true, .logged = true,
	    .arg = ARG_DATABASE, .run = cmd_disable, .help = "DISABLE <db>" },
	{ .name = "ENABLE", .admin = true, .logged = true,
	    .arg = ARG_DATABASE, .run = cmd_enable, .help = "ENABLE <db>" },
	{ .name = "RECONNECT", .admin = true, .logged = true,
	    .arg = ARG_OPTIONAL, .run = cmd_reconnect,
	    .help = "RECONNECT [<db>]" },
	{ .name = "KILL", .admin = true, .logged = true, .arg = ARG_OPTIONAL,
	    .run = cmd_kill, .help = "KILL [<db>]" },
	{ .name = "KILL_CLIENT", .admin = true, .arg = ARG_OPTIONAL,
	    .run = cmd_kill_client, .help = "KILL_CLIENT <client_id>" },
	{ .name = "SHUTDOWN", .admin = true, .logged = true, .arg = ARG_WORD,
	    .words = shutdown_words, .run = cmd_shutdown, .help = "SHUTDOWN\n"
	    "\tSHUTDOWN WAIT_FOR_SERVERS|WAIT_FOR_CLIENTS" },
	{ .name = "WAIT_CLOSE", .admin = true, .logged = true,
	    .arg = ARG_OPTIONAL, .run = cmd_wait_close,
	    .help = "WAIT_CLOSE [<db>]" },
};

#define COMMANDS (sizeof commands / sizeof commands[0])

/* (section 5.2) */
static void send_help(struct console *k)
{
	char buf[2048];
	struct text t;
	const struct view *v;
	int topics = 1;

	text_init(&t, buf, sizeof buf);
	text_add(&t, "\n\tSHOW HELP");
	for (size_t i = 0; (v = view_at(i)) != NULL; i++) {
		if (!v->setting)
			text_addf(&t, "%s%s", topics++ % 6 == 0 ?
			    "\n\tSHOW " : "|", v->topic);
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		if (commands[i].help != NULL)
			text_addf(&t, "\n\t%s", commands[i].help);
	}
	console_notice(k, "Console usage", buf);
}

/* --- running one --- */

static const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		if (text_casecmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

/* What is wrong with it is seen before rights are looked at. */
static bool fits_grammar(const struct command *row,
    const struct admin_command *cmd)
{
	if (row == NULL)
		return false;
	if (!cmd->has_arg)
		return true;
	return row->arg != ARG_NONE && (row->arg != ARG_WORD ||
	    words_find(row->words, cmd->arg) >= 0);
}

/* (logging.md section 8) */
static void log_command(const struct command *row,
    const struct admin_command *cmd)
{
	const char *word = "";

	if (row->arg != ARG_WORD && cmd->has_arg) {
		log_info("%s '%s' command issued", row->name, cmd->arg);
		return;
	}
	if (cmd->has_arg)
		word = row->words[words_find(row->words, cmd->arg)];
	log_info("%s%s%s command issued", row->name, word[0] != '\0' ? " " : "",
	    word);
}

static enum command_result run(struct console *k, const struct command *row,
    const struct admin_command *cmd, struct err *e)
{
	if (!fits_grammar(row, cmd))
		return COMMAND_FAILED;
	if (row->admin && !k->client->admin)
		return failed(err_set(e, "08P01", "admin access needed"));
	if (row->arg == ARG_DATABASE && !cmd->has_arg)
		return failed(err_set(e, "08P01", "a database is required"));
	if (row->logged)
		log_command(row, cmd);
	return row->run(k, cmd, e);
}

void console_run(struct console *k, const struct admin_command *cmd,
    struct err *e)
{
	const struct command *const row = command_find(cmd->verb);
	struct client *const c = k->client;
	const enum command_result result = run(k, row, cmd, e);

	if (c->console == NULL)		/* it killed itself */
		return;
	switch (result) {
	case COMMAND_DONE:
		console_complete(k, row->tag != NULL ? row->tag : row->name);
		break;
	case COMMAND_FAILED:
		console_error(k, e);
		break;
	case COMMAND_WAITS:
	case COMMAND_REPLIED:
		break;
	}
	console_send(k);
}
