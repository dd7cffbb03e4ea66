/* convert_parts.h - for the files of convert alone.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_CONVERT_PARTS_H
#define CTL_CONVERT_PARTS_H

#include <stdbool.h>
#include <stdio.h>

#include "ctl/facts.h"

struct err;

/*
 * What is made has these kinds of scopes: "" for settings, "users" SEP NAME for
 * lines of [users], "databases" SEP NAME for lines of [databases]; "auth" for the
 * auth file, whose keys are users; "rules" SEP DATABASE SEP USER, each of which may
 * be "" for all, for the rules of logins, with one key, OUT_METHOD.
 */
#define OUT_SETTINGS ""
#define OUT_AUTH "auth"
#define OUT_ENTRY "databases" FACT_SEP
#define OUT_USER "users" FACT_SEP
#define OUT_RULE "rules" FACT_SEP
#define OUT_METHOD "method"

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

/* What says where the users of an entry get to, or by what right. */
struct convert_same {
	const char *users;	/* the pattern of their scopes */
	struct {
		const char *key;	/* NULL behind the last */
		bool may_lack;	/* one user may have it and another not */
	} keys[8];
};

/*
 * Does the user that f is of get to what the first user of this line of [databases]
 * gets to? All its users share its server and its user there. Told otherwise.
 */
bool convert_agrees(struct convert *cv, const struct fact *f, const char *name,
    const struct convert_same *same);

/* Who may log in, and how; "" is all; without a method nobody. */
struct convert_rule_line {
	const char *database, *user, *method;
	const char *password;	/* that f's file has for it; or NULL */
};

/* Let in nobody by what another database's users know. 0, or -1 with cv->e. */
int convert_admit(struct convert *cv, const struct fact *f,
    const struct convert_rule_line *line);

/* Who has a password in the auth file gets in by a rule of its own only. */
int convert_except_listed(struct convert *cv);

/* Can a line of [databases] and a rule have this name, meaning nothing else? */
bool convert_is_entry(const char *name);
/* ... a rule, as the name of a user? */
bool convert_is_user(const char *name);

struct convert_files {
	FILE *ini, *auth, *hba;
};

/* The paths stand in the ini. */
void convert_write(const struct facts *out, const struct convert_files *to,
    const char *auth_path, const char *hba_path);

/* Find out whose file it is, and make cv->out of it. 0, or -1 with cv->e. */
int convert_read(struct convert *cv, const char *text);

/* What is not said by rows; then the rows. 0, or -1 with cv->e. */
int convert_pgcat(struct convert *cv);
int convert_odyssey(struct convert *cv);

#endif
