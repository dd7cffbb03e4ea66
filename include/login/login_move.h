/* login_move.h - a client goes to another worker: to log in, and to its
 * database.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_LOGIN_MOVE_H
#define LOGIN_LOGIN_MOVE_H

#include <stdbool.h>

struct client;
struct sessions;
struct startup;

/*
 * Is m, a start-up packet or cancel request, for another worker? Then c goes
 * there at its turn, and m with it, unread; or it was closed for want of room.
 */
bool login_departs(struct client *c, const struct startup *m);

/*
 * Where c, which is at home and has asked for a user, goes on: here, or where
 * its pool has a part. One that comes there may find it gone.
 */
unsigned login_part(struct client *c);
bool login_has_no_part(const struct client *c);

/*
 * c has just been accepted, and nothing was read of it: does the worker with the
 * fewest strangers look after it? Then it is there from now on.
 */
bool login_deal(struct client *c);

/*
 * c, which is in no pool and not read, goes on its trip at its turn; without
 * database and parameters. landed() gets it there, on that thread.
 */
void login_travel(struct client *c, unsigned to,
    void (*landed)(struct client *c));

/*
 * On the thread of ss: c has come, and goes on as it was sent; or its login begins,
 * or begins again with the packet that it departed with. May close it.
 */
void login_arrive(struct sessions *ss, struct client *c);

#endif
