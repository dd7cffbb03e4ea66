/* mailbox.h - threads give objects to the loop of another.
 * SPDX-License-Identifier: ISC */
#ifndef IO_MAILBOX_H
#define IO_MAILBOX_H

#include <stdbool.h>

struct loop;
struct mailbox;

/*
 * fn gets each object on the loop of its thread; those of one sender in order. The
 * thread that has put an object must not touch it any more. NULL: no memory, no fd.
 */
struct mailbox *mailbox_new(struct loop *to, unsigned senders,
    void (*fn)(void *arg, void *object), void *arg);
/* None of the threads runs any more: fn gets what is left. */
void mailbox_free(struct mailbox **m);

/*
 * A sender is a thread, and a number from 0. The other one is woken once for all
 * that comes until it looks. There must be room: no one else can take it away.
 */
bool mailbox_has_room(const struct mailbox *m, unsigned sender);
void mailbox_put(struct mailbox *m, unsigned sender, void *object);

/* While its thread and all senders stand still: fn gets what is there, if any. */
bool mailbox_deliver(struct mailbox *m);

#endif
