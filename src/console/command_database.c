/* command_database.c - PAUSE, RESUME and others that mean a database.
 * SPDX-License-Identifier: ISC */
#include "console/command.h"

#include "base/err.h"
#include "base/text.h"
#include "broker/broker.h"
#include "console/admin.h"
#include "console/admin_parse.h"
#include "console/console.h"
#include "console/handover.h"
#include "pool/catalog.h"
#include "pool/hosts.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The sessions of the worker that has, or would have, the database. */
static struct sessions *command_home(const struct console *k, const char *name)
{
	const struct admin *a = k->admin;
	const unsigned worker = catalog_home(a->ss->catalog, name);

	while (a->ss->worker != worker)
		a = a->next;
	return a->ss;
}

/*
 * The database of the argument. verb: what can't be done to the console's own
 * ("pause", NULL = nothing).
 */
static struct database *command_find_database(struct console *k,
    const char *name, const char *verb, struct err *e)
{
	struct database *const db = catalog_find_database(
	    command_home(k, name)->catalog, name);

	if (db == NULL) {
		err_set(e, ERRCODE_PROTOCOL_VIOLATION, "no such database: %s",
		    name);
		return NULL;
	}
	if (db->console && verb != NULL) {
		err_set(e, ERRCODE_PROTOCOL_VIOLATION, "cannot %s admin db: %s",
		    verb, name);
		return NULL;
	}
	return db;
}

/* The same, but made from the "*" entry when it is not there. */
static struct database *get_database(struct console *k, const char *name,
    const char *verb, struct err *e)
{
	struct catalog *const c = command_home(k, name)->catalog;

	struct database *db = name[0] == '\0' ? NULL :
	    catalog_find_database(c, name);

	if (name[0] != '\0' && db == NULL)
		catalog_auto_database(c, name, NULL);
	else if (db != NULL)
		database_keep(db);
	return command_find_database(k, name, verb, e);
}

/* Of that name at each worker: at home, and where its pools have parts. */
static void each_part(struct console *k, const char *name,
    void (*fn)(struct sessions *ss, struct database *db))
{
	for (struct admin *a = k->admin; a != NULL; a = a->next) {
		struct database *const db = catalog_find_database(
		    a->ss->catalog, name);

		if (db != NULL)
			fn(a->ss, db);
	}
}

static bool is_halted(const struct console *k)
{
	return k->admin->ss->catalog->paused || k->admin->ss->suspended;
}

static enum command_result command_wait_for(struct console *k,
    enum console_wait what, const struct database *db)
{
	k->wait = what;
	text_copy(k->db, sizeof k->db, db != NULL ? db->name : "");
	return COMMAND_WAITS;
}

static void pause_database(struct sessions *ss, struct database *db)
{
	db->paused = true;
	broker_pause_changed(ss);
}

/* Connections of db (NULL: of all), at all workers. */
static unsigned command_count_servers(const struct console *k,
    const struct database *db)
{
	unsigned n = 0;

	for (const struct admin *a = k->admin; a != NULL; a = a->next) {
		const struct database *const here = db == NULL ? NULL :
		    catalog_find_database(a->ss->catalog, db->name);

		n += db == NULL ? a->ss->servers :
		    here != NULL ? here->servers : 0;
	}
	return n;
}

/* (spec/admin-console.md section 4.1) */
static enum command_result cmd_pause(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct database *db;

	if (is_halted(k))
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "already suspended/paused"));
	if (!cmd->has_arg) {
		k->admin->ops->pause(k->admin->app);
		return command_wait_for(k, CONSOLE_PAUSE, NULL);
	}
	db = get_database(k, cmd->arg, "pause", e);
	if (db == NULL)
		return COMMAND_FAILED;
	each_part(k, db->name, pause_database);
	return command_count_servers(k, db) == 0 ? COMMAND_DONE :
	    command_wait_for(k, CONSOLE_PAUSE, db);
}

/* No new connection goes to host, and the connections it has go. */
static enum command_result drain_host(struct console *k, const char *host,
    struct err *e)
{
	for (struct admin *a = k->admin; a != NULL; a = a->next) {
		if (drain_add(a->ss->catalog, host) < 0)
			return command_failed(err_set(e,
			    ERRCODE_LIMIT_EXCEEDED,
			    "too many hosts are being drained"));
		broker_drain_hosts(a->ss);
	}
	return COMMAND_DONE;
}

static void drain_database(struct sessions *ss, struct database *db)
{
	broker_drain(ss, db);
	pause_database(ss, db);
}

