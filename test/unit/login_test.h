/* login_test.h - for tests of logins: a configuration with the database shop
 * and the user ann, and strangers that come by real sockets. Who asks servers,
 * and what cancels, is faked.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_TEST_H
#define LOGIN_TEST_H

#include <setjmp.h>
#include <stdarg.h>
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
#include "broker/cancel.h"
#include "conf/config.h"
#include "io/loop.h"
#include "login/auth_query.h"
#include "login/login.h"
#include "login/login_lobby.h"
#include "login/login_parts.h"
#include "login/peer.h"
#include "pool/credentials.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/startup.h"
#include "session/client.h"
#include "session/sessions.h"
#include "upstream/tls_setup.h"

#define GUESTS 8

/* Loaded once, as that is slow; and its settings as they were. */
static struct config *login_config;
static struct settings login_settings;

static struct {
	struct sessions ss;
	struct tls_setup tls;
	struct settings *set;		/* of login_config: tests change it */
	struct client *c[GUESTS];	/* NULL: was closed */
	int end[GUESTS];		/* the peers' */
	unsigned guests;
	/* what was seen */
	const struct client_role *role;	/* by which c was let in, and: */
	struct client *admitted;
	size_t first_len;		/* of what the exchange ended with */
	unsigned asked, canceled, left;
	bool can_ask, ask_fails;	/* there is an auth_user */
	bool asks_otherwise;		/* than it has asked */
	unsigned ask_at;		/* the worker to ask; 0: the same */
	char closed[512];		/* "reason;" of each, by the log */
} st;

/* --- the neighbours, who take notes --- */

bool auth_query_is_possible(const struct client *c)
{
	return c->db != NULL && st.can_ask;
}

bool auth_query_is_here(const struct client *c)
{
	(void)c;
	return true;
}

bool auth_query_is_meant(const struct client *c)
{
	return auth_query_is_possible(c);
}

int auth_query_start(struct client *c, struct err *e)
{
	st.asked++;
	if (st.ask_fails)
		return err_set(e, "08P01", "bouncer config error");
	stream_pause(&c->stream);
	return 0;
}

unsigned auth_query_home(const struct client *c)
{
	return st.ask_at != 0 ? st.ask_at : c->ss->worker;
}

struct auth_errand *auth_errand_new(const struct client *c, unsigned home)
{
	(void)home;
	struct auth_errand *const e = mem_zalloc(sizeof *e);

	if (e == NULL)
		return NULL;
	e->home = c->ss->worker;
	e->has_database = c->db != NULL;
	writer_init(&e->params, 1000);
	params_list_write(c->ss->params, c->params, &e->params);
	return e;
}

struct auth_errand *auth_errand_copy(const struct auth_errand *e,
    const char *database)
{
	(void)e;
	(void)database;
	return NULL;
}

void auth_errand_free(struct auth_errand **e)
{
	if (*e != NULL)
		writer_fini(&(*e)->params);
	mem_free(*e);
	*e = NULL;
}

bool auth_errand_holds(const struct client *c)
{
	return auth_query_is_possible(c) && !st.asks_otherwise;
}

void auth_query_fini(struct auth_query *q)
{
	credentials_unref(&q->found);
	mem_free(q->name);
	q->name = NULL;
	auth_errand_free(&q->errand);
}

void auth_query_send(struct client *c)
{
	(void)c;
}

static void on_leave(struct client *c)
{
	for (unsigned i = 0; i < st.guests; i++)
		if (st.c[i] == c)
			st.c[i] = NULL;
}

/* The login of c is over: c is let in, or closed. */
void auth_query_leave(struct client *c)
{
	st.left++;
	if (c->role->admitted == NULL)
		on_leave(c);
}

void cancel_request(struct client *c, const uint8_t *key, size_t len)
{
	(void)key;
	st.canceled += len == 8;
	client_close(c, CLOSE_CANCEL_SENT);
}

static void on_admitted(struct client *c, const struct iovec *first)
{
	st.admitted = c;
	st.role = c->role;
	st.first_len = first->iov_len;
}

static void on_nothing(struct client *c)
{
	(void)c;
}

static const struct client_role roles[] = {
	{ .name = "relay", .admitted = on_admitted, .input = on_nothing,
	    .leave = on_leave },
	{ .name = "replication", .admitted = on_admitted,
	    .input = on_nothing, .leave = on_leave },
	{ .name = "console", .admitted = on_admitted, .input = on_nothing,
	    .leave = on_leave },
};

static void note_line(enum log_level level, const char *line)
{
	static const char mark[] = "closing because: ";
	const char *why = strstr(line, mark);
	const size_t used = strlen(st.closed);

	(void)level;
	if (why == NULL)
		return;
	why += sizeof mark - 1;
	snprintf(st.closed + used, sizeof st.closed - used, "%.*s;",
	    (int)(strstr(why, " (age") - why), why);
}

/* --- the stage --- */

