/* terminal.h - what is known of the terminal, if there is one.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_TERMINAL_H
#define CTL_TERMINAL_H

#include <stdbool.h>

#include "base/time.h"

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

#endif
