/* mailbox.h - one thread gives objects to the loop of another.
 * SPDX-License-Identifier: ISC */
#ifndef IO_MAILBOX_H
#define IO_MAILBOX_H

#include <stdbool.h>

struct loop;
struct mailbox;

/*
 * fn gets each object on the loop of its thread, in order. The thread that has
 * put an object must not touch it any more. NULL: no memory, no fd.
 */
struct mailbox *mailbox_new(struct loop *to, void (*fn)(void *arg, void *object),
    void *arg);
/* Neither thread runs any more: fn gets what is left. */
void mailbox_free(struct mailbox **m);

/*
 * From one thread only. The other one is woken once for all that comes until it
 * looks. There must be room: nobody else can take it away meanwhile.
 */
bool mailbox_has_room(const struct mailbox *m);
void mailbox_put(struct mailbox *m, void *object);

#endif
