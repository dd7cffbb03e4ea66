/* workers.h - the workers: made, started and ended, and what the first one
 * does with them.
 * SPDX-License-Identifier: ISC */
#ifndef APP_WORKERS_H
#define APP_WORKERS_H

#include <stdbool.h>

struct app;
struct auth_fetch;
struct client;
struct err;
struct host_word;
struct parcel;

/*
 * The workers stand still, and nobody who is served, and no server, is on its way
 * between two, until the call that ends the hold. False: a worker hangs, or does not
 * come, which the log tells. Both calls do nothing where there is one worker.
 */
bool workers_hold(struct app *app);
void workers_let_go(struct app *app);
/* The one after app, in a hold; NULL: that was the last. */
struct app *workers_next(const struct app *app);

/* The one that has a database of that name. */
struct app *workers_home(struct app *app, const char *database);

/*
 * Now and then, on each: says that it turns, and the first one looks whether the
 * others do. Who hangs is named in the log.
 */
void workers_watch(struct app *app);
/* Does none of them hang? On the first one. */
bool workers_turn(const struct app *app);

/* Clients on their way to another worker; of the first one, in a hold. */
unsigned workers_count_mailed(const struct app *app);

/* For client_ops; the first of these on the first one only. */
bool workers_take(void *app, unsigned worker);
bool workers_may_send(void *app, unsigned worker);
void workers_send(void *app, struct client *c, unsigned worker);
bool workers_may_move(void *app, unsigned worker);
void workers_move(void *app, struct client *c, unsigned worker);
bool workers_may_tell(void *app, unsigned worker);
void workers_tell(void *app, struct host_word *w, unsigned worker);
bool workers_may_ask(void *app, unsigned worker);
void workers_ask(void *app, struct auth_fetch *f, unsigned worker);
bool workers_may_mail(void *app, unsigned worker);
void workers_mail(void *app, struct parcel *p, unsigned worker);

#endif
