/* mistyped.h - a text that is no command: what is said of it, and to whom.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_MISTYPED_H
#define CONSOLE_MISTYPED_H

#include <stddef.h>

struct err;
struct text;

/*
 * "invalid command '<query>', use SHOW HELP;" for whoever typed it, with meant
 * (may be NULL) as a detail. Returns -1.
 */
int mistyped(const char *query, const char *meant, struct err *e);

/*
 * Add the n bytes of an error's text as the log may have them: of a mistyped
 * command the first word only, since a password may follow it, or be it.
 */
void mistyped_hide(const char *text, size_t n, struct text *out);

#endif
