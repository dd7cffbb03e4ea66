/* facts.h - a configuration as a list: where, what, and from which line.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_FACTS_H
#define CTL_FACTS_H

#include <stdbool.h>
#include <stddef.h>

struct err;

/* Between the words of a scope: "pools", "shop", "users", "0". */
#define FACT_SEP "\x1f"
#define FACT_SCOPE_MAX 1024

struct fact {
	char *scope, *key, *value;	/* owned */
	unsigned line;
};

struct facts {
	struct fact *at;		/* owned; in file order */
	size_t count;
};

/*
 * Keep copies. 0, or -1 with e: no memory, or a control byte in one of them,
 * which no line of an ini file can say.
 */
int facts_add(struct facts *f, const struct fact *fact, struct err *e);
/* The first one; NULL: there is none. */
const struct fact *facts_get(const struct facts *f, const char *scope,
    const char *key);
/* Does scope have the words of the pattern, * for any one? */
bool facts_scope_fits(const char *scope, const char *pattern);
/* The nth word of scope, from 0, "" if there is none; in buf. */
const char *facts_word(const char *scope, unsigned nth, char *buf,
    size_t size);
/* Wipes and frees: there are passwords in it. */
void facts_fini(struct facts *f);

#endif
