/* command.h - the commands of the console, one row each.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_COMMAND_H
#define CONSOLE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct admin_command;
struct client;
struct console;
struct err;
struct nearest;
struct text;

enum command_arg {
	ARG_NONE,	/* must be absent */
	ARG_OPTIONAL,
	ARG_DATABASE,	/* must be there */
	ARG_TEXT,	/* must be there */
	ARG_SETTING,	/* key = value */
	ARG_USER,	/* USER and a name: must be there */
	ARG_WORD,	/* absent, or one of the row's words */
};

enum command_result {
	COMMAND_DONE,		/* CommandComplete with the command's tag */
	COMMAND_FAILED,		/* e says why */
	COMMAND_WAITS,		/* console->wait is set: admin_turn() replies */
	COMMAND_REPLIED,	/* nothing is left to say */
};

struct command {
	const char *name;	/* and tag */
	bool shows;		/* SHOW and SELECT: no run */
	bool admin;		/* needs admin rights */
	bool logged;		/* "... command issued" */
	bool host;		/* may be given HOST and a name */
	bool always;		/* also while another process takes over */
	enum command_arg arg;
	const char *const *words;	/* ARG_WORD */
	/* May close the client, and with it k. */
	enum command_result (*run)(struct console *k,
	    const struct admin_command *cmd, struct err *e);
	const char *help;	/* lines of SHOW HELP; NULL = none */
};

struct command_group {
	const struct command *commands;
	size_t count;
};

struct command_group command_group_databases(void);	/* command_database.c */
struct command_group command_group_sessions(void);	/* command.c */
struct command_group command_group_process(void);	/* command.c */

/* NULL: no such command, or its argument does not fit the grammar. */
const struct command *command_find(const struct admin_command *cmd);

/* Offer the names of all commands, for "did you mean". */
void command_near(struct nearest *n);

/* Check rights, log, run. */
enum command_result command_run(const struct command *row, struct console *k,
    const struct admin_command *cmd, struct err *e);

/* Logs that c does more than look, once (spec/logging.md). */
void command_log_access(struct client *c);

/* The detail of SHOW HELP. */
void command_help(struct text *out);

/* COMMAND_FAILED, whatever err_set() returned. */
static inline enum command_result command_failed(int rc)
{
	(void)rc;
	return COMMAND_FAILED;
}

#endif
