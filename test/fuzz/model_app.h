/* model_app.h - a process of the pooler, and connections of it, in a fuzz target.
 *
 * The connections are pairs of sockets; the loop does not sleep.
 * SPDX-License-Identifier: ISC */
#ifndef TEST_FUZZ_MODEL_APP_H
#define TEST_FUZZ_MODEL_APP_H

struct app;
struct client;
struct params;
struct pool;
struct server;

#define POOLED_ZONE "D"		/* the server's own TimeZone */

/* Of a client whose login is over; and that is closed then. */
struct pooled_told {
	void (*admitted)(struct client *c), (*closed)(struct client *c);
};

void pooled_start(struct app *app, const struct pooled_told *told);
void pooled_turn(struct app *app);
/* Of p0, which pools transactions, or p1, which pools sessions; one server. */
struct pool *pooled_pool(struct app *app, const char *database);
/* One that has to log in. fd is the other end, as all below. */
struct client *pooled_login(struct app *app, int *fd);
/* Behind the login. */
struct client *pooled_client(struct app *app, struct pool *p, const char *zone,
    int *fd);
struct server *pooled_server(struct app *app, struct pool *p, int *fd);

#endif
