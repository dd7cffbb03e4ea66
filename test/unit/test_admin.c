/* test_admin.c - a console over a socket pair, with the app faked.
 * SPDX-License-Identifier: ISC */
#include "console/admin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/broker.h"
#include "broker/cancel.h"
#include "conf/persist.h"
#include "console/console.h"
#include "console/selection.h"
#include "console/view_fds.h"
#include "console/views.h"
#include "io/loop.h"
#include "login/peer.h"
#include "pool/catalog.h"
#include "pool/hosts.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "session/client.h"
#include "session/server.h"

/* One console, and what the app behind it was told. */
struct stage {
	struct admin admin, others;	/* ... of another worker, if it is next */
	struct sessions ss, others_ss;
	struct config *config;
	struct client client, other;
	int peer;			/* the other end of client's socket */
	char out[1 << 17];		/* read() as text */
	struct text told, logged;
	char told_buf[1024], logged_buf[4096];
	bool quiet;			/* what broker_is_quiet() says */
	int refuse;			/* what suspend_begin() says */
	unsigned reloads;		/* begun */
	bool hangs;			/* the other worker does */
	unsigned holds;			/* that there were */
	bool held;			/* one lasts */
};

static struct stage st;

/* --- what is faked --- */

static unsigned op_reload(void *app)
{
	(void)app;
	text_add(&st.told, "reload;");
	return ++st.reloads;
}

static int op_set(void *app, const char *key, const char *value,
    struct err *e)
{
	(void)app;
	text_addf(&st.told, "set %s=%s;", key, value);
	return strcmp(value, "bad") == 0 ? err_set(e, "22023", "bad") : 0;
}

static unsigned op_persist(void *app, const struct persist_entry *entry,
    struct err *e)
{
	(void)app;
	text_addf(&st.told, "persist %s=%s by %s;", entry->key, entry->value,
	    entry->by);
	if (strcmp(entry->value, "bad") != 0)
		return ++st.reloads;
	(void)err_set(e, "22023", "not that");
	return 0;
}

int cancel_by_admin(struct client *owner, struct err *e)
{
	(void)e;
	text_addf(&st.told, "cancel %d;", (int)owner->id);
	return 0;
}

void server_close(struct server *s, enum close_reason reason)
{
	text_addf(&st.told, "close server %d: %s;", (int)s->id,
	    close_reason_text(reason));
	pool_server_set(&s->ps, SERVER_GONE);
}

void broker_drain_hosts(struct sessions *ss)
{
	text_addf(&st.told, "drain %s;", ss->catalog->drained->host);
}

void broker_drain(struct sessions *ss, const struct database *db)
{
	(void)ss;
	text_addf(&st.told, "drain %s;", db != NULL ? db->name : "all");
}

static void op_exit(void *app)
{
	(void)app;
	text_add(&st.told, "exit 0;");
}

static void op_shutdown(void *app, enum shutdown_mode mode)
{
	(void)app;
	st.ss.shutdown = mode;
	text_addf(&st.told, "shutdown %d;", mode);
}

static void op_drain(void *app, const usec_t *time)
{
	(void)app;
	text_addf(&st.told, "drain %lld;", time == NULL ? -1LL :
	    (long long)*time);
}

static void op_pause(void *app)
{
	(void)app;
	st.ss.catalog->paused = true;
	text_add(&st.told, "pause;");
}

static void op_resume(void *app)
{
	(void)app;
	st.ss.catalog->paused = false;
	text_add(&st.told, "resume;");
}

void broker_pause_changed(struct sessions *ss)
{
	(void)ss;
	text_add(&st.told, "pause changed;");
}

void broker_retry(struct sessions *ss, const struct database *db)
{
	(void)ss;
	(void)db;
	text_add(&st.told, "retry;");
}

void broker_reconnect(struct sessions *ss, struct database *db)
{
	(void)ss;
	text_addf(&st.told, "reconnect %s;", db->name);
}

void broker_kill_pool(struct sessions *ss, struct pool *p)
{
	text_addf(&st.told, "kill %s/%s;", p->key.db->name, p->key.user->name);
	catalog_drop_pool(ss->catalog, p);
}

bool broker_is_quiet(const struct sessions *ss, const struct database *db)
{
	(void)ss;
	(void)db;
	return st.quiet;
}

void peer_sort(struct sessions *ss)
{
	assert_null(ss->peers);
}

void client_new_key(struct client *c)
{
	memcpy(c->key, "\1\2\3\4\5\6\7\10", CLIENT_KEY_BYTES);
	c->key_len = CLIENT_KEY_BYTES;
}

void client_close_cause(struct client *c, struct close_cause why)
{
	if (!client_is_open(c))
		return;
	text_addf(&st.told, "close: %s;", why.text);
	stream_close(&c->stream);
	if (c->console != NULL)
		admin_role()->leave(c);
	carry_fini(&c->carry);
	if (c->pc.pool != NULL)
		pool_client_set(&c->pc, CLIENT_LOGIN);
}

void client_close(struct client *c, enum close_reason reason)
{
	client_close_cause(c, close_cause(reason));
}

void client_fail_cause(struct client *c, struct close_cause why)
{
	if (!client_is_open(c))
		return;
	text_addf(&st.told, "fail %s: %s;",
	    why.code != NULL ? why.code : "08P01", why.text);
	why.text = "failed";
	client_close_cause(c, why);
}

void client_fail(struct client *c, enum close_reason reason)
{
	client_fail_cause(c, close_cause(reason));
}

bool fds_may_pass(const struct client *c, const struct selection *s)
{
	return c->own_user && strcmp(s->view->topic, "FDS") == 0;
}

int fds_pass(struct console *k, const struct view *v, struct err *e)
{
	(void)v;
	text_add(&st.told, "pass;");
	console_notice(k, "passed", NULL);
	return st.quiet ? 0 : err_set(e, "58000", "broken");
}

static void fds_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	(void)a;
	(void)v;
	sink->row(sink, (const struct cell[]){ cell_number(7) });
}

struct view_group view_group_fds(void)
{
	static const struct column columns[] = { { .name = "fd",
		.type = COL_INT4 } };
	static const struct view fds = { .topic = "FDS",
		VIEW_COLUMNS(columns), .rows = fds_rows, .admin = true };

	return (struct view_group){ &fds, 1 };
}

static int op_suspend(void *app, struct err *e)
{
	(void)app;
	text_add(&st.told, "suspend;");
	if (st.refuse != 0)
		return err_set(e, "08P01", "not now");
	st.ss.suspended = true;
	return 0;
}

static bool op_is_suspended(void *app)
{
	(void)app;
	return st.ss.suspended && st.quiet;
}

static int op_hold(void *app, struct err *e)
{
	(void)app;
	assert_false(st.held);
	if (st.hangs)
		return err_set(e, "58000", "a worker does not answer");
	st.held = true;
	st.holds++;
	return 0;
}

static void op_let_go(void *app)
{
	(void)app;
	assert_true(st.held);
	st.held = false;
}

