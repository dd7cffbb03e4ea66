/* admin.h - the console: sessions on the database pgbouncer.
 * SPDX-License-Identifier: ISC */
#ifndef APP_ADMIN_H
#define APP_ADMIN_H

struct app;
struct client;
struct err;

/* client_ops->console: c logged in to the admin database; greet it. */
void admin_open(struct client *c);
/* client_ops->input, ->drained and ->closed for a client with ->console set. */
void admin_input(struct client *c);
void admin_drained(struct client *c);
void admin_closed(struct client *c);
/* A CancelRequest for it came (admin-console.md 4.12). */
void admin_cancel(struct client *c);

/* End of each turn: answer the PAUSE, WAIT_CLOSE ... that are complete. */
void admin_turn(struct app *app);
/* Answer who waits for this RELOAD; e: it failed. */
void admin_reloaded(struct app *app, unsigned reload, const struct err *e);

#endif
