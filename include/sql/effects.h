/* effects.h - what a text may do to the session that runs it.
 *
 * One pass over the text answers all questions at once. Words count wherever they
 * stand, in strings and comments, too, because a string may be run as SQL. A wrong
 * yes costs a look at the session; a wrong no would mix data.
 * SPDX-License-Identifier: ISC */
#ifndef SQL_EFFECTS_H
#define SQL_EFFECTS_H

#include <stddef.h>
#include <stdint.h>

enum sql_effect {
	/* by the first words of a statement */
	EFFECT_SETS = 1 << 0,		/* a statement SETs a parameter */
	EFFECT_RESETS = 1 << 1,		/* RESET, SET ... TO DEFAULT, DISCARD ALL */
	EFFECT_FORGETS = 1 << 2,	/* DISCARD ALL, DEALLOCATE ALL */
	EFFECT_ENDS = 1 << 3,		/* may end a transaction */
	/* by the first statement */
	EFFECT_UTILITY = 1 << 4,	/* a SET, a COMMIT and the like: PostgreSQL
					 * reads such a text once */
	EFFECT_BEGINS = 1 << 5,		/* begins a transaction, nothing else */
	EFFECT_SET_FIRST = 1 << 6,	/* it is a SET or RESET, no comment ahead */
	EFFECT_LOCAL = 1 << 7,		/* SET LOCAL, SET TRANSACTION */
	EFFECT_LONE_SET = 1 << 8,	/* one SET or RESET, whose text says all */
	/* by its first byte, or a second statement */
	EFFECT_SEVERAL = 1 << 9,	/* there may be a second statement */
	EFFECT_MATTERS = 1 << 10,	/* may set, reset or deallocate something by
					 * a statement; see sql_may_matter() */
	/* what is set, in whichever way */
	EFFECT_MAY_SET = 1 << 11,	/* may set what texts are read by */
	EFFECT_UNSEEN = 1 << 12,	/* ... that no server reports; not the role */
	EFFECT_ROLE = 1 << 13,		/* ... the role */
	EFFECT_PATH = 1 << 14,		/* ... search_path */
	EFFECT_ALL = 1 << 15,		/* ... all of it, in one go */
	EFFECT_NAMES = 1 << 16,		/* ... and may name it: SET, set_config() */
	EFFECT_CALLS = 1 << 17,		/* calls set_config() */
	/* what is left behind; see sql_leave.h */
	EFFECT_WORDS = 1 << 18,		/* has a word that may leave something */
	EFFECT_LEAVES = 1 << 19,	/* ... anything */
	EFFECT_DRAWS = 1 << 20,		/* ... numbers of sequences */
	EFFECT_HIDES = 1 << 21,		/* ... whose name may not be in the text */
	EFFECT_OPENS = 1 << 22,		/* ... until the end of the session */
	EFFECT_MAKES = 1 << 23,		/* ... temporary tables */
	EFFECT_MAY_OPEN = 1 << 24,	/* ... OPENS, by words in pieces */
	EFFECT_ADDS = 1 << 25,		/* draws numbers by UPDATE or WITH */
	EFFECT_SCHEMA = 1 << 26,	/* changes what a name stands for */
	/* what it means, each time it is read */
	EFFECT_MOMENTARY = 1 << 27,	/* may mean something else, by the clock */
	EFFECT_TIMELESS = 1 << 28,	/* surely means the same */
	/* by those */
	EFFECT_PLAIN = 1 << 29,		/* surely leaves nothing but what its
					 * command tag tells */
};

/* May the text give a parameter its default back, or set it; see sql_back.h? */
#define EFFECTS_BACK (EFFECT_MATTERS | EFFECT_CALLS)
/* Does the next text depend on its success? */
#define EFFECTS_HOLD (EFFECT_RESETS | EFFECT_FORGETS)
/* Texts that are not read may do all of this. (Names of parameters are in none.) */
#define EFFECTS_ANY (EFFECT_ENDS | EFFECT_MAY_SET | EFFECT_UNSEEN | \
    EFFECT_ROLE | EFFECT_PATH | EFFECT_ALL | EFFECT_WORDS | EFFECT_LEAVES | \
    EFFECT_DRAWS | EFFECT_HIDES | EFFECT_MAKES | EFFECT_MAY_OPEN | EFFECT_ADDS | \
    EFFECT_SCHEMA | EFFECT_MOMENTARY | EFFECTS_HOLD)

/*
 * The effects of a text: up to a NUL, or all n bytes. Only a text that has its NUL
 * is EFFECT_TIMELESS or EFFECT_BEGINS. Takes a time that grows as n does.
 */
uint32_t sql_effects(const char *text, size_t n);
/*
 * Of one statement that is too long to be read, or of which only the first n bytes
 * are here: EFFECTS_ANY that its first word, and the words up to SQL_TEXT_MAX, do not
 * exclude.
 */
uint32_t sql_effects_long(const char *text, size_t n);

#endif