static const struct admin_ops admin_ops = {
	.pause = op_pause,
	.resume = op_resume,
	.suspend = op_suspend,
	.is_suspended = op_is_suspended,
	.shutdown = op_shutdown,
	.drain = op_drain,
	.exit = op_exit,
	.reload = op_reload,
	.set = op_set,
	.persist = op_persist,
	.hold = op_hold,
	.let_go = op_let_go,
};

int client_send_login(struct client *c, const struct iovec *v)
{
	(void)c;
	assert_int_equal(v->iov_len, 0);
	return 0;
}

/* --- the stage --- */

static const struct iovec no_bytes;

static void on_readable(struct stream *s)
{
	admin_role()->input((struct client *)s);
}

static void on_drained(struct stream *s)
{
	admin_role()->drained((struct client *)s);
}

static const struct stream_ops ops = { .readable = on_readable,
	.drained = on_drained };

static void sink(enum log_level level, const char *line)
{
	if (level <= LEVEL_INFO)
		text_addf(&st.logged, "%d %s\n", level, line);
}

static void describe(const struct log_who *who, struct log_facts *out)
{
	(void)who;
	*out = (struct log_facts){ .side = 'C', .object = (const void *)0x10,
		.peer = 7, .address = "x" };
}

/* A logged-in client of the console's pool. */
static void enter(struct client *c, int fd)
{
	c->ss = &st.ss;
	c->role = admin_role();
	c->who.describe = describe;
	c->params = params_empty(st.ss.params);
	c->addr.family = NET_UNIX;
	c->id = ++st.ss.last_id;
	c->born = c->request_time = time_now();
	c->db = st.ss.catalog->console;
	c->user = catalog_find_user(st.ss.catalog, "pgbouncer");
	assert_int_equal(stream_open(&c->stream, st.ss.loop, fd, &ops), 0);
	c->pc.pool = st.ss.catalog->pools;
	pool_client_set(&c->pc, CLIENT_ACTIVE);
}