/*
 * As PAUSE, but it does not wait: servers go at the end of their transaction
 * (or session, as the pool mode has it), streams of replication at once.
 */
static enum command_result cmd_drain(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	const struct database *db;

	if (cmd->is_host)
		return drain_host(k, cmd->value, e);
	if (is_halted(k))
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "already suspended/paused"));
	if (cmd->has_arg) {
		db = get_database(k, cmd->arg, "drain", e);
		if (db == NULL)
			return COMMAND_FAILED;
		each_part(k, db->name, drain_database);
		return COMMAND_DONE;
	}
	for (struct admin *a = k->admin; a != NULL; a = a->next)
		broker_drain(a->ss, NULL);
	k->admin->ops->pause(k->admin->app);
	return COMMAND_DONE;
}

/* Were there any? host NULL: all. */
static bool remove_drained(struct console *k, const char *host)
{
	bool found = false;

	for (struct admin *a = k->admin; a != NULL; a = a->next)
		found = drain_remove(a->ss->catalog, host) || found;
	return found;
}

static void pause_changed(struct console *k)
{
	for (struct admin *a = k->admin; a != NULL; a = a->next)
		broker_pause_changed(a->ss);
}

static enum command_result resume_host(struct console *k, const char *host,
    struct err *e)
{
	if (!remove_drained(k, host))
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "host %s is not being drained", host));
	pause_changed(k);
	return COMMAND_DONE;
}

static void add_paused(struct text *t, const struct catalog *c)
{
	for (const struct database *db = c->databases; db != NULL;
	    db = db->hh.next) {
		if (db->paused)
			text_addf(t, "%s%s", t->len > 0 ? ", " : "", db->name);
	}
}

/*
 * Nothing stands still as a whole; but the asker may have met a database that
 * does.
 */
static enum command_result nothing_to_resume(const struct console *k,
    struct err *e)
{
	char names[512];
	struct text t;

	text_init(&t, names, sizeof names);
	for (const struct admin *a = k->admin; a != NULL; a = a->next)
		add_paused(&t, a->ss->catalog);
	if (t.len == 0)
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "pooler is not paused/suspended"));
	return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
	    "pooler is not paused/suspended" ERR_DETAIL
	    "Paused or killed by name: %s%s; use RESUME <database> or RESUME ALL.",
	    names,
	    t.cut ? "..." : ""));
}

static enum command_result resume_all(struct console *k, struct err *e)
{
	if (!sessions_may_resume(k->admin->ss))
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "pooler is shutting down"));
	const bool drained = remove_drained(k, NULL);

	if (is_halted(k))
		k->admin->ops->resume(k->admin->app);
	else if (drained)
		pause_changed(k);
	else
		return nothing_to_resume(k, e);
	return COMMAND_DONE;
}

/* Every pause and drain is over, of single databases as well. */
static enum command_result resume_everything(struct console *k, struct err *e)
{
	if (!sessions_may_resume(k->admin->ss))
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "pooler is shutting down"));
	bool found = remove_drained(k, NULL) || is_halted(k);

	for (struct admin *a = k->admin; a != NULL; a = a->next) {
		for (struct database *db = a->ss->catalog->databases;
		    db != NULL; db = db->hh.next) {
			found = found || db->paused;
			db->paused = false;
		}
		broker_retry(a->ss, NULL);
	}
	if (!found)
		return nothing_to_resume(k, e);
	if (is_halted(k))
		k->admin->ops->resume(k->admin->app);
	else
		pause_changed(k);
	return COMMAND_DONE;
}

static void resume_database(struct sessions *ss, struct database *db)
{
	db->paused = false;
	broker_retry(ss, db);
	broker_pause_changed(ss);
}

/* (section 4.2) */
static enum command_result cmd_resume(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct database *db;

	if (cmd->is_host)
		return resume_host(k, cmd->value, e);
	if (!cmd->has_arg)
		return resume_all(k, e);
	/* unless a database is called that */
	if (text_casecmp(cmd->arg, "all") == 0 && catalog_find_database(
	    command_home(k, cmd->arg)->catalog, cmd->arg) == NULL)
		return resume_everything(k, e);
	db = command_find_database(k, cmd->arg, NULL, e);
	if (db == NULL)
		return COMMAND_FAILED;
	if (!db->paused)
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "database %s is not paused", db->name));
	each_part(k, db->name, resume_database);
	return COMMAND_DONE;
}

static void disable_database(struct sessions *ss, struct database *db)
{
	(void)ss;
	db->disabled = true;
}

static void enable_database(struct sessions *ss, struct database *db)
{
	(void)ss;
	db->disabled = false;
}