static inline void write_file(char *path, const char *text)
{
	const int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static inline int login_load(void **state)
{
	char users[] = "/tmp/login_users_XXXXXX";
	char path[] = "/tmp/login_ini_XXXXXX";
	struct err e = { .text = "" };
	char text[512];

	(void)state;
	write_file(users, "\"ann\" \"secret\"\n");
	snprintf(text, sizeof text, "[databases]\nshop = host=127.0.0.1\n"
	    "[pgbouncer]\npool_mode = transaction\nlisten_port = 6432\nauth_type = plain\n"
	    "auth_file = %s\nadmin_users = ann\n", users);
	write_file(path, text);
	login_config = config_load(path, NULL, NULL, NULL, &e);
	unlink(path);
	unlink(users);
	assert_string_equal(login_config == NULL ? e.text : "", "");
	login_settings = login_config->set;
	return 0;
}

static inline int login_unload(void **state)
{
	(void)state;
	config_unref(&login_config);
	return 0;
}

static inline int login_setup(void **state)
{
	(void)state;
	memset(&st, 0, sizeof st);
	log_setup(&(struct log_opts){ .quiet = true });
	log_set_sink(note_line);
	st.ss.loop = loop_new();
	st.set = &login_config->set;
	st.ss.catalog = catalog_new(login_config);
	st.ss.params = params_table_new(NULL);
	st.ss.tls = &st.tls;
	st.ss.mock_shape = st.ss.own_lookups.shape = MOCK_SHAPE_SERVER;
	st.set->scram_iterations = 4;	/* cheap */
	st.ss.client_ops.relay = &roles[0];
	st.ss.client_ops.replication = &roles[1];
	st.ss.client_ops.console = &roles[2];
	lobby_init(&st.ss.lobby, time_now());
	login_queue_init(&st.ss.login_queue, st.ss.loop);
	timeout_list_init(&st.ss.login_list, NULL, NULL);
	return 0;
}

static inline int login_teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < st.guests; i++) {
		if (st.c[i] != NULL)
			client_close(st.c[i], CLOSE_SHUTDOWN);
		close(st.end[i]);
	}
	loop_finish(st.ss.loop);
	assert_int_equal(st.ss.logins, 0);
	assert_int_equal(st.ss.catalog->clients, 0);
	assert_int_equal(st.ss.lobby.count, 0);
	assert_int_equal(mem_stat(MEM_CLIENT)->used, 0);
	lobby_fini(&st.ss.lobby);
	catalog_free(&st.ss.catalog);
	params_table_free(&st.ss.params);
	*st.set = login_settings;
	loop_free(&st.ss.loop);
	log_set_sink(NULL);
	return 0;
}

#define LOGIN_TEST(t) \
	cmocka_unit_test_setup_teardown(t, login_setup, login_teardown)

static inline void login_stop(void *arg)
{
	loop_stop(arg);
}

static inline void login_nothing(struct loop_task *t)
{
	(void)t;
}

/* What was sent is read, and worked on in the turn that is next. */
static inline void login_turns(void)
{
	struct loop_task nudge = { .run = login_nothing };

	for (int i = 0; i < 4; i++) {
		loop_again(st.ss.loop, &nudge);
		loop_run(st.ss.loop, login_stop, st.ss.loop);
	}
}

/* Somebody connects from ip ("": by a Unix socket); NULL: was closed at once. */
static inline struct client *stranger(const char *ip)
{
	struct net_addr addr = { .family = NET_UNIX };
	int fds[2];

	if (ip[0] != '\0')
		assert_int_equal(net_parse_ip(ip, 4711, &addr), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK |
	    SOCK_CLOEXEC, 0, fds), 0);
	st.end[st.guests] = fds[1];
	struct client *const c = login_accept(&st.ss, fds[0], &addr);

	return st.c[st.guests++] = c;
}

/* Guest i says n bytes. */
static inline void guest_says(unsigned i, const void *p, size_t n)
{
	assert_int_equal(send(st.end[i], p, n, 0), n);
	login_turns();
}

/* A StartupMessage with these parameters: pairs of strings, and a NUL. */
static inline void guest_starts(unsigned i, const char *params, size_t n)
{
	uint8_t m[1024];

	msg_put_u32(m, (uint32_t)(8 + n));
	msg_put_u32(m + 4, PROTOCOL_3_0);
	memcpy(m + 8, params, n);
	guest_says(i, m, 8 + n);
}

#define STARTS(i, params) guest_starts(i, params, sizeof(params))
#define ANN "user\0ann\0database\0shop\0"

static inline void guest_password(unsigned i, const char *password)
{
	uint8_t m[256] = { FE_PASSWORD };
	const size_t n = strlen(password) + 1;

	msg_put_u32(m + 1, (uint32_t)(4 + n));
	memcpy(m + MSG_HEADER, password, n);
	guest_says(i, m, MSG_HEADER + n);
}

/* What guest i was told since this was asked last; its length in *n. */
static inline const char *guest_heard(unsigned i, size_t *n)
{
	static char got[4096];
	const ssize_t len = recv(st.end[i], got, sizeof got - 1, MSG_DONTWAIT);

	*n = len < 0 ? 0 : (size_t)len;
	got[*n] = '\0';
	return got;
}

/* Is it an error with this code and text, and nothing else? */
static inline bool guest_is_refused(unsigned i, const char *code,
    const char *text)
{
	size_t n;
	const char *got = guest_heard(i, &n);

	return n > 0 && got[0] == 'E' &&
	    memmem(got, n, code, strlen(code) + 1) != NULL &&
	    memmem(got, n, text, strlen(text) + 1) != NULL;
}

#define GUEST_HEARD(i, text) do { \
	size_t heard; \
	const char *got = guest_heard(i, &heard); \
	assert_int_equal(heard, sizeof(text) - 1); \
	assert_memory_equal(got, text, heard); \
} while (0)

#endif
