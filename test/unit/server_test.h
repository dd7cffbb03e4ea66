/* server_test.h - a pool and the loop for tests of servers; who acts is faked.
 * SPDX-License-Identifier: ISC */
#ifndef TEST_SERVER_TEST_H
#define TEST_SERVER_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/loop.h"
#include "pool/catalog.h"
#include "pool/pool.h"
#include "proto/baggage.h"
#include "proto/params.h"
#include "proto/track.h"
#include "session/server.h"
#include "session/sessions.h"
#include "upstream/server_attempt.h"

struct server_stage {
	struct sessions ss;
	struct config *config;
	struct pool *pool;		/* shop/ann at 127.0.0.1 */
	int peer;			/* the other end of a server's socket */
	struct text told, moved;	/* what ops heard; the debug log */
	char told_buf[1024], moved_buf[1024];
	bool can_terminate, knows_sql;
};

static struct server_stage st;

/* --- what is faked: who acts, and who hears of it --- */

static void tell(const char *what)
{
	text_addf(&st.told, "%s;", what);
}

static void on_ready(struct server *s)
{
	tell(s->attempt != NULL && s->phase == SERVER_PHASE_POOLED ? "ready" :
	    "ready too early");
}

static bool on_introduce(const struct server *s, struct writer *w)
{
	(void)s;
	writer_str(w, "replication");
	writer_str(w, "yes");
	return st.knows_sql;
}

static void on_closed(struct server *s, struct close_cause why)
{
	if (s->failure != NULL)
		text_addf(&st.told, "failed %s %s%s;", s->failure->code,
		    s->failure->text, s->attempt != NULL &&
		    s->attempt->refused ? " (refused)" : "");
	text_addf(&st.told, "closed: %s;", why.text);
}

__attribute__((unused)) static bool can_terminate(const struct server *s)
{
	(void)s;
	return st.can_terminate;
}

static void stage_log(enum log_level level, const char *line)
{
	const char *arrow = strstr(line, " -> ");

	if (level != LEVEL_DEBUG || arrow == NULL)
		return;
	while (arrow > line && arrow[-1] != ' ')
		arrow--;
	text_addf(&st.moved, "%s;", arrow);
}

/* --- the stage --- */

static struct config *stage_config(const char *db)
{
	char path[] = "/tmp/server_ini_XXXXXX";
	const int fd = mkstemp(path);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	struct err e = { .text = "" };

	assert_non_null(out);
	fprintf(out, "[databases]\nshop = host=127.0.0.1 %s\n[pgbouncer]\n"
	    "listen_port = 6432\nauth_type = any\n", db);
	assert_int_equal(fclose(out), 0);
	struct config *c = config_load(path, NULL, NULL, NULL, &e);

	unlink(path);
	assert_string_equal(c == NULL ? e.text : "", "");
	return c;
}

static void stage_open(const struct server_ops *ops, const char *db)
{
	struct catalog *cat;

	memset(&st, 0, sizeof st);
	st.peer = -1;
	text_init(&st.told, st.told_buf, sizeof st.told_buf);
	text_init(&st.moved, st.moved_buf, sizeof st.moved_buf);
	log_setup(&(struct log_opts){ .verbose = 1, .quiet = true });
	log_set_sink(stage_log);
	st.ss.loop = loop_new();
	st.config = stage_config(db);
	cat = st.ss.catalog = catalog_new(st.config);
	st.ss.params = params_table_new(NULL);
	st.ss.baggage = baggage_table_new();
	st.ss.server_ops = ops;
	assert_non_null(st.ss.params);
	assert_non_null(cat);
	timeout_list_init(&st.ss.connect_list, NULL, NULL);
	timeout_list_init(&st.ss.peer_list, NULL, NULL);
	timeout_list_init(&st.ss.own_query_list, NULL, NULL);
	st.pool = catalog_get_pool(cat, catalog_find_database(cat, "shop"),
	    catalog_get_user(cat, "ann"));
	assert_non_null(st.pool);
}

static void stage_stop(void *arg)
{
	loop_stop(arg);
}

static void stage_nothing(struct loop_task *t)
{
	(void)t;
}

/* What waits in sockets is read, and what is closed is freed. */
static void stage_turns(int n)
{
	struct loop_task nudge = { .run = stage_nothing };

	while (n-- > 0) {
		loop_again(st.ss.loop, &nudge);
		loop_run(st.ss.loop, stage_stop, st.ss.loop);
	}
}

static void stage_close(void)
{
	stage_turns(2);
	loop_finish(st.ss.loop);
	if (st.peer >= 0)
		close(st.peer);
	assert_int_equal(st.ss.servers, 0);
	assert_int_equal(mem_stat(MEM_SERVER)->used, 0);
	catalog_free(&st.ss.catalog);
	params_table_free(&st.ss.params);
	baggage_table_free(&st.ss.baggage);
	config_unref(&st.config);
	loop_free(&st.ss.loop);
	log_set_sink(NULL);
}

static int stage_socket(void)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK |
	    SOCK_CLOEXEC, 0, fds), 0);
	st.peer = fds[1];
	return fds[0];
}

/* What ops heard since this was asked last. */
__attribute__((unused)) static const char *stage_told(void)
{
	static char out[sizeof st.told_buf];

	text_copy(out, sizeof out, st.told_buf);
	text_init(&st.told, st.told_buf, sizeof st.told_buf);
	return out;
}

/* Which phases it came to, as the log says. */
__attribute__((unused)) static const char *stage_moved(void)
{
	static char out[sizeof st.moved_buf];

	text_copy(out, sizeof out, st.moved_buf);
	text_init(&st.moved, st.moved_buf, sizeof st.moved_buf);
	return out;
}

#endif
