/* recall.h - what a text of SETs has made of a set of settings, once.
 *
 * What PostgreSQL makes of a value it makes of it again. So who SETs the same
 * in each transaction is asked for it the first time only.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_RECALL_H
#define PROTO_RECALL_H

#include <stddef.h>
#include <stdint.h>

struct baggage;

#define RECALL_TEXT 160		/* bytes; others are not remembered */
#define RECALL_PLACES 64

struct recall_key {
	const struct baggage *had;	/* what there was before */
	const struct baggage *brought;	/* by its client; or NULL */
	uint64_t silent;		/* what the server does not report */
	uint32_t len;
	char text[RECALL_TEXT];
};

/* All zero at first; each key has one place, and the newest one is there. */
struct recall {
	struct recall_entry {
		struct recall_key key;	/* its sets are counted */
		struct baggage *has;	/* counted; NULL: none is here */
	} places[RECALL_PLACES];
};

void recall_fini(struct recall *t);

/*
 * Statements of n bytes of a text, up to its NUL, that SET or RESET, if what
 * they leave depends on nothing but what was set before, and all others take
 * away what pins. Else -1: also for custom parameters and roles, which depend
 * on libraries and members.
 */
int recall_count(const char *sql, size_t n);

/* What k was found to leave; borrowed. NULL: not known. */
struct baggage *recall_find(const struct recall *t,
    const struct recall_key *k);
void recall_learn(struct recall *t, const struct recall_key *k,
    struct baggage *has);

#endif
