/* console.h - one console that has logged in: its replies, and what blocks it.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_CONSOLE_H
#define CONSOLE_CONSOLE_H

#include "console/table.h"
#include "proto/msg.h"

struct admin;
struct admin_command;
struct asker;
struct client;
struct console_portal;
struct console_prepared;
struct console_show;
struct err;
struct reader;
struct statement;

enum console_wait {
	CONSOLE_READY,		/* no command is blocked */
	CONSOLE_PAUSE,		/* until the servers of a paused pool are idle */
	CONSOLE_CLOSE,		/* until no obsolete server is left */
	CONSOLE_SUSPEND,	/* until nothing moves */
	CONSOLE_RELOAD,		/* until a new configuration is in force */
	CONSOLE_PERSIST,	/* until a value has been tried and written */
	CONSOLE_SHOW,		/* until all rows have been written */
};

struct console {
	struct console *prev, *next;	/* admin->consoles */
	struct client *client;		/* borrowed; it owns this */
	struct admin *admin;		/* borrowed */
	struct writer out;		/* replies that are not sent yet */
	enum console_wait wait;
	char db[64];			/* waits for this one; "" = all */
	unsigned reload;		/* ... or for this one, or that SET */
	struct console_show *show;	/* owned; CONSOLE_SHOW, else NULL */
	bool more;	/* another statement of the same Query follows */
	bool extended;	/* what runs is an Execute: Sync says "ready" */
	bool counted;	/* in the statistics */
	bool skipping;	/* after an error in the extended protocol, to Sync */
	struct console_prepared *prepared;	/* uthash by name */
	struct console_portal *portals;		/* uthash by name */
};

/* --- replies (console.c): collected; console_send() makes them leave --- */

void console_complete(struct console *k, const char *tag);
/* There was no command. */
void console_nothing(struct console *k);
void console_notice(struct console *k, const char *text, const char *detail);
/* ERROR, and ReadyForQuery unless Sync is to bring it; logged. */
void console_error(struct console *k, const struct err *e);
/* The same without the plain line in the log. */
void console_refuse(struct console *k, const struct err *e);
/* A message without a body. */
void console_signal(struct console *k, char type);
/* May close the client, and with it k. */
void console_send(struct console *k);
/* What blocked it is over: the same, and what came meanwhile is looked at. */
void console_go_on(struct console *k);

/* Rows that go in here are sent, as they come. */
struct console_sink {
	struct row_sink sink;
	struct console *console;
	const struct shape *shape;
	bool failed;
};
void console_sink_init(struct console_sink *to, struct console *k,
    const struct shape *s);

/* The user of the console, for queries whose answer depends on it. */
struct asker console_asker(const struct console *k);

/* --- running statements (console.c) --- */

/* A whole message Query. May close the client, and with it k. */
void console_query(struct console *k, const char *query);
/*
 * Run st, which gives no rows, or else send them to sink. The reply to it is
 * complete then, except for the row description. May close the client.
 */
void console_run(struct console *k, const struct statement *st,
    struct row_sink *sink);
/* The rows of the statement only. 0, or -1 with e. */
int console_rows(struct console *k, const struct statement *st,
    struct row_sink *sink, struct err *e);

/* --- the extended protocol (console_extended.c) --- */

/* One message each; each may close the client, and with it k. */
void console_parse(struct console *k, struct reader *body);
void console_bind(struct console *k, struct reader *body);
void console_describe(struct console *k, struct reader *body);
void console_execute(struct console *k, struct reader *body);
void console_close(struct console *k, struct reader *body);
void console_sync(struct console *k);
/* DEALLOCATE: the prepared statement of this name, or all if it is "". */
void console_forget(struct console *k, const char *name);
/* A Query ends the unnamed portal. */
void console_forget_portal(struct console *k);
void console_fini_extended(struct console *k);

#endif