static int set_up(void **state)
{
	int fds[2];

	(void)state;
	memset(&st, 0, sizeof st);
	text_init(&st.told, st.told_buf, sizeof st.told_buf);
	text_init(&st.logged, st.logged_buf, sizeof st.logged_buf);
	log_set_sink(sink);
	st.ss.loop = loop_new();
	st.config = config_seed(0);
	assert_non_null(st.config);
	st.ss.catalog = catalog_new(st.config);
	assert_non_null(st.ss.catalog);
	st.ss.params = params_table_new(NULL);
	st.admin = (struct admin){ .ops = &admin_ops, .ss = &st.ss };
	st.others = (struct admin){ .ops = &admin_ops, .ss = &st.others_ss };
	st.ss.admin = &st.admin;
	st.ss.client_ops.console = admin_role();
	st.other.stream.fd = -1;
	assert_int_equal(socketpair(AF_UNIX,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	st.peer = fds[1];
	enter(&st.client, fds[0]);
	st.client.admin = true;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	client_close(&st.client, CLOSE_SHUTDOWN);
	client_close(&st.other, CLOSE_SHUTDOWN);
	assert_false(st.held);
	catalog_free(&st.others_ss.catalog);
	params_unref(&st.client.params);
	params_unref(&st.other.params);
	close(st.peer);
	params_table_free(&st.ss.params);
	catalog_free(&st.ss.catalog);
	config_unref(&st.config);
	loop_free(&st.ss.loop);
	log_set_sink(NULL);
	return 0;
}

/* As the loop would: until nothing is left to do. */
static void turn_once(void *arg)
{
	(void)arg;
	admin_turn(&st.admin);
	loop_stop(st.ss.loop);
}

/* A task that makes the turn come at once, whatever else waits. */
static void nothing(struct loop_task *t)
{
	(void)t;
}

static void turns(int n)
{
	struct loop_task nudge = { .run = nothing };

	while (n-- > 0) {
		loop_again(st.ss.loop, &nudge);
		loop_run(st.ss.loop, turn_once, NULL);
	}
}

static void send_bytes(const void *p, size_t n)
{
	assert_int_equal(write(st.peer, p, n), (ssize_t)n);
}

static void send_query(const char *sql)
{
	uint8_t header[MSG_HEADER] = { FE_QUERY };

	msg_put_u32(header + 1, (uint32_t)strlen(sql) + 5);
	send_bytes(header, sizeof header);
	send_bytes(sql, strlen(sql) + 1);
}

/* "Type:body " of each message; what can't be printed is '.'. */
static const char *receive(void)
{
	static uint8_t in[1 << 16];
	struct text t;
	ssize_t n;

	turns(3);
	n = read(st.peer, in, sizeof in);
	text_init(&t, st.out, sizeof st.out);
	for (ssize_t at = 0; at + MSG_HEADER <= n;) {
		const ssize_t end = at + (ssize_t)msg_size(in + at, 1 << 20);

		assert_true(end <= n);
		text_addf(&t, "%c:", in[at]);
		for (at += MSG_HEADER; at < end; at++)
			text_addf(&t, "%c", in[at] < ' ' || in[at] > '~' ?
			    '.' : in[at]);
		text_add(&t, " ");
	}
	return st.out;
}

static const char *ask(const char *sql)
{
	send_query(sql);
	return receive();
}

#define ERROR_OF(text) "E:SERROR.VERROR.C08P01.M" text ".. Z:I "

static void open_console(void)
{
	admin_role()->admitted(&st.client, &no_bytes);
	receive();
}

/* --- tests --- */

static void test_welcome_tells_parameters_and_key(void **state)
{
	const int i = params_find(st.ss.params, "application_name");

	(void)state;
	assert_int_equal(params_set(&st.client.params, i, "psql"), 0);
	admin_role()->admitted(&st.client, &no_bytes);
	assert_string_equal(receive(), "R:.... "
	    "S:server_version.1.25.2/bouncer. S:client_encoding.UTF8. "
	    "S:server_encoding.UTF8. S:DateStyle.ISO. S:TimeZone.GMT. "
	    "S:standard_conforming_strings.on. S:is_superuser.on. "
	    "S:application_name.psql. K:........ Z:I ");
	assert_ptr_equal(st.admin.consoles, st.client.console);
}

static void test_query_sent_behind_the_password_is_answered(void **state)
{
	static const uint8_t query[] = "Q\0\0\0\17SHOW STATE";

	(void)state;
	assert_int_equal(carry_keep(&st.client.carry, query, sizeof query), 0);
	admin_role()->admitted(&st.client, &no_bytes);
	assert_non_null(strstr(receive(), "Z:I T:..key"));
}

static void test_show_gives_rows(void **state)
{
	(void)state;
	open_console();
	assert_string_equal(ask("show STATE;"),
	    "T:..key...................value................... "
	    "D:......active....yes D:......paused....no "
	    "D:......suspended....no C:SHOW. Z:I ");
	assert_non_null(strstr(ask("SELECT version"), "PgBouncer 1.25.2"));
	assert_non_null(strstr(st.out, "C:SHOW. Z:I "));
	assert_non_null(strstr(ask("SHOW CLIENTS"), "pgbouncer....none"));
	assert_non_null(strstr(st.out, "....idle....unix"));
}

static void test_help_lists_topics_and_commands(void **state)
{
	(void)state;
	open_console();
	static const char *const parts[] = { "N:SNOTICE.VNOTICE.C00000.MConsole usage.D"
	    "..SHOW HELP|DATABASES|USERS|PEERS|POOLS|", "..SHOW ",
	    "|CLIENTS|", "|STATS", "..SET [PERSIST] key = arg..", "..RELOAD..",
	    "..PAUSE [<db>]..", "..KILL_CLIENT <client_id>",
	    "..SHUTDOWN..SHUTDOWN WAIT_FOR_SERVERS|WAIT_FOR_CLIENTS..",
	    "..WAIT_CLOSE [<db>]", ".. C:SHOW. Z:I " };
	const char *const help = ask("SHOW HELP");

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (strstr(help, parts[i]) == NULL)
			fail_msg("no %s in %s", parts[i], help);
	}
}

static void test_errors_leave_the_session_open(void **state)
{
	static const struct {
		const char *sql, *answer;
	} samples[] = {
		{ "foo", ERROR_OF("invalid command 'foo', use SHOW HELP;") },
		{ "", ERROR_OF("invalid command '', use SHOW HELP;") },
		{ "SHOW", ERROR_OF("invalid command 'SHOW', use SHOW HELP;") },
		{ "SUSPEND x",
		    ERROR_OF("invalid command 'SUSPEND x', use SHOW HELP;") },
		{ "RELOAD x",
		    ERROR_OF("invalid command 'RELOAD x', use SHOW HELP;") },
		{ "SHUTDOWN now", ERROR_OF(
		    "invalid command 'SHUTDOWN now', use SHOW HELP;") },
		{ "SET \"\" = 1", ERROR_OF("bad arguments") },
		{ "PAUSE x", ERROR_OF("no such database: x") },
		{ "PAUSE pgbouncer",
		    ERROR_OF("cannot pause admin db: pgbouncer") },
		{ "KILL pgbouncer",
		    ERROR_OF("cannot kill admin db: pgbouncer") },
		{ "RECONNECT pgbouncer",
		    ERROR_OF("cannot reconnect admin db: pgbouncer") },
		{ "WAIT_CLOSE pgbouncer",
		    ERROR_OF("cannot wait in admin db: pgbouncer") },
		{ "DISABLE pgbouncer",
		    ERROR_OF("cannot disable admin db: pgbouncer") },
		{ "ENABLE pgbouncer",
		    ERROR_OF("cannot enable admin db: pgbouncer") },
		{ "DISABLE", ERROR_OF("a database is required") },
		{ "ENABLE", ERROR_OF("a database is required") },
		{ "RESUME", ERROR_OF("pooler is not paused/suspended") },
		{ "RESUME x", ERROR_OF("no such database: x") },
		{ "RESUME pgbouncer",
		    ERROR_OF("database pgbouncer is not paused") },
		{ "KILL_CLIENT",
		    ERROR_OF("invalid client pointer supplied") },
		{ "KILL_CLIENT x1",
		    ERROR_OF("invalid client pointer supplied") },
		{ "KILL_CLIENT 99", ERROR_OF("client not found") },
		{ "SET x = bad", ERROR_OF("SET failed.Dbad") },
	};

	(void)state;
	open_console();
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
		assert_string_equal(ask(samples[i].sql), samples[i].answer);
	assert_string_equal(st.told.at, "set x=bad;");
}

static void test_long_query_is_shown_cut_between_characters(void **state)
{
	char sql[2001];

	(void)state;
	open_console();
	for (size_t i = 1; i < sizeof sql - 1; i += 2)
		memcpy(sql + i, "\303\251", 2);	/* U+00E9 */
	sql[0] = 'x';
	sql[sizeof sql - 2] = 'x';
	sql[sizeof sql - 1] = '\0';
	send_query(sql);
	turns(3);
	ssize_t n = read(st.peer, st.out, sizeof st.out);
	const char *const quote = memchr(st.out, '\'', (size_t)n);

	assert_non_null(quote);
	assert_int_equal(strspn(quote + 2, "\303\251"), 898);
	assert_int_equal(quote[1 + 1 + 898], '\'');
}

static void test_stats_users_only_read(void **state)
{
	static const char *const denied[] = { "RELOAD", "PAUSE", "RESUME",
		"DISABLE x", "ENABLE x", "KILL", "KILL_CLIENT 1", "RECONNECT",
		"WAIT_CLOSE", "DRAIN", "DRAIN x", "KILL_SERVER 1",
		"CANCEL_CLIENT 1", "LOG x", "FORGET USER x", "SET PERSIST verbose = 1",
		"SHUTDOWN", "SHUTDOWN WAIT_FOR_SERVERS",
		"SET verbose = 1", "SUSPEND" };

	(void)state;
	st.client.admin = false;
	open_console();
	for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
		assert_string_equal(ask(denied[i]),
		    ERROR_OF("admin access needed"));
	assert_string_equal(st.told.at, "");
	assert_non_null(strstr(ask("SHOW STATE"), "C:SHOW."));
	assert_string_equal(ask("SET DateStyle = x"),
	    "N:SNOTICE.VNOTICE.C00000.MSET ignored.. C:SET. Z:I ");
	assert_string_equal(ask("RELOAD x"),
	    ERROR_OF("invalid command 'RELOAD x', use SHOW HELP;"));
}

/* The value has been tried; why: and refused. */
static void tell_persisted(const char *key, const char *value,
    const char *why)
{
	const struct persist_entry entry = { .key = key, .value = value,
		.by = "x" };
	struct err e = { .text = "" };
	const struct admin_persist p = { .entry = &entry,
		.failed = why != NULL, .why = &e };

	if (why != NULL)
		(void)err_set(&e, "22023", "%s", why);
	admin_persisted(&st.admin, st.reloads, &p);
}

static void test_persist_is_answered_when_it_was_tried(void **state)
{
	(void)state;
	open_console();
	assert_string_equal(ask("SET PERSIST a = b"), "");
	/* a reload of that number, and another's value, are not waited for */
	admin_reloaded(&st.admin, st.reloads, NULL, "");
	admin_turn(&st.admin);
	st.reloads--;
	tell_persisted("a", "b", NULL);
	st.reloads++;
	/* nobody can tell whether it is in force already */
	admin_cancel(&st.client);
	assert_string_equal(receive(), "");
	tell_persisted("a", "b", "no file");
	assert_string_equal(receive(), "E:SERROR.VERROR.C22023.Mno file.. Z:I ");
	assert_string_equal(ask("LOG x"), "C:LOG. Z:I ");
}

static void test_commands_of_ours(void **state)
{
	struct server s = { .id = 77 };

	(void)state;
	open_console();
	assert_string_equal(ask("LOG hello  there ;"), "C:LOG. Z:I ");
	assert_string_equal(ask("LOG"),
	    ERROR_OF("invalid command 'LOG', use SHOW HELP;"));
	assert_non_null(strstr(st.logged.at, "hello  there"));
	assert_string_equal(ask("KILL_SERVER x"),
	    ERROR_OF("invalid server pointer supplied"));
	assert_string_equal(ask("KILL_SERVER 77"),
	    ERROR_OF("server not found"));
	s.ps = (struct pool_server){ .pool = st.ss.catalog->pools,
		.state = SERVER_GONE };
	pool_server_set(&s.ps, SERVER_IDLE);
	assert_string_equal(ask("KILL_SERVER 77"), "C:KILL_SERVER. Z:I ");
	assert_string_equal(ask("CANCEL_CLIENT 1"),
	    ERROR_OF("client is a console: KILL_CLIENT ends it"));
	assert_string_equal(ask("CANCEL_CLIENT 99"),
	    ERROR_OF("client not found"));
	assert_string_equal(ask("SET PERSIST a = 'b c'"), "");
	tell_persisted("a", "b c", NULL);
	assert_string_equal(receive(), "C:SET a=b c. Z:I ");
	assert_string_equal(ask("SET PERSIST a = bad"),
	    "E:SERROR.VERROR.C22023.Mnot that.. Z:I ");
	assert_string_equal(ask("SET persist = 1"), "C:SET persist=1. Z:I ");
	assert_string_equal(ask("DRAIN HOST 10.0.0.7;"), "C:DRAIN. Z:I ");
	assert_non_null(strstr(ask("SHOW STATE"), "drained....10.0.0.7"));
	assert_string_equal(ask("RESUME HOST x"),
	    ERROR_OF("host x is not being drained"));
	assert_string_equal(ask("RESUME HOST '10.0.0.7'"), "C:RESUME. Z:I ");
	ask("DRAIN HOST \"Db-1\"");
	assert_string_equal(ask("RESUME"), "C:RESUME. Z:I ");
	assert_string_equal(ask("RESUME"),
	    ERROR_OF("pooler is not paused/suspended"));
	assert_string_equal(ask("DRAIN"), "C:DRAIN. Z:I ");
	assert_string_equal(ask("DRAIN"), ERROR_OF("already suspended/paused"));
	assert_string_equal(ask("DRAIN pgbouncer"),
	    ERROR_OF("already suspended/paused"));
	assert_string_equal(ask("RESUME"), "C:RESUME. Z:I ");
	assert_string_equal(ask("DRAIN pgbouncer"),
	    ERROR_OF("cannot drain admin db: pgbouncer"));
	assert_string_equal(st.told.at, "close server 77: admin forced "
	    "disconnect;persist a=b c by pgbouncer;persist a=bad by "
	    "pgbouncer;set persist=1;drain 10.0.0.7;pause changed;"
	    "drain Db-1;pause changed;drain all;pause;resume;");
}

static void test_set_tells_what_was_set(void **state)
{
	(void)state;
	open_console();
	assert_string_equal(ask("SET log_stats = '0'"),
	    "C:SET log_stats=0. Z:I ");
	assert_string_equal(st.told.at, "set log_stats=0;");
}

static void test_reload_that_fails_says_so(void **state)
{
	struct err e;

	(void)state;
	open_console();
	assert_string_equal(ask("RELOAD"), "");
	admin_reloaded(&st.admin, st.reloads, NULL, "");
	assert_string_equal(receive(), "C:RELOAD. Z:I ");
	assert_string_equal(st.logged.at, "3 RELOAD command issued\n");
	st.logged.at[st.logged.len = 0] = '\0';
	assert_string_equal(ask("RELOAD"), "");
	/* one that read the file too early is of no use */
	admin_reloaded(&st.admin, st.reloads - 1, NULL, "");
	assert_string_equal(receive(), "");
	err_set(&e, "F0000", "RELOAD failed, see logs for additional details");
	admin_reloaded(&st.admin, st.reloads, &e, "not said");
	assert_string_equal(receive(), "E:SERROR.VERROR.CF0000.MRELOAD failed, "
	    "see logs for additional details.. Z:I ");
	assert_string_equal(st.logged.at, "3 RELOAD command issued\n"
	    "1 RELOAD Failed, see logs for more details\n"
	    "2 C-0x10: peer-7@x pooler error: RELOAD failed, see logs for "
	    "additional "
	    "details\n");
}

static void test_reload_may_be_left(void **state)
{
	(void)state;
	open_console();
	assert_string_equal(ask("RELOAD"), "");
	admin_cancel(&st.client);
	assert_string_equal(receive(), "E:SERROR.VERROR.C57014.Mcanceling statement "
	    "due to user request.. Z:I ");
	/* nobody waits for it any more */
	admin_reloaded(&st.admin, st.reloads, NULL, "");
	assert_string_equal(ask("LOG x"), "C:LOG. Z:I ");
}

static void test_errors_are_logged_twice(void **state)
{
	(void)state;
	open_console();
	ask("RESUME db");
	assert_string_equal(st.logged.at, "3 RESUME 'db' command issued\n"
	    "1 no such database: db\n"
	    "2 C-0x10: peer-7@x pooler error: no such database: db\n");
}

static void test_suspend_replies_when_nothing_moves(void **state)
{
	(void)state;
	open_console();
	assert_string_equal(ask("SUSPEND"), "");
	assert_string_equal(st.told.at, "suspend;");
	st.quiet = true;
	assert_string_equal(receive(), "C:SUSPEND. Z:I ");
	assert_string_equal(ask("SUSPEND"),
	    ERROR_OF("already suspended/paused"));
	assert_string_equal(ask("KILL"), ERROR_OF("already suspended/paused"));
}

static void test_fds_are_passed_to_the_own_user_only(void **state)
{
	(void)state;
	open_console();
	assert_non_null(strstr(ask("SHOW FDS"), "C:SHOW. Z:I "));
	assert_string_equal(st.told.at, "");
	st.client.own_user = true;
	st.quiet = true;
	assert_string_equal(ask("SHOW FDS"),
	    "N:SNOTICE.VNOTICE.C00000.Mpassed.. C:SHOW. Z:I ");
	assert_string_equal(st.told.at, "pass;");
	st.quiet = false;
	ask("SHOW FDS");
	assert_string_equal(st.told.at, "pass;pass;close: broken;");
}

static void test_pause_replies_when_all_is_quiet(void **state)
{
	(void)state;
	open_console();
	assert_string_equal(ask("PAUSE"), "");
	assert_string_equal(st.told.at, "pause;");
	/* what comes meanwhile waits for the reply */
	assert_string_equal(ask("SHOW timezone"), "");
	st.quiet = true;
	assert_string_equal(receive(), "C:PAUSE. Z:I "
	    "T:..timezone................... D:......GMT C:SHOW. Z:I ");
	assert_string_equal(ask("PAUSE"),
	    ERROR_OF("already suspended/paused"));
	assert_string_equal(ask("KILL"), ERROR_OF("already suspended/paused"));
	assert_string_equal(ask("RESUME"), "C:RESUME. Z:I ");
}

static void test_cancel_lifts_the_pause_it_waits_for(void **state)
{
	(void)state;
	open_console();
	admin_cancel(&st.client);	/* nothing is blocked: nothing happens */
	assert_string_equal(ask("PAUSE"), "");
	admin_cancel(&st.client);
	assert_string_equal(receive(), "E:SERROR.VERROR.C57014.M"
	    "canceling statement due to user request.. Z:I ");
	assert_string_equal(st.told.at, "pause;resume;");
}

static void test_pause_that_is_resumed_does_not_succeed(void **state)
{
	(void)state;
	open_console();
	assert_string_equal(ask("PAUSE"), "");
	op_resume(NULL);
	st.quiet = true;
	assert_string_equal(receive(),
	    ERROR_OF("pooler is not paused/suspended"));
}

static void test_console_that_hangs_up_while_blocked_is_closed(void **state)
{
	(void)state;
	open_console();
	assert_string_equal(ask("PAUSE"), "");
	shutdown(st.peer, SHUT_WR);
	turns(3);
	assert_null(st.client.console);
	assert_null(st.admin.consoles);
}

static void test_console_that_hung_up_before_it_blocks_is_closed(void **state)
{
	(void)state;
	open_console();
	send_query("PAUSE");
	shutdown(st.peer, SHUT_WR);
	turns(3);
	assert_null(st.client.console);
}

/* A database with a pool and one server of this state. */
static struct database *make_database(struct pool_server *ps,
    enum server_state server_state)
{
	struct database *const db = catalog_find_database(st.ss.catalog,
	    "pgbouncer");
	struct pool *const p = catalog_get_pool(st.ss.catalog, db,
	    catalog_get_user(st.ss.catalog, "amy"));

	*ps = (struct pool_server){ .pool = p, .state = SERVER_GONE };
	pool_server_set(ps, server_state);
	st.ss.servers++;
	return db;
}

static void test_wait_close_waits_for_obsolete_servers(void **state)
{
	struct pool_server ps;

	(void)state;
	open_console();
	assert_string_equal(ask("WAIT_CLOSE"), "C:WAIT_CLOSE. Z:I ");
	make_database(&ps, SERVER_ACTIVE);
	ps.close_needed = true;
	assert_string_equal(ask("WAIT_CLOSE"), "");
	/* a pause that completes is not its business */
	st.quiet = true;
	assert_string_equal(receive(), "");
	ps.close_needed = false;
	assert_string_equal(receive(), "C:WAIT_CLOSE. Z:I ");
	pool_server_set(&ps, SERVER_GONE);
}

static void test_kill_client_ends_the_one_with_the_id(void **state)
{
	int fds[2];

	(void)state;
	open_console();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    fds), 0);
	enter(&st.other, fds[0]);
	assert_string_equal(ask("KILL_CLIENT 2x"), "C:KILL_CLIENT. Z:I ");
	assert_string_equal(st.told.at,
	    "fail 08P01: admin forced disconnect;close: failed;");
	assert_int_equal(st.other.stream.fd, -1);
	close(fds[1]);
	/* and itself */
	send_query("KILL_CLIENT 1");
	turns(3);
	assert_null(st.client.console);
}

