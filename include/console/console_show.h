/* console_show.h - a SHOW of many rows, which is written bit by bit.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_CONSOLE_SHOW_H
#define CONSOLE_CONSOLE_SHOW_H

#include <stdbool.h>

struct admin;
struct console;
struct statement;

/*
 * Where st is a SHOW of very much, whose description is written: it is taken,
 * *st is NULL, and the console waits for its end (CONSOLE_SHOW). May close the
 * client. False: it is none, or there is no memory, and nothing has happened.
 */
bool console_show_begin(struct console *k, struct statement **st);
/* CONSOLE_SHOW, and another turn. May close the client. */
void console_show_go_on(struct console *k);
/* It is over, or never was. */
void console_show_drop(struct console *k);
/* What was dropped while a worker hung: now and then, and before workers go. */
void console_show_end_late(struct admin *a);

#endif
