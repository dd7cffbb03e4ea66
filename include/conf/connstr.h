/* connstr.h - key=value pairs, the values of databases, users and peers.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_CONNSTR_H
#define CONF_CONNSTR_H

struct err;

struct connstr {
	char *at;	/* borrowed: what is left; written to */
};

struct connstr_pair {
	const char *key, *value;	/* inside the text */
};

/* Results of connstr_next(). */
enum connstr_step { CONNSTR_PAIR, CONNSTR_END, CONNSTR_BAD };

/* Cuts text into pairs in place; text must outlive them. */
void connstr_init(struct connstr *c, char *text);

/* The next pair; CONNSTR_BAD sets e and ends the parsing. */
enum connstr_step connstr_next(struct connstr *c, struct connstr_pair *out,
    struct err *e);

#endif