/* (section 4.3) */
static enum command_result cmd_disable(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct database *const db = get_database(k, cmd->arg, "disable", e);

	if (db == NULL)
		return COMMAND_FAILED;
	each_part(k, db->name, disable_database);
	return COMMAND_DONE;
}

static enum command_result cmd_enable(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct database *const db =
	    command_find_database(k, cmd->arg, "enable", e);

	if (db == NULL)
		return COMMAND_FAILED;
	each_part(k, db->name, enable_database);
	return COMMAND_DONE;
}

static void kill_database(struct sessions *ss, struct database *db)
{
	db->paused = true;
	while (db->pools != NULL)
		broker_kill_pool(ss, db->pools);
}

static void kill_all(struct sessions *ss)
{
	struct database *db, *next;

	HASH_ITER(hh, ss->catalog->databases, db, next) {
		if (!db->console && db->pools != NULL)
			kill_database(ss, db);
	}
}

/* (section 4.4) */
static enum command_result cmd_kill(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct database *db;

	if (is_halted(k))
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "already suspended/paused"));
	if (cmd->has_arg) {
		db = get_database(k, cmd->arg, "kill", e);
		if (db == NULL)
			return COMMAND_FAILED;
		each_part(k, db->name, kill_database);
		return COMMAND_DONE;
	}
	for (struct admin *a = k->admin; a != NULL; a = a->next)
		kill_all(a->ss);
	return COMMAND_DONE;
}

static void reconnect_all(struct sessions *ss)
{
	struct database *db, *next;

	HASH_ITER(hh, ss->catalog->databases, db, next) {
		if (!db->console)
			broker_reconnect(ss, db);
	}
}

/* (section 4.6) */
static enum command_result cmd_reconnect(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	struct database *db;

	if (cmd->has_arg) {
		db = get_database(k, cmd->arg, "reconnect", e);
		if (db == NULL)
			return COMMAND_FAILED;
		each_part(k, db->name, broker_reconnect);
		return COMMAND_DONE;
	}
	for (struct admin *a = k->admin; a != NULL; a = a->next)
		reconnect_all(a->ss);
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
	if (command_count_servers(k, db) == 0)
		return COMMAND_DONE;
	return command_wait_for(k, CONSOLE_CLOSE, db);
}

/* (section 4.8) */
static enum command_result cmd_suspend(struct console *k,
    const struct admin_command *cmd, struct err *e)
{
	(void)cmd;
	if (is_halted(k))
		return command_failed(err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "already suspended/paused"));
	if (k->admin->ops->suspend(k->admin->app, e) < 0)
		return COMMAND_FAILED;
	handover_begin(k);
	return command_wait_for(k, CONSOLE_SUSPEND, NULL);
}

struct command_group command_group_databases(void)
{
	static const struct command commands[] = {
		{ .name = "PAUSE", .admin = true, .logged = true,
		    .arg = ARG_OPTIONAL, .run = cmd_pause,
		    .help = "PAUSE [<db>]" },
		{ .name = "DRAIN", .admin = true, .logged = true,
		    .host = true, .arg = ARG_OPTIONAL, .run = cmd_drain,
		    .help = "DRAIN [<db>]|HOST <host>" },
		{ .name = "RESUME", .admin = true, .logged = true,
		    .host = true, .arg = ARG_OPTIONAL, .always = true,
		    .run = cmd_resume,
		    .help = "RESUME [<db>|ALL]|HOST <host>" },
		{ .name = "SUSPEND", .admin = true, .logged = true,
		    .arg = ARG_NONE, .run = cmd_suspend, .help = "SUSPEND" },
		{ .name = "DISABLE", .admin = true, .logged = true,
		    .arg = ARG_DATABASE, .run = cmd_disable,
		    .help = "DISABLE <db>" },
		{ .name = "ENABLE", .admin = true, .logged = true,
		    .arg = ARG_DATABASE, .run = cmd_enable,
		    .help = "ENABLE <db>" },
		{ .name = "RECONNECT", .admin = true, .logged = true,
		    .arg = ARG_OPTIONAL, .run = cmd_reconnect,
		    .help = "RECONNECT [<db>]" },
		{ .name = "KILL", .admin = true, .logged = true,
		    .arg = ARG_OPTIONAL, .run = cmd_kill,
		    .help = "KILL [<db>]" },
		{ .name = "WAIT_CLOSE", .admin = true, .logged = true,
		    .arg = ARG_OPTIONAL, .run = cmd_wait_close,
		    .help = "WAIT_CLOSE [<db>]" },
	};

	return (struct command_group){ commands, COUNT(commands) };
}
