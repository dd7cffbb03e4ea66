/* terminal.h - the terminal: its size, a password that is typed, text of
 * others made fit for it.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_TERMINAL_H
#define CTL_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

#include "base/time.h"

struct err;
struct text;

/* Characters are UTF-8's, whatever the locale is. */
void terminal_locale(void);

bool terminal_is_out(void);	/* standard output is one that moves */
bool terminal_is_err(void);
bool terminal_has_colour(void);	/* NO_COLOR, TERM=dumb */

struct terminal_size {
	int rows, columns;	/* 0: no terminal */
};

struct terminal_size terminal_size(void);

/*
 * Wait so long, or until there are events, as poll(2) has them, at fd (-1: none).
 * Whether there were; without any, it is that nobody is at the other end.
 */
bool terminal_rest(usec_t time, int fd, short events);

/* Text of others, made fit for a terminal. */

/* One character, as it is shown. */
struct glyph {
	const char *at;		/* borrowed from the text, or from escape */
	size_t len;		/* bytes */
	int width;		/* columns */
	char escape[16];	/* "\xe2\x80\xae" is the longest */
};

/*
 * The character at s, which is not the end. Control characters (C0, DEL, C1;
 * marks that set the direction of text) and bytes that are not UTF-8 are shown
 * as \n, \t or \x1b. Returns the place behind.
 */
const char *printable_next(const char *s, struct glyph *g);

/* How many columns s takes. */
int printable_width(const char *s);

/* Put all of s out. */
void printable_put(FILE *out, const char *s);

/* Add s, of at most columns; what is cut ends in "~". Returns the width. */
int printable_add(struct text *t, const char *s, int columns);

/* The same; line ends and tabs stay. */
void printable_lines(FILE *out, const char *s);

/* Ask for a password, without showing it. */

/*
 * From the terminal if standard input is one, twice with again; else a line of
 * standard input. Returns heap, secret; NULL with e.
 */
char *password_ask(const char *prompt, const char *again, struct err *e);

#endif
