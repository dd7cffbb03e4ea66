/* err.h - what went wrong, worded once, where it is known.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

#include "base/errcodes.h"

/* Between a message and its detail, where there is one; its lines end in \n. */
#define ERR_DETAIL "\x1f"

struct err {
	char code[6];	 /* SQLSTATE, one of errcodes.h */
	char text[1018]; /* message for the user, no newline at the end */
};

/*
 * Fill e (which may be NULL) with a SQLSTATE and a formatted text, cut at the
 * size of the field.
 * Returns: always -1, so that `return err_set(...)` reads well.
 */
int err_set(struct err *e, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Out of memory, in the words of most places. Returns -1. */
int err_nomem(struct err *e);
bool err_is_nomem(const struct err *e);

/* Put "<formatted text>" in front of what e says already. Returns -1. */
int err_prepend(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
