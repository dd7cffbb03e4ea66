/* command_process.c - SET, RELOAD and others that mean the whole process.
 * SPDX-License-Identifier: ISC */
#include "console/command.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/num.h"
#include "conf/persist.h"
#include "conf/words.h"
#include "console/admin.h"
#include "console/admin_parse.h"
#include "console/console.h"
#include "login/auth_cache.h"
#include "session/client.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

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
