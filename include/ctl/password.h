/* password.h - ask for a password, without showing it.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_PASSWORD_H
#define CTL_PASSWORD_H

struct err;

/*
 * From the terminal if standard input is one, twice with again; else a line of
 * standard input. Returns heap, secret; NULL with e.
 */
char *password_ask(const char *prompt, const char *again, struct err *e);

#endif
