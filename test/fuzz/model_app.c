/* model_app.c - a process of the pooler, and connections of it, in a fuzz target.
 * SPDX-License-Identifier: ISC */
#include "model_app.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/app.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/loop.h"
#include "login/login.h"
#include "proto/params.h"
#include "relay/relay.h"
#include "session/client.h"
#include "session/server.h"

static struct pooled_told on;

static void ignore_line(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	(void)text;
}

#define PATH "/tmp/fuzz_pooled.XXXXXX"

static void write_file(char *path, const char *text)
{
	const int fd = mkstemp(path);
	const size_t len = strlen(text);

	assert(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	close(fd);
}

static struct config *load(const char *users)
{
	char text[1024], path[] = PATH;
	struct err e;

	snprintf(text, sizeof text, "[databases]\np0 = host=/nowhere\n"
	    "p1 = host=/nowhere pool_mode=session\n"
	    "[pgbouncer]\npool_mode = transaction\nauth_type = trust\n"
	    "default_pool_size = 1\nmax_prepared_statements = 2\n"
	    "query_wait_notify = 0\nlog_pooler_errors = 0\n"
	    "auth_file = %s\nlisten_port = 6432\n", users);
	write_file(path, text);
	struct config *c = config_load(path, NULL, ignore_line, NULL, &e);

	unlink(path);
	assert(c != NULL);
	return c;
}

static void admitted(struct client *c, const struct iovec *first)
{
	if (on.admitted != NULL)
		on.admitted(c);
	relay_role()->admitted(c, first);
}

static void leave(struct client *c)
{
	on.closed(c);
	relay_role()->leave(c);
}

void pooled_start(struct app *app, const struct pooled_told *told)
{
	static struct client_role watched;
	char users[] = PATH;

	log_setup(&(struct log_opts){ .quiet = true });
	write_file(users, "\"app\" \"\"\n");
	app->config = load(users);
	assert(app_init(app) == 0);
	unlink(users);
	on = *told;
	watched = *relay_role();
	watched.admitted = admitted;
	watched.leave = leave;
	app->ss.client_ops.relay = &watched;
	app->loop = app->ss.loop = loop_new();
	assert(app->loop != NULL);
	login_queue_init(&app->ss.login_queue, app->loop);
}

static void end_turn(void *arg)
{
	loop_stop(((struct app *)arg)->loop);
}

static void on_task(struct loop_task *t)
{
	(void)t;
}

void pooled_turn(struct app *app)
{
	struct loop_task awake = { .run = on_task };

	loop_again(app->loop, &awake);
	loop_run(app->loop, end_turn, app);
}

static struct params *zone_of(struct app *app, const char *value)
{
	struct params *p = params_empty(app->ss.params);
	const int i = params_find(app->ss.params, "TimeZone");

	assert(i >= 0 && params_set(&p, i, value) == 0);
	return p;
}

struct pool *pooled_pool(struct app *app, const char *database)
{
	struct catalog *cat = app->catalog;
	struct pool *p = catalog_get_pool(cat,
	    catalog_find_database(cat, database),
	    catalog_get_user(cat, "app"));

	assert(p != NULL);
	if (p->welcome != NULL)
		return p;
	p->welcome = mem_zalloc(sizeof *p->welcome);
	assert(p->welcome != NULL);
	p->welcome->params = zone_of(app, POOLED_ZONE);
	return p;
}

static int connect_pair(int *theirs)
{
	int fd[2];

	assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) == 0);
	*theirs = fd[0];
	return fd[1];
}

struct client *pooled_login(struct app *app, int *fd)
{
	const struct net_addr addr = { .family = NET_UNIX };
	struct client *c = login_accept(&app->ss, connect_pair(fd), &addr);

	assert(c != NULL);
	return c;
}

struct client *pooled_client(struct app *app, struct pool *p, const char *zone,
    int *fd)
{
	struct sessions *ss = &app->ss;
	const struct net_addr addr = { .family = NET_UNIX };
	struct client *c = client_open(ss, connect_pair(fd), &addr);

	assert(c != NULL);
	client_become(c, ss->client_ops.relay);
	client_enter(c, p->key.db, p->key.user);
	c->pc.pool = p;
	pool_client_set(&c->pc, CLIENT_ACTIVE);
	params_unref(&c->params);
	c->params = zone_of(app, zone);
	c->relay.start = params_ref(c->params);
	c->welcomed = true;
	client_new_key(c);
	return c;
}

struct server *pooled_server(struct app *app, struct pool *p, int *fd)
{
	struct server *s = server_adopt(&app->ss, p, connect_pair(fd));

	assert(s != NULL);
	params_unref(&s->params);
	s->params = zone_of(app, POOLED_ZONE);
	s->origin.set = params_ref(s->params);
	s->track.ready = true;
	s->track.status = 'I';
	return s;
}
