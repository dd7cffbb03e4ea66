/* lobby.h - guests, clients that have not logged in yet: how many, what memory
 * they hold, how often they fail, and what the log says of them.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_LOBBY_H
#define POOL_LOBBY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"
#include "base/timeouts.h"
#include "pool/tally.h"

struct lobby_source;
struct net_addr;

#define LOBBY_LIGHT 8192	/* a guest that holds more than that, with what
				 * belongs to it but a library's, goes first */

enum lobby_voice { LOBBY_UNDECIDED, LOBBY_LOUD, LOBBY_QUIET };

/* Embedded in a login; all zero before lobby_enter(). Private to lobby.c. */
struct lobby_guest {
	struct lobby_guest *prev, *next;	/* all, oldest first */
	struct lobby_guest *heavy_prev, *heavy_next;	/* since they are */
	struct lobby_guest *mate_prev, *mate_next;	/* of one source */
	struct lobby_source *source;
	struct lobby *lobby;		/* its worker's, or where it goes */
	struct wheel_node penalty;
	usec_t until;			/* of the penalty; 0 = none */
	size_t bytes;
	bool present, heavy, travels;
	bool expelled;			/* by another worker, for this limit: */
	uint8_t limit;
	bool examined;			/* what it has sent is being checked */
	uint8_t voice;			/* enum lobby_voice */
};

/*
 * Of each worker. Several have their guests in the lobby of the first one, under
 * its lock, and are counted together there; penalties are each one's own.
 */
struct lobby {
	struct lobby *first;		/* NULL: this is it */
	struct lobby *next;		/* of several workers */
	unsigned worker, guests;	/* of this worker, or on their way to it */
	struct lobby_guest *expelled;	/* DL: to be closed by this worker */
	void (*call)(void *arg);	/* it, from any thread, for that */
	void *arg;
	bool shared;			/* the rest is the first one's: */
	pthread_mutex_t lock;		/* of that, where it is shared */
	unsigned leaving;		/* expelled, and not closed yet */
	struct lobby_guest *all, *heavies;	/* DL lists */
	unsigned count;
	size_t bytes;			/* that they hold, in all */
	struct lobby_source *sources;	/* uthash by address */
	struct lobby_source *last;	/* of them that was left by all */
	struct lobby_source *marked;	/* DL: that failed, longest ago first */
	unsigned marks;
	struct wheel penalties;
	usec_t second;			/* that the next two are about */
	unsigned loud, quiet;
};

void lobby_init(struct lobby *l, usec_t now);
/* Nobody is in it any more; the first one's is the last. */
void lobby_fini(struct lobby *l);

/*
 * IPv6 addresses count by their /64, which belong to one host or one site.
 * 0, or -1: no memory.
 */
int lobby_enter(struct lobby *l, struct lobby_guest *g,
    const struct net_addr *from);
/*
 * Out of all lists; one that never entered may leave, too. False: another worker
 * has expelled it before, and counts on its end.
 */
bool lobby_leave(struct lobby *l, struct lobby_guest *g);
/* So much memory is g's now, and so much more a library's, for g. */
void lobby_hold(struct lobby *l, struct lobby_guest *g, size_t own,
    size_t library);

/* That all of them hold. */
size_t lobby_bytes(struct lobby *l);

/* What g has sent is being checked, or has been. */
void lobby_examine(struct lobby *l, struct lobby_guest *g, bool examined);

/*
 * The guest that must go when g has come, so that there are max at most; NULL:
 * none. One of another worker is expelled at once, and not told of: it counts no
 * more, and is closed there soon.
 * It is of the source that has most guests here: the oldest that owes nothing,
 * neither a penalty nor the outcome of a guess (a client that means to log in is
 * quick); else g, if it is of that source, or the oldest.
 */
struct lobby_guest *lobby_surplus(struct lobby *l, struct lobby_guest *g,
    unsigned max);
/* The same for the guests of g's source. 0 = there is no limit. */
struct lobby_guest *lobby_surplus_mate(struct lobby *l, struct lobby_guest *g,
    unsigned max);
/* ... so that they hold max bytes at most (0 = no limit), g having more. */
struct lobby_guest *lobby_surplus_bytes(struct lobby *l, struct lobby_guest *g,
    size_t max);
/*
 * One is to make room for g, which is to be a client: one of the oldest that is
 * idle, else the oldest if it is slow. Not one that serves a penalty and is of the
 * same source: a client that guesses would pay none. *own is to be closed by the caller; NULL:
 * it is another worker's, and expelled. False: there is none.
 */
struct lobby_judge {
	bool (*is_idle)(const struct lobby_guest *);	/* of this worker */
	bool (*is_slow)(const struct lobby_guest *);	/* of any one */
};
bool lobby_displace(struct lobby *l, const struct lobby_guest *g,
    const struct lobby_judge *judge, struct lobby_guest **own);

/*
 * Close the oldest guest because of this limit, whatever its address. A guest that
 * serves no penalty goes first. *own: see lobby_displace(). False: there is no guest.
 */
bool lobby_expel_oldest(struct lobby *l, enum tally_limit limit,
    struct lobby_guest **own);

/*
 * g has failed: how long is it to wait for its answer? After a few failures
 * within a minute a while that doubles, up to max; 0 = not at all. One that was
 * expelled has no place to wait in: it is closed before it hears of that.
 */
usec_t lobby_fail(struct lobby *l, struct lobby_guest *g, usec_t max,
    usec_t now);
/* g waits for its answer up to then, whether it stays or not. */
void lobby_punish(struct lobby *l, struct lobby_guest *g, usec_t until);
static inline bool lobby_is_punished(const struct lobby_guest *g)
{
	return g->until != 0;
}
/* Guests whose penalty is over: first this, then one by one; NULL: no more. */
void lobby_turn(struct lobby *l, usec_t now);
struct lobby_guest *lobby_take_served(struct lobby *l, usec_t now);

/*
 * May the log speak of g? Decided once: rate guests a second, guests that are
 * let in left out of account (0 = all).
 */
bool lobby_speaks(struct lobby *l, struct lobby_guest *g, unsigned rate,
    usec_t now);
/* g is let in. Returns true when the log has not spoken of it. */
bool lobby_admit(struct lobby *l, struct lobby_guest *g);
/* Of how many nothing was said; once, when their second is over; else 0. */
unsigned lobby_take_unsaid(struct lobby *l, usec_t now);

/* Guests of several workers, who go from one to another. */

/*
 * l is the next worker's, whose guests count as those of first; call(arg) has it
 * close whom lobby_take_expelled() says. Before there is another thread.
 */
void lobby_share(struct lobby *first, struct lobby *l);
void lobby_on_call(struct lobby *l, void (*call)(void *arg), void *arg);
/* The worker with the fewest guests, one of l's left out; in doubt l's own. */
unsigned lobby_emptiest(struct lobby *l);
/* g goes to that worker, and keeps its place. False: it was expelled. */
bool lobby_send(struct lobby *l, struct lobby_guest *g, unsigned worker);
/* It is there. False: it was expelled meanwhile, and is to be closed. */
bool lobby_arrive(struct lobby *l, struct lobby_guest *g);
/* Whom others have expelled from this worker: one by one; NULL: no more. */
struct lobby_guest *lobby_take_expelled(struct lobby *l);
/* Is g to be closed, as another worker has expelled it? */
bool lobby_is_expelled(struct lobby *l, const struct lobby_guest *g);
/* Is nobody there, at no worker and on no way to one? */
bool lobby_is_empty(struct lobby *l);
/* How many of all workers are expelled, and not closed yet. */
unsigned lobby_leaving(struct lobby *l);

#endif
