/* sigmask.h - signals while there is no loop to hear them.
 * SPDX-License-Identifier: ISC */
#ifndef APP_SIGMASK_H
#define APP_SIGMASK_H

#include <stdbool.h>

/*
 * Before there is one: a signal that asks for the end ends us at once, with
 * status 0, as there is nothing yet to take apart. Others wait for the loop.
 */
void sigmask_early(void);
/* Was the process started with this signal, SIGTERM, ignored? It stays so. */
bool sigmask_is_ignored(int signo);
/* The loop hears them: what has come meanwhile has its turn. */
void sigmask_open(void);
/* The loop is left, and its handlers with it: none counts any more. */
void sigmask_late(void);
/* Signals mean to this process, a child, what they mean to any. */
void sigmask_forget(void);

#endif