static void test_kill_pauses_databases_and_drops_their_pools(void **state)
{
	static char auto_db[] = "host=/tmp";
	struct err e;

	(void)state;
	open_console();
	((struct config *)st.ss.catalog->config)->auto_db = auto_db;
	assert_non_null(catalog_auto_database(st.ss.catalog, "shop", &e));
	struct database *const db = catalog_find_database(st.ss.catalog,
	    "shop");

	catalog_get_pool(st.ss.catalog, db,
	    catalog_get_user(st.ss.catalog, "amy"));
	catalog_get_pool(st.ss.catalog, db,
	    catalog_get_user(st.ss.catalog, "bob"));
	assert_string_equal(ask("KILL"), "C:KILL. Z:I ");
	assert_true(db->paused);
	assert_null(db->pools);
	assert_false(st.ss.catalog->console->paused);
	assert_non_null(st.client.console);
	assert_string_equal(ask("RESUME shop"), "C:RESUME. Z:I ");
	assert_string_equal(ask("RESUME shop"),
	    ERROR_OF("database shop is not paused"));
	assert_string_equal(ask("PAUSE \"shop\""), "C:PAUSE. Z:I ");
	assert_true(db->paused);
	assert_string_equal(ask("DISABLE shop"), "C:DISABLE. Z:I ");
	assert_true(db->disabled);
	assert_string_equal(ask("ENABLE shop"), "C:ENABLE. Z:I ");
	assert_false(db->disabled);
	assert_string_equal(ask("ENABLE depot"),
	    ERROR_OF("no such database: depot"));
	assert_string_equal(ask("RECONNECT depot"), "C:RECONNECT. Z:I ");
	assert_string_equal(ask("RECONNECT"), "C:RECONNECT. Z:I ");
	assert_non_null(strstr(st.told.at, "reconnect depot;"));
	assert_non_null(strstr(st.told.at, "reconnect shop;"));
	assert_null(strstr(st.told.at, "reconnect pgbouncer;"));
}

