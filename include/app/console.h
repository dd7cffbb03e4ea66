/* console.h - one logged-in console: its replies, and what blocks it.
 * SPDX-License-Identifier: ISC */
#ifndef APP_CONSOLE_H
#define APP_CONSOLE_H

#include "app/admin_parse.h"
#include "proto/writer.h"

struct app;
struct client;
struct err;
struct view;

enum console_wait {
	CONSOLE_READY,		/* no command is blocked */
	CONSOLE_PAUSE,		/* until the servers of a paused pool are idle */
	CONSOLE_CLOSE,		/* until no obsolete server is left */
};

struct console {
	struct console *prev, *next;	/* app->consoles */
	struct client *client;		/* borrowed; it owns this */
	struct app *app;		/* borrowed */
	struct writer out;		/* replies that are not sent yet */
	enum console_wait wait;
	char db[64];			/* waits for this one; "" = all */
};

/* Replies are collected; console_send() makes them leave. */
void console_complete(struct console *k, const char *tag);
void console_notice(struct console *k, const char *text, const char *detail);
/* ERROR and ReadyForQuery; logged. */
void console_error(struct console *k, const struct err *e);
/* The same without the plain line in the log. */
void console_refuse(struct console *k, const struct err *e);
/* RowDescription and rows, sent as they come. 0, or -1 with e set. */
int console_show(struct console *k, const struct view *v, struct err *e);
/* May close the client, and with it k. */
void console_send(struct console *k);

enum command_result {
	COMMAND_DONE,		/* CommandComplete with the command's tag */
	COMMAND_FAILED,		/* e says why */
	COMMAND_WAITS,		/* console->wait is set: admin_turn() replies */
	COMMAND_REPLIED,	/* nothing is left to say */
};

/*
 * Run one command; e says "invalid command ..." and is left like that when it
 * is one. May close the client, and with it k.
 */
void console_run(struct console *k, const struct admin_command *cmd,
    struct err *e);

#endif
