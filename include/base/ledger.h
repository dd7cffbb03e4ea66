/* ledger.h - what several workers may have together under one name.
 *
 * A worker holds a ledger for each name that it knows; all that are of one name
 * count together. Who takes asks first, so that nobody has too many. Who waits
 * says since when, so that who gives, or has something to spare, knows whom for.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_LEDGER_H
#define BASE_LEDGER_H

#include <stdbool.h>

#include "base/time.h"

struct ledger;
struct ledger_book;
struct ledger_sum;

enum ledger_kind {
	LEDGER_SERVERS,
	LEDGER_CANCELERS,	/* of these: they carry cancel requests */
	LEDGER_CLIENTS,
	LEDGER_PINNED,	/* clients that keep a server */
	LEDGER_KINDS
};

/* For so many workers. NULL: no memory. */
struct ledger_book *ledger_book_new(unsigned workers);
/* No ledger of it is open any more, and nobody is in it. */
void ledger_book_free(struct ledger_book **b);

/*
 * How a worker is woken when it is called; from any thread, and not to call back.
 * It then takes the owners of the ledgers it is called for, until NULL.
 */
struct ledger_bell {
	void (*ring)(void *arg);
	void *arg;
};
void ledger_book_join(struct ledger_book *b, unsigned worker,
    struct ledger_bell bell);
void ledger_book_leave(struct ledger_book *b, unsigned worker);
void *ledger_take_called(struct ledger_book *b, unsigned worker);

/*
 * The ledger of this worker and name, which it has none of; the owner is what it
 * is called with. NULL: no memory.
 */
struct ledger *ledger_open(struct ledger_book *b, unsigned worker,
    const char *name, void *owner);
/* Nothing that was taken through it may be left. */
void ledger_close(struct ledger **l);

/* Of all workers. */
unsigned ledger_taken(const struct ledger *l, enum ledger_kind kind);
/* Servers or clients of one worker; it may be past already. */
unsigned ledger_taken_at(const struct ledger *l, unsigned worker,
    enum ledger_kind kind);
/* One more, if there are fewer than max. */
bool ledger_take(struct ledger *l, enum ledger_kind kind, unsigned max);
/* One more, whatever there is. Returns how many that makes. */
unsigned ledger_add(struct ledger *l, enum ledger_kind kind);
void ledger_give(struct ledger *l, enum ledger_kind kind);

/*
 * What was taken goes to another worker, with who has it. It is counted all the while,
 * though neither may have the ledger open. All zero: nothing is on its way.
 */
struct ledger_trip {
	struct ledger_sum *of;
	enum ledger_kind kind;
	unsigned to;
};
struct ledger_trip ledger_send(struct ledger *l, enum ledger_kind kind,
    unsigned to);
/* It is there, where l is of the same name; or lost: given back. Nothing is fine. */
void ledger_receive(struct ledger *l, struct ledger_trip *t);
void ledger_lose(struct ledger_trip *t);

/* For whom a server is wanted. */
struct ledger_want {
	usec_t since;		/* the longest wait began; 0: nobody waits */
	bool in_need;		/* they have no server at all */
	unsigned count;		/* how many want one */
	/* where it is asked for: */
	unsigned worker;	/* whose it is */
};

/* This worker's. It must be told before it looks in vain for the last time. */
void ledger_want(struct ledger *l, struct ledger_want want);
usec_t ledger_wants(const struct ledger *l);	/* since then; 0: not */
unsigned ledger_wanted(const struct ledger *l);	/* so many */
/* The longest one of the other workers. */
struct ledger_want ledger_rival(const struct ledger *l);
/* The same of those that fewer servers are on their way to than want one. */
struct ledger_want ledger_recipient(const struct ledger *l);

/*
 * The worker of the rival shall look at what it has; and all with servers, or those
 * that may have idle ones, as nobody waits there. (Who has clients that wait looks each
 * time that a server is released.)
 */
void ledger_call_rival(struct ledger *l);
void ledger_call_servers(struct ledger *l);
void ledger_call_idle(struct ledger *l);

#endif