static void test_shutdown_now_says_nothing(void **state)
{
	(void)state;
	open_console();
	assert_string_equal(ask("SHUTDOWN"), "");
	assert_string_equal(st.told.at, "exit 0;");
}

static void test_shutdown_with_a_mode_replies_at_once(void **state)
{
	(void)state;
	open_console();
	assert_string_equal(ask("shutdown wait_for_clients"),
	    "C:SHUTDOWN. Z:I ");
	assert_int_equal(st.ss.shutdown, SHUTDOWN_WAIT_FOR_CLIENTS);
	assert_string_equal(st.logged.at,
	    "3 SHUTDOWN WAIT_FOR_CLIENTS command issued\n");
	assert_string_equal(ask("RESUME"), ERROR_OF("pooler is shutting down"));
	assert_string_equal(ask("RESUME ALL"),
	    ERROR_OF("pooler is shutting down"));
	st.ss.shutdown = SHUTDOWN_DRAIN;
	assert_string_equal(ask("RESUME"),
	    ERROR_OF("pooler is not paused/suspended"));
}

static void test_drain_takes_seconds_or_none(void **state)
{
	(void)state;
	open_console();
	assert_string_equal(ask("shutdown drain"), "C:SHUTDOWN. Z:I ");
	assert_string_equal(ask("SHUTDOWN DRAIN 1.5;"), "C:SHUTDOWN. Z:I ");
	assert_string_equal(st.told.at, "drain -1;drain 1500000;");
	assert_non_null(strstr(ask("shutdown drain soon"), "SHUTDOWN DRAIN "
	    "takes a number of seconds, 0 or more"));
	assert_non_null(strstr(ask("shutdown drain -1"), "0 or more"));
	assert_non_null(strstr(ask("shutdown drain 1 2"), "invalid command"));
	assert_string_equal(st.told.at, "drain -1;drain 1500000;");
}

