/* admin.h - the console: sessions on the database pgbouncer.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_ADMIN_H
#define CONSOLE_ADMIN_H

#include <stdbool.h>

#include "session/sessions.h"

struct client;
struct client_role;
struct console;
struct console_show;
struct err;
struct mem_stat;
struct net_addr;
struct persist_entry;

/* Told of each listening socket. Returns non-zero to stop. */
typedef int (*admin_listener_fn)(void *arg, int fd,
    const struct net_addr *addr);

/* Calls upward: what commands ask of the whole process, admin.app. */
struct admin_ops {
	void (*pause)(void *app);
	void (*resume)(void *app);
	/* SUSPEND. 0, or -1 with e: not now. */
	int (*suspend)(void *app, struct err *e);
	/* Does nothing move any more? */
	bool (*is_suspended)(void *app);
	void (*shutdown)(void *app, enum shutdown_mode mode);
	/* SHUTDOWN DRAIN; NULL: as long as the settings say. */
	void (*drain)(void *app, const usec_t *time);
	/* Leave at once, with status 0. */
	void (*exit)(void *app);
	/* Returns the number that admin_reloaded() will name. */
	unsigned (*reload)(void *app);
	/* SET. 0, perhaps with a notice in e, or -1 with e. */
	int (*set)(void *app, const char *key, const char *value,
	    struct err *e);
	/* SET PERSIST: the number admin_persisted() will name; 0: see e. */
	unsigned (*persist)(void *app, const struct persist_entry *entry,
	    struct err *e);
	/*
	 * Others stand still until the second call, so that their admins can be
	 * used: 0, or -1 with e.
	 */
	int (*hold)(void *app, struct err *e);
	void (*let_go)(void *app);
	/* Does none of them hang, as far as is known? */
	bool (*all_turn)(void *app);
	/* Returns what fn stopped it with, or 0. */
	int (*each_listener)(void *app, admin_listener_fn fn, void *arg);
};

/* See handover.h. */
enum admin_handover {
	HANDOVER_NONE,
	HANDOVER_BEGUN,		/* what stands still is the successor's */
	HANDOVER_REVOKED,	/* no more, but it may not know yet */
};

/* Of the last stats_period. */
struct admin_load {
	bool known;			/* several workers, and one is over */
	unsigned percent;		/* of a core that its thread has used */
	usec_t longest;			/* turn */
	unsigned handovers;		/* of a million servers that clients
					 * were given: from other workers */
	uint64_t servers_in;		/* sessions.servers_in at its end */
};

/* Turns of the loop that lasted longer than slow_turn, since the start. */
struct admin_slow {
	uint64_t count, told;		/* ... and as the log has it */
	usec_t longest, took;		/* took: the last one */
	usec_t told_at;
	char by[256];			/* what the last one was at */
};

/* All consoles, and what they show and steer. The app fills it in. */
struct admin {
	const struct admin_ops *ops;
	void *app;
	struct sessions *ss;		/* borrowed */
	struct admin *next;		/* of the next worker, in a hold; NULL */
	const struct admin *first;	/* of the first one; NULL: this is it */
	const struct mem_stat *memory;	/* of its thread; NULL: the first's */
	struct admin_load load;		/* of its loop */
	struct admin_slow slow;		/* the same */
	usec_t looked;			/* at the next ones, for waiters */
	struct console *consoles;	/* DL list of consoles logged in */
	struct console_show *late;	/* DL: of consoles that are through */
	struct console *successor;	/* one of them; NULL: none, or gone */
	enum admin_handover handover;
};

/* What a client is that logged in to the admin database. */
const struct client_role *admin_role(void);
/* A CancelRequest for it came (spec/admin-console.md section 4.12). */
void admin_cancel(struct client *c);

/* Workers go: no console may have its place in a list of theirs any more. */
void admin_leave_workers(struct admin *a);
/* End of each turn: answer the PAUSE, WAIT_CLOSE ... that are complete. */
void admin_turn(struct admin *a);
/*
 * Answer the consoles that wait for this RELOAD; e: it failed. remarks: lines
 * that each become a notice of one that did not, or "".
 */
void admin_reloaded(struct admin *a, unsigned reload, const struct err *e,
    const char *remarks);

/* What became of a SET PERSIST. */
struct admin_persist {
	const struct persist_entry *entry;
	bool failed;
	const struct err *why;	/* or else a notice, if it has a text */
};
/* Answer the console that waits for that SET PERSIST. */
void admin_persisted(struct admin *a, unsigned number,
    const struct admin_persist *p);

#endif
