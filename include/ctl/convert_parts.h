/* convert_parts.h - for the files of convert alone.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_CONVERT_PARTS_H
#define CTL_CONVERT_PARTS_H

#include "ctl/facts.h"

struct err;

/*
 * What is made has three kinds of scopes: "" for settings, "users" SEP NAME for
 * lines of [users], "databases" SEP NAME for lines of [databases]; and "auth"
 * for the auth file, whose keys are users.
 */
#define OUT_SETTINGS ""
#define OUT_AUTH "auth"
#define OUT_ENTRY "databases" FACT_SEP
#define OUT_USER "users" FACT_SEP

struct convert {
	struct facts in, out;
	/* scopes of in, and which lines of [databases] they became, as keys */
	struct facts routes;
	const char *path;	/* for remarks; borrowed */
	struct facts remarks;
	bool remarks_lost;
	struct err *e;
};

enum convert_place { TO_SETTING, TO_ENTRY, TO_LIMIT, LEFT_OUT, BY_CODE };

/*
 * What becomes of a key. Facts that no row has are left out, with a remark.
 * TO_ENTRY: of the entries that the fact's scope, or a longer one, has become;
 * TO_LIMIT: but for 0, which means something else here.
 */
struct convert_rule {
	const char *scope;	/* a pattern; NULL ends the table */
	const char *key;
	enum convert_place place;
	const char *to;		/* the name here; LEFT_OUT: why */
	const char *unit;	/* what is put behind a number; or NULL */
};

/* f is not taken as it is. Told once, in the order of lines. */
void convert_remark(struct convert *cv, const struct fact *f, const char *why);
/* "PATH:LINE: KEY: WHY" on stderr. */
void convert_print_remarks(struct convert *cv);
/* f's value, once only: another one is left out. 0, or -1 with cv->e. */
int convert_say(struct convert *cv, const char *scope, const char *key,
    const struct fact *f);
/* f's scope has become this line of [databases]. */
int convert_route(struct convert *cv, const struct fact *f, const char *name);
int convert_by_rules(struct convert *cv, const struct convert_rule *rules);

/* What is not said by rows; then the rows. 0, or -1 with cv->e. */
int convert_pgcat(struct convert *cv);
int convert_odyssey(struct convert *cv);

#endif