static void test_query_may_come_byte_by_byte(void **state)
{
	static const char query[] = "Q\0\0\0\22SHOW timezone";

	(void)state;
	open_console();
	for (size_t i = 0; i < sizeof query - 1; i++) {
		send_bytes(query + i, 1);
		turns(1);
	}
	assert_string_equal(receive(), "");
	send_bytes("", 1);
	assert_non_null(strstr(receive(), "GMT C:SHOW. Z:I "));
}

static void test_many_queries_in_one_segment_are_all_answered(void **state)
{
	static const char query[] = "Q\0\0\0\12RESUM";
	char all[100 * sizeof query];

	(void)state;
	open_console();
	for (size_t i = 0; i < 100; i++)
		memcpy(all + i * sizeof query, query, sizeof query);
	send_bytes(all, sizeof all);
	turns(8);
	receive();
	int answers = 0;

	for (const char *at = st.out; (at = strstr(at, "Z:I ")) != NULL; at++)
		answers++;
	assert_int_equal(answers, 100);
}

struct bytes {
	const char *p;
	size_t n;
	const char *answer, *told;
};

/* One session a sample. */
static void check_bytes(const struct bytes *b)
{
	set_up(NULL);
	open_console();
	send_bytes(b->p, b->n);
	assert_string_equal(receive(), b->answer);
	assert_string_equal(st.told.at, b->told);
	tear_down(NULL);
}

#define BYTES(literal) literal, sizeof literal - 1
#define ERROR_TO_SYNC(code, text) "E:SERROR.VERROR.C" code ".M" text ".. "
#define UNSUPPORTED(n) ERROR_OF("unsupported packet type for admin console: " n)
#define BAD "fail 08P01: bad packet;close: failed;"

