/* parts.h - a pool that several workers serve: its home's, and parts of it.
 *
 * All parts count together for the size of the pool and the limits of its
 * database, by ledgers that are there as long as there are parts. They are made,
 * and given up, in a hold. (doc/workers.md, "Sub-pools")
 * SPDX-License-Identifier: ISC */
#ifndef POOL_PARTS_H
#define POOL_PARTS_H

#include <stdbool.h>

struct catalog;
struct database;
struct params_table;
struct pool;

/* Fewer servers has no part. */
#define PARTS_LEASE_MIN 4

/* Is p one that may have parts, as far as it can be seen at this worker? */
bool parts_may_begin(const struct pool *p, const struct catalog *c);
/* So many workers could serve it, itself among them. */
unsigned parts_most(const struct pool *p);

/* Where a part is to be. */
struct parts_place {
	struct catalog *catalog;
	struct params_table *params;
};
/* home, which is of c, has a part there, too. 0, or -1: no memory. */
int parts_begin(struct pool *home, struct catalog *c,
    const struct parts_place *to);
/* The parts of home take no new clients any more. */
void parts_end(struct pool *home);
/* Does the part of home at that worker take new clients? */
bool parts_is_open(const struct pool *home, unsigned worker);
/* So many do so, with the home; each has this share. */
unsigned parts_count(const struct pool *home);
void parts_put_lease(struct pool *p, unsigned count);

/* From now on p counts with its other parts. 0, or -1: no memory. */
int parts_enter(struct pool *p, struct catalog *c);
/* p has no part any more, or is one that is dropped. */
void parts_leave(struct pool *p, struct catalog *c);
/* Its database has no parts, and counts for itself. */
void parts_leave_database(struct database *db);

/* The worker with the most room for one more client of home. */
unsigned parts_choose(struct pool *home, unsigned here);

#endif