static void test_other_messages_are_treated_as_specified(void **state)
{
	static const struct bytes samples[] = {
		{ BYTES("X\0\0\0\4"), "", "close: close req;" },
		{ BYTES("P\0\0\0\10\0x\0\0"), ERROR_TO_SYNC("08P01",
		    "invalid command 'x', use SHOW HELP;"), "" },
		{ BYTES("P\0\0\0\6\0x"), ERROR_TO_SYNC("08P01",
		    "invalid Parse message"), "" },
		{ BYTES("B\0\0\0\14"), "", "" },	/* half of one */
		{ BYTES("B\0\0\0\6\0\0"), ERROR_TO_SYNC("26000",
		    "prepared statement \"\" does not exist"), "" },
		{ BYTES("E\0\0\0\11\0\0\0\0\0"), ERROR_TO_SYNC("34000",
		    "portal \"\" does not exist"), "" },
		{ BYTES("S\0\0\0\4"), "Z:I ", "" },
		{ BYTES("D\0\0\0\6S\0"), ERROR_TO_SYNC("26000",
		    "prepared statement \"\" does not exist"), "" },
		{ BYTES("D\0\0\0\6X\0"), ERROR_TO_SYNC("08P01",
		    "invalid Describe message"), "" },
		{ BYTES("H\0\0\0\4"), "", "" },
		{ BYTES("F\0\0\0\4"), UNSUPPORTED("70"), BAD },
		{ BYTES("C\0\0\0\7Sa\0"), "3: ", "" },
		{ BYTES("C\0\0\0\6S\0"), "3: ", "" },
		{ BYTES("C\0\0\0\6Pa"), ERROR_TO_SYNC("08P01",
		    "invalid Close message"), "" },
		/* after an error, nothing is heard before Sync */
		{ BYTES("D\0\0\0\6P\0" "C\0\0\0\6S\0" "Q\0\0\0\5\0"
		    "S\0\0\0\4" "C\0\0\0\6S\0"), ERROR_TO_SYNC("34000",
		    "portal \"\" does not exist") "Z:I 3: ", "" },
		{ BYTES("d\0\0\0\7abcc\0\0\0\4f\0\0\0\5\0"), "", "" },
		{ BYTES("p\0\0\0\5\0"), "",
		    "fail 08P01: unknown pkt;close: failed;" },
		{ BYTES("Q\0\0\0\3\0\0\0\0"), "", "fail 08P01: bad packet "
		    "header: '5100000003000000';close: failed;" },
		{ BYTES("Q\0\0\0\6ab"), "", BAD },
		{ BYTES("Q\0\0\0\10a\0b\0"), "", BAD },
		{ BYTES("Q\0\20\0\0a"), "", "fail 08P01: query too long for "
		    "admin console;close: failed;" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
		check_bytes(&samples[i]);
}

static void test_pqexec_can_be_disallowed(void **state)
{
	(void)state;
	((struct config *)st.ss.catalog->config)->set.disable_pqexec = 1;
	open_console();
	ask("SHOW STATE");
	assert_string_equal(st.told.at,
	    "fail 08P01: PQexec disallowed;close: failed;");
}

static void test_result_nobody_reads_stops_the_input(void **state)
{
	size_t total = 0, queries = 0;
	ssize_t n;

	(void)state;
	open_console();
	while (!stream_is_blocked(&st.client.stream) && queries < 10000) {
		send_query("SHOW CONFIG");
		turns(1);
		queries++;
	}
	assert_true(stream_is_blocked(&st.client.stream));
	const size_t queued = stream_queued(&st.client.stream);

	for (int i = 0; i < 5; i++) {
		send_query("SHOW CONFIG");
		queries++;
	}
	turns(10);
	assert_int_equal(stream_queued(&st.client.stream), queued);
	/* it goes on, and nothing is lost */
	do {
		turns(2);
		n = read(st.peer, st.out, sizeof st.out);
		total += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	assert_false(stream_is_blocked(&st.client.stream));
	assert_int_equal(total % queries, 0);
	assert_true(total / queries > 4000);
}

/* --- SHOW of very many --- */

#define MANY 5000
#define STRIDE 1237		/* they come in no order */

static struct pool *pool_of(unsigned n)
{
	struct catalog *const cat = n < MANY ? st.ss.catalog :
	    st.others_ss.catalog;
	char name[16];

	snprintf(name, sizeof name, "u%04u", n);
	return catalog_get_pool(cat, catalog_find_database(cat, "shop"),
	    catalog_get_user(cat, name));
}

static void make_many(void)
{
	static char auto_db[] = "host=/tmp";
	struct err e;

	open_console();
	((struct config *)st.ss.catalog->config)->auto_db = auto_db;
	assert_non_null(catalog_auto_database(st.ss.catalog, "shop", &e));
	for (unsigned i = 0; i < MANY; i++)
		assert_non_null(pool_of(i * STRIDE % MANY));
}

/* As many, of another worker. */
static void make_others(void)
{
	struct err e;

	make_many();
	st.others_ss.catalog = catalog_new_part(st.config,
	    (struct catalog_part){ .index = 1, .count = 2 });
	assert_non_null(catalog_auto_database(st.others_ss.catalog, "shop", &e));
	for (unsigned i = 0; i < MANY; i++)
		assert_non_null(pool_of(MANY + i * STRIDE % MANY));
	st.admin.next = &st.others;
}

/* What has come, up to so many ReadyForQuery. */
struct heard {
	unsigned rows, ready;
	char last[16];		/* user of the last row */
	bool sorted;
	char kinds[64];		/* of all but rows */
};

static void hear_message(struct heard *h, const uint8_t *m, size_t n)
{
	const size_t kinds = strlen(h->kinds);
	const uint8_t *const user = memmem(m, n, "\0\0\0\5u", 5);

	if (m[0] != BE_DATA_ROW) {
		h->ready += m[0] == BE_READY_FOR_QUERY;
		if (kinds < sizeof h->kinds - 1)
			h->kinds[kinds] = (char)m[0];
		return;
	}
	h->rows++;
	if (user == NULL)
		return;
	h->sorted &= memcmp(h->last, user + 4, 5) < 0;
	memcpy(h->last, user + 4, 5);
}

static void hear(struct heard *h, unsigned ready)
{
	static uint8_t in[4 << 20];
	size_t have = 0, at = 0, tried = 0;

	*h = (struct heard){ .sorted = true };
	while (h->ready < ready) {
		turns(1);
		assert_true(tried++ < 100000);
		const ssize_t n = read(st.peer, in + have, sizeof in - have);

		have += n > 0 ? (size_t)n : 0;
		for (size_t size; have - at >= MSG_HEADER &&
		    (size = msg_size(in + at, sizeof in)) <= have - at;
		    at += size)
			hear_message(h, in + at, size);
	}
	assert_int_equal(at, have);
}

/* Until it waits for its reader. */
static void stall_long(void)
{
	while (!stream_is_blocked(&st.client.stream))
		turns(1);
	assert_int_equal(st.client.console->wait, CONSOLE_SHOW);
}

static void begin_long(const char *sql)
{
	send_query(sql);
	stall_long();
}

static void test_long_show_is_written_bit_by_bit(void **state)
{
	struct heard h;

	(void)state;
	make_many();
	begin_long("SHOW POOLS");
	send_query("SHOW VERSION");
	const size_t queued = stream_queued(&st.client.stream);

	turns(10);
	assert_int_equal(stream_queued(&st.client.stream), queued);
	assert_true(queued < 1 << 18);
	/* one to come, and one that is not new */
	catalog_drop_pool(st.ss.catalog, pool_of(MANY - 2));
	hear(&h, 2);
	assert_int_equal(h.rows, MANY + 1);	/* the console's, the version */
	assert_true(h.sorted);
	assert_string_equal(h.last, "u4999");
	assert_string_equal(h.kinds, "TCZTCZ");
	assert_null(st.ss.catalog->all_pools.cursors);
}

/* as whoever pipes queries into a socket does */
static void test_what_came_before_the_end_of_input_is_answered(void **state)
{
	static const uint8_t cut[] = { FE_QUERY, 0, 0 };
	struct heard h;
	uint8_t byte;

	(void)state;
	make_many();
	send_query("SHOW POOLS");
	send_query("SHOW JSON POOLS");
	send_query("SHOW VERSION");
	send_bytes(cut, sizeof cut);
	shutdown(st.peer, SHUT_WR);
	hear(&h, 3);
	assert_string_equal(h.kinds, "TCZTCZTCZ");
	assert_int_equal(h.rows, MANY + 3);
	turns(10);
	assert_int_equal(read(st.peer, &byte, 1), 0);
}

static void test_long_show_may_have_all_that_a_short_one_has(void **state)
{
	static const struct {
		const char *sql;
		unsigned rows;
		const char *last;
	} samples[] = {
		{ "SHOW POOLS EXTENDED", MANY + 1, "u4999" },
		{ "SELECT user FROM pools WHERE user > 'u4000'", 999,
		    "u4999" },
		{ "SELECT user FROM pools LIMIT 300", 300, "u0298" },
		{ "SELECT user FROM pools LIMIT 0", 0, "" },
		{ "SELECT user FROM pools WHERE user > 'u' ORDER BY user "
		    "LIMIT 300", 300, "u0299" },
		{ "SHOW JSON POOLS", 1, "" },
	};
	struct heard h;

	(void)state;
	make_many();
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		send_query(samples[i].sql);
		hear(&h, 1);
		if (h.rows != samples[i].rows || !h.sorted ||
		    strcmp(h.last, samples[i].last) != 0 ||
		    strcmp(h.kinds, "TCZ") != 0)
			fail_msg("%s: %u rows, %s, %s", samples[i].sql,
			    h.rows, h.last, h.kinds);
	}
}

static void test_pool_made_anew_amid_a_long_show_is_not_told_twice(
    void **state)
{
	struct heard h;

	(void)state;
	make_many();
	begin_long("SHOW POOLS");
	catalog_drop_pool(st.ss.catalog, pool_of(3));
	assert_non_null(pool_of(3));
	hear(&h, 1);
	assert_int_equal(h.rows, MANY + 1);
	assert_true(h.sorted);
	assert_string_equal(h.last, "u4999");
}

static void test_order_does_not_wait_for_who_stalls_a_long_show(void **state)
{
	struct cursor stalled;
	struct heard h;

	(void)state;
	make_many();
	catalog_drop_pool(st.ss.catalog, pool_of(3));
	cursor_begin(&stalled, &st.ss.catalog->all_pools);
	assert_non_null(pool_of(3));
	send_query("SHOW POOLS");
	hear(&h, 1);
	assert_int_equal(h.rows, MANY + 1);
	assert_true(h.sorted);
	cursor_end(&stalled);
}

static void test_cancel_ends_a_long_show(void **state)
{
	struct heard h;

	(void)state;
	make_many();
	begin_long("SHOW POOLS");
	admin_cancel(&st.client);
	hear(&h, 1);
	assert_true(h.rows < MANY);
	assert_string_equal(h.kinds, "TEZ");
	assert_null(st.ss.catalog->all_pools.cursors);
	assert_non_null(strstr(ask("SHOW VERSION"), "C:SHOW. Z:I "));
}

static void test_console_may_leave_amid_a_long_show(void **state)
{
	(void)state;
	make_many();
	begin_long("SHOW POOLS");
	client_close(&st.client, CLOSE_SHUTDOWN);
	assert_null(st.ss.catalog->all_pools.cursors);
}

static void test_who_sends_no_more_gets_the_rest_of_a_long_show(void **state)
{
	struct heard h;

	(void)state;
	make_many();
	begin_long("SHOW POOLS");
	shutdown(st.peer, SHUT_WR);
	hear(&h, 1);
	assert_int_equal(h.rows, MANY + 1);
	turns(3);
	assert_null(st.client.console);
}

static void test_execute_writes_a_long_show_bit_by_bit(void **state)
{
	static const char parse[] = "P\0\0\0\022\0SHOW POOLS\0\0",
	    bind[] = "B\0\0\0\014\0\0\0\0\0\0\0",
	    execute[] = "E\0\0\0\011\0\0\0\0", sync[] = "S\0\0\0";
	struct heard h;

	(void)state;
	make_many();
	send_bytes(parse, sizeof parse);
	send_bytes(bind, sizeof bind);
	send_bytes(execute, sizeof execute);
	send_bytes("S\0\0\0\4", sizeof sync);
	stall_long();
	hear(&h, 1);
	assert_int_equal(h.rows, MANY + 1);
	assert_true(h.sorted);
	assert_string_equal(h.kinds, "12CZ");
}

/* --- the same of several workers --- */

static const struct cursor *cursors_of_others(void)
{
	return st.others_ss.catalog->all_pools.cursors;
}

static void test_long_show_of_several_workers_is_written_in_holds(
    void **state)
{
	static const char *const samples[] = { "SHOW POOLS",
		"SELECT user, database FROM pools ORDER BY user" };
	struct heard h;

	(void)state;
	make_others();
	for (size_t i = 0; i < 2; i++) {
		send_query(samples[i]);
		st.holds = 0;
		hear(&h, 1);
		assert_int_equal(h.rows, 2 * MANY + 1);
		assert_true(h.sorted);
		assert_string_equal(h.last, "u9999");
		assert_string_equal(h.kinds, "TCZ");
		assert_true(st.holds > 2);
		assert_null(cursors_of_others());
	}
}

static void test_who_reads_nothing_holds_no_worker(void **state)
{
	struct heard h;

	(void)state;
	make_others();
	begin_long("SHOW POOLS");
	st.holds = 0;
	turns(10);
	assert_int_equal(st.holds, 0);
	catalog_drop_pool(st.others_ss.catalog, pool_of(2 * MANY - 1));
	hear(&h, 1);
	assert_int_equal(h.rows, 2 * MANY);
	assert_string_equal(h.last, "u9998");
	begin_long("SHOW POOLS");
	admin_cancel(&st.client);
	assert_null(cursors_of_others());
	hear(&h, 1);
	assert_string_equal(h.kinds, "TEZ");
}

static void test_long_show_fails_when_a_worker_hangs(void **state)
{
	struct heard h;

	(void)state;
	make_others();
	begin_long("SHOW POOLS");
	st.hangs = true;
	hear(&h, 1);
	assert_string_equal(h.kinds, "TEZ");
	assert_true(h.rows > 0 && h.rows < 2 * MANY);
	assert_non_null(cursors_of_others());
	/* one that would be at once fails as well */
	assert_non_null(strstr(ask("SHOW POOLS"), "a worker does not answer"));
	st.hangs = false;
	turns(1);
	assert_null(cursors_of_others());
	send_query("SHOW POOLS");
	hear(&h, 1);
	assert_int_equal(h.rows, 2 * MANY + 1);
}

static void test_rows_in_order_are_told_though_a_worker_hangs(void **state)
{
	struct heard h;

	(void)state;
	make_others();
	begin_long("SELECT user, database, pool_mode FROM pools "
	    "ORDER BY user");
	st.hangs = true;
	hear(&h, 1);
	assert_int_equal(h.rows, 2 * MANY + 1);
	assert_string_equal(h.kinds, "TCZ");
	assert_null(cursors_of_others());
}

static void test_console_may_leave_while_a_worker_hangs(void **state)
{
	(void)state;
	make_others();
	begin_long("SHOW POOLS");
	st.hangs = true;
	client_close(&st.client, CLOSE_SHUTDOWN);
	assert_non_null(cursors_of_others());
	turns(1);
	assert_non_null(cursors_of_others());
	st.hangs = false;
	turns(1);
	assert_null(cursors_of_others());
}

static void test_workers_may_leave_amid_a_long_show(void **state)
{
	(void)state;
	make_others();
	begin_long("SHOW POOLS");
	admin_leave_workers(&st.admin);
	assert_null(cursors_of_others());
	catalog_free(&st.others_ss.catalog);
	st.admin.next = NULL;
}

#define STAGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(test_welcome_tells_parameters_and_key),
		STAGED(test_query_sent_behind_the_password_is_answered),
		STAGED(test_show_gives_rows),
		STAGED(test_help_lists_topics_and_commands),
		STAGED(test_errors_leave_the_session_open),
		STAGED(test_long_query_is_shown_cut_between_characters),
		STAGED(test_stats_users_only_read),
		STAGED(test_commands_of_ours),
		STAGED(test_set_tells_what_was_set),
		STAGED(test_reload_that_fails_says_so),
		STAGED(test_reload_may_be_left),
		STAGED(test_persist_is_answered_when_it_was_tried),
		STAGED(test_errors_are_logged_twice),
		STAGED(test_suspend_replies_when_nothing_moves),
		STAGED(test_fds_are_passed_to_the_own_user_only),
		STAGED(test_pause_replies_when_all_is_quiet),
		STAGED(test_cancel_lifts_the_pause_it_waits_for),
		STAGED(test_pause_that_is_resumed_does_not_succeed),
		STAGED(test_console_that_hangs_up_while_blocked_is_closed),
		STAGED(test_console_that_hung_up_before_it_blocks_is_closed),
		STAGED(test_wait_close_waits_for_obsolete_servers),
		STAGED(test_kill_client_ends_the_one_with_the_id),
		STAGED(test_kill_pauses_databases_and_drops_their_pools),
		STAGED(test_shutdown_now_says_nothing),
		STAGED(test_shutdown_with_a_mode_replies_at_once),
		STAGED(test_drain_takes_seconds_or_none),
		STAGED(test_query_may_come_byte_by_byte),
		STAGED(test_many_queries_in_one_segment_are_all_answered),
		cmocka_unit_test(test_other_messages_are_treated_as_specified),
		STAGED(test_pqexec_can_be_disallowed),
		STAGED(test_result_nobody_reads_stops_the_input),
		STAGED(test_long_show_is_written_bit_by_bit),
		STAGED(test_what_came_before_the_end_of_input_is_answered),
		STAGED(test_long_show_may_have_all_that_a_short_one_has),
		STAGED(test_pool_made_anew_amid_a_long_show_is_not_told_twice),
		STAGED(test_order_does_not_wait_for_who_stalls_a_long_show),
		STAGED(test_cancel_ends_a_long_show),
		STAGED(test_console_may_leave_amid_a_long_show),
		STAGED(test_who_sends_no_more_gets_the_rest_of_a_long_show),
		STAGED(test_execute_writes_a_long_show_bit_by_bit),
		STAGED(test_long_show_of_several_workers_is_written_in_holds),
		STAGED(test_who_reads_nothing_holds_no_worker),
		STAGED(test_long_show_fails_when_a_worker_hangs),
		STAGED(test_rows_in_order_are_told_though_a_worker_hangs),
		STAGED(test_console_may_leave_while_a_worker_hangs),
		STAGED(test_workers_may_leave_amid_a_long_show),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
