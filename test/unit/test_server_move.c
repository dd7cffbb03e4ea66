/* test_server_move.c - an idle server goes to the same pool of another worker.
 * SPDX-License-Identifier: ISC */
#include "transfer/server_move.h"

#include "app/wiring.h"
#include "base/ledger.h"
#include "broker/broker.h"
#include "proto/baggage.h"
#include "proto/msg.h"
#include "proto/prepared.h"
#include "server_test.h"

/* --- what is faked: two workers, and the post --- */

static struct {
	struct sessions ss;		/* of the other worker */
	struct ledger_book *book;
	struct parcel *parcel;		/* in the mail */
	unsigned to;
	bool full;
} far;

static struct server_ops ops;

static void on_closed_too(struct server *s, struct close_cause why)
{
	on_closed(s, why);
	broker_server_gone(s, why);
}

static bool may_mail(void *app, unsigned worker)
{
	(void)app;
	(void)worker;
	return !far.full;
}

static void mail(void *app, struct parcel *p, unsigned worker)
{
	(void)app;
	assert_null(far.parcel);
	far.parcel = p;
	far.to = worker;
}

static void give_tables(struct sessions *ss, unsigned worker)
{
	ss->prepared = prepared_table_new();
	if (ss->baggage == NULL)
		ss->baggage = baggage_table_new();
	assert_non_null(ss->prepared);
	assert_non_null(ss->baggage);
	prepared_table_divide(ss->prepared, worker, 2);
	ss->client_ops.may_mail = may_mail;
	ss->client_ops.mail = mail;
	ss->others = 1;
	ss->worker = worker;
	ss->last_id = worker;
}

static struct pool *make_pool(struct sessions *ss)
{
	struct catalog *const c = ss->catalog;
	struct database *const db = catalog_find_database(c, "shop");

	return catalog_get_pool(c, db, catalog_get_user(c, "ann"));
}

/* Both have the database. */
static void give_catalog(struct sessions *ss, unsigned worker)
{
	ss->catalog = catalog_new(st.config);
	assert_non_null(ss->catalog);
	ss->catalog->part.book = far.book;
	ss->catalog->part.index = worker;
}

static int set_up(void **state)
{
	struct sessions real = { 0 };

	(void)state;
	wiring_install(&real);
	ops = *real.server_ops;
	ops.ready = on_ready;
	ops.introduce = on_introduce;
	ops.closed = on_closed_too;
	stage_open(&ops, "");
	memset(&far, 0, sizeof far);
	far.book = ledger_book_new(2);
	catalog_free(&st.ss.catalog);
	give_catalog(&st.ss, 0);
	give_catalog(&far.ss, 1);
	st.pool = make_pool(&st.ss);
	far.ss.loop = loop_new();
	far.ss.params = params_table_new(NULL);
	far.ss.server_ops = st.ss.server_ops;
	timeout_list_init(&far.ss.own_query_list, NULL, NULL);
	give_tables(&st.ss, 0);
	give_tables(&far.ss, 1);
	return far.ss.loop == NULL || make_pool(&far.ss) == NULL ? -1 : 0;
}

static void far_turn(void)
{
	struct loop_task nudge = { .run = stage_nothing };

	loop_again(far.ss.loop, &nudge);
	loop_run(far.ss.loop, stage_stop, far.ss.loop);
	broker_turn(&far.ss);
	loop_finish(far.ss.loop);
}

static int tear_down(void **state)
{
	(void)state;
	assert_null(far.parcel);
	assert_int_equal(far.ss.servers, 0);
	loop_finish(far.ss.loop);
	loop_free(&far.ss.loop);
	catalog_free(&far.ss.catalog);
	params_table_free(&far.ss.params);
	baggage_table_free(&far.ss.baggage);
	assert_int_equal(prepared_table_count(far.ss.prepared), 0);
	assert_int_equal(prepared_table_count(st.ss.prepared), 0);
	prepared_table_free(&far.ss.prepared);
	prepared_table_free(&st.ss.prepared);
	stage_close();
	ledger_book_free(&far.book);
	return 0;
}

/* --- servers --- */

static struct server *idle(void)
{
	struct server *const s = server_adopt(&st.ss, st.pool, stage_socket());

	assert_non_null(s);
	s->track.status = 'I';
	s->track.ready = true;
	assert_true(server_may_leave(s));
	return s;
}

static void peer_says(const void *p, size_t n)
{
	assert_int_equal(send(st.peer, p, n, 0), n);
}

#define SAYS(literal) peer_says(literal, sizeof(literal) - 1)
#define FATAL "E\0\0\0\23SFATAL\0C57P01\0\0"
#define STATUS "S\0\0\0\22TimeZone\0Mars\0"

static void arrive(void)
{
	struct parcel *const p = far.parcel;

	far.parcel = NULL;
	struct pool *const pool = server_arrive(&far.ss, p);

	if (pool != NULL)
		broker_arrived(&far.ss, pool);
}

static unsigned counted(void)
{
	return ledger_taken(st.pool->key.user->share.ledger, LEDGER_SERVERS);
}

static struct pool *far_pool(void)
{
	return make_pool(&far.ss);
}

static void close_far(struct server *s)
{
	server_close(s, CLOSE_SHUTDOWN);
	far_turn();
}

static void set_value(struct params **p, const char *name, const char *value)
{
	assert_int_equal(params_set(p, params_find(st.ss.params, name), value),
	    0);
}

static const char *far_value(const struct params *p, const char *name)
{
	return params_get(p, params_find(far.ss.params, name));
}

static void test_server_is_there_and_counted_once(void **state)
{
	struct server *const s = idle();
	const uint64_t id = s->id;

	(void)state;
	assert_int_equal(counted(), 1);
	assert_true(server_depart(s, 1));
	assert_int_equal(far.to, 1);
	assert_int_equal(st.ss.servers, 0);
	assert_null(st.ss.all_servers.first);
	assert_int_equal(pool_total(st.pool), 0);
	assert_int_equal(st.pool->key.db->servers, 0);
	assert_int_equal(st.pool->key.user->servers, 0);
	assert_int_equal(counted(), 1);
	arrive();
	assert_int_equal(counted(), 1);
	assert_int_equal(far.ss.servers, 1);
	assert_ptr_equal(pool_pick_server(far_pool()), &s->ps);
	assert_int_equal(far_pool()->key.user->servers, 1);
	assert_int_equal(s->id, id);
	close_far(s);
	assert_int_equal(counted(), 0);
	assert_int_equal(far_pool()->key.db->servers, 0);
}

static void test_texts_are_made_anew(void **state)
{
	struct server *const s = idle();
	struct prepared *const stmt = prepared_get(st.ss.prepared, prepared_plain("x", 2));

	(void)state;
	set_value(&s->params, "TimeZone", "Mars");
	set_value(&s->params, "search_path", "a");
	s->origin.set = params_empty(st.ss.params);
	set_value(&s->origin.set, "search_path", "b");
	s->origin.silent = (uint64_t)1 << params_find(st.ss.params,
	    "search_path");
	assert_int_equal(params_forget(&s->params, &s->origin, false), 0);
	s->keep.has = baggage_get(st.ss.baggage, "work_mem\0001GB", 13);
	assert_int_equal(prepared_uses_add(&s->prepared, stmt), 0);
	const char *const name = strdup(stmt->name);

	prepared_unref(stmt);
	assert_true(server_depart(s, 1));
	assert_int_equal(prepared_table_count(st.ss.prepared), 0);
	arrive();
	assert_string_equal(far_value(s->params, "TimeZone"), "Mars");
	assert_ptr_equal(far_value(s->params, "search_path"),
	    params_unknown());
	assert_null(far_value(s->params, "DateStyle"));
	assert_string_equal(far_value(s->origin.set, "search_path"), "b");
	assert_ptr_equal(params_table_of(s->params), far.ss.params);
	assert_string_equal(baggage_find(s->keep.has, "work_mem"), "1GB");
	assert_null(s->keep.base);
	assert_string_equal(s->prepared.lru->stmt->name, name);
	/* another server may have it by that name, and nobody knows */
	assert_null(prepared_lookup(far.ss.prepared, prepared_plain("x", 2)));
	free((void *)name);
	close_far(s);
}

/* The same text has another name there: both are known. */
static void test_statement_keeps_its_name(void **state)
{
	struct server *const s = idle();
	struct prepared *const stmt = prepared_get(st.ss.prepared, prepared_plain("x", 2));
	struct prepared *const own = prepared_get(far.ss.prepared, prepared_plain("x", 2));

	(void)state;
	assert_int_equal(prepared_uses_add(&s->prepared, stmt), 0);
	prepared_unref(stmt);
	assert_true(server_depart(s, 1));
	arrive();
	assert_null(prepared_uses_touch(&s->prepared, own));
	assert_int_equal(s->prepared.count, 1);
	assert_true(s->prepared.lru->stmt->retired);
	prepared_unref(own);
	close_far(s);
}

/* By this name it might be sent the text once more, where it was. */
static void test_no_memory_for_a_statement_closes_it(void **state)
{
	struct server *const s = idle();
	struct prepared *const stmt = prepared_get(st.ss.prepared, prepared_plain("x", 2));

	(void)state;
	assert_int_equal(prepared_uses_add(&s->prepared, stmt), 0);
	prepared_unref(stmt);
	assert_true(server_depart(s, 1));
	st.config->set.max_prepared_statement_memory = 1;
	arrive();
	st.config->set.max_prepared_statement_memory = 0;
	far_turn();
	assert_int_equal(far.ss.servers, 0);
	assert_int_equal(counted(), 0);
}

/* The other one may have the name for the text, and would send it once more. */
static void test_forgotten_statement_keeps_it(void **state)
{
	struct server *const s = idle();

	(void)state;
	s->prepared.forgotten = 1;
	assert_false(server_depart(s, 1));
	assert_ptr_equal(pool_pick_server(st.pool), &s->ps);
	server_close(s, CLOSE_SHUTDOWN);
}

/* There and back: who has the text by this name finds it. */
static void test_statement_is_known_when_it_comes_back(void **state)
{
	struct server *const s = idle();
	struct prepared *const stmt = prepared_get(st.ss.prepared, prepared_plain("x", 2));
	struct prepared *const own = prepared_get(far.ss.prepared, prepared_plain("x", 2));

	(void)state;
	assert_int_equal(prepared_uses_add(&s->prepared, stmt), 0);
	assert_true(server_depart(s, 1));
	arrive();
	assert_int_equal(prepared_uses_add(&s->prepared, own), 0);
	assert_true(server_depart(s, 0));
	struct parcel *const p = far.parcel;

	far.parcel = NULL;
	(void)server_arrive(&st.ss, p);
	assert_int_equal(s->prepared.count, 2);
	assert_non_null(prepared_uses_touch(&s->prepared, stmt));
	prepared_unref(stmt);
	prepared_unref(own);
	server_close(s, CLOSE_SHUTDOWN);
}

static void test_end_on_the_way_is_heard(void **state)
{
	struct server *const s = idle();

	(void)state;
	assert_true(server_depart(s, 1));
	SAYS(FATAL);
	arrive();
	assert_int_equal(s->ps.state, SERVER_GONE);
	assert_int_equal(counted(), 0);
	/* nobody waits for server_login_retry */
	assert_false(far_pool()->failing);
	assert_int_equal(far.ss.tally.server_logins[TALLY_FAILED][0], 0);
	far_turn();
}

static void test_hang_up_on_the_way_is_noticed(void **state)
{
	struct server *const s = idle();

	(void)state;
	assert_true(server_depart(s, 1));
	close(st.peer);
	st.peer = -1;
	arrive();
	assert_int_equal(s->ps.state, SERVER_GONE);
	assert_false(far_pool()->failing);
	far_turn();
}

/* As of one that has stayed. */
static void test_word_on_the_way_makes_it_dirty(void **state)
{
	struct server *const s = idle();

	(void)state;
	assert_true(server_depart(s, 1));
	SAYS(STATUS);
	arrive();
	assert_int_equal(s->ps.state, SERVER_GONE);
	assert_int_equal(far.ss.tally.disconnects[TALLY_SERVER]
	    [CLOSE_IDLE_SERVER_GOT_DIRTY], 1);
	far_turn();
}

static void test_notification_on_the_way_is_for_nobody(void **state)
{
	struct server *const s = idle();

	(void)state;
	assert_true(server_depart(s, 1));
	SAYS("A\0\0\0\13\0\0\0\1a\0\0");
	arrive();
	assert_int_equal(s->ps.state, SERVER_IDLE);
	assert_true(track_is_done(&s->track));
	close_far(s);
}

/* What comes later is told by the loop that has it now. */
static void test_it_is_read_where_it_is(void **state)
{
	struct server *const s = idle();

	(void)state;
	assert_true(server_depart(s, 1));
	arrive();
	SAYS(FATAL);
	stage_turns(2);
	assert_int_equal(s->ps.state, SERVER_IDLE);
	far_turn();
	assert_int_equal(far.ss.servers, 0);
}

static void test_full_mailbox_keeps_it(void **state)
{
	struct server *const s = idle();

	(void)state;
	far.full = true;
	assert_false(server_depart(s, 1));
	assert_ptr_equal(pool_pick_server(st.pool), &s->ps);
	server_close(s, CLOSE_SHUTDOWN);
}

static void test_no_pool_is_its_end(void **state)
{
	struct server *const s = idle();
	char word[8];

	(void)state;
	assert_true(server_depart(s, 1));
	catalog_drop_pool(far.ss.catalog, far_pool());
	/* nor is it known any more where it comes from */
	catalog_drop_pool(st.ss.catalog, st.pool);
	catalog_drop_user(far.ss.catalog, catalog_find_user(far.ss.catalog,
	    "ann"));
	catalog_drop_user(st.ss.catalog, catalog_find_user(st.ss.catalog,
	    "ann"));
	arrive();
	far_turn();
	assert_int_equal(recv(st.peer, word, sizeof word, MSG_DONTWAIT), 5);
	assert_int_equal(word[0], 'X');
	assert_int_equal(recv(st.peer, word, sizeof word, MSG_DONTWAIT), 0);
	st.pool = make_pool(&st.ss);
	assert_int_equal(counted(), 0);
	assert_int_equal(far.ss.tally.disconnects[TALLY_SERVER]
	    [CLOSE_DATABASE_REMOVED], 1);
}

static void test_pause_there_closes_it(void **state)
{
	struct server *const s = idle();

	(void)state;
	assert_true(server_depart(s, 1));
	far_pool()->key.db->paused = true;
	arrive();
	assert_int_equal(s->ps.state, SERVER_IDLE);
	far_turn();
	assert_int_equal(far.ss.servers, 0);
	far_pool()->key.db->paused = false;
}

static void test_who_is_busy_stays(void **state)
{
	struct server *const s = idle();

	(void)state;
	s->ps.cancels = 1;
	assert_false(server_may_leave(s));
	s->ps.cancels = 0;
	s->cancel_wanted = true;
	assert_false(server_may_leave(s));
	s->cancel_wanted = false;
	s->ps.close_needed = true;
	assert_false(server_may_leave(s));
	s->ps.close_needed = false;
	s->ps.stained = true;
	assert_false(server_may_leave(s));
	s->ps.stained = false;
	s->own_query = OWN_QUERY_CHECK;
	assert_false(server_may_leave(s));
	s->own_query = OWN_QUERY_NONE;
	s->track.status = 'T';
	assert_false(server_may_leave(s));
	s->track.status = 'I';
	pool_server_set(&s->ps, SERVER_TESTED);
	assert_false(server_may_leave(s));
	pool_server_set(&s->ps, SERVER_IDLE);
	keep_set_pins(s, PIN_TEMPORARY);
	assert_false(server_may_leave(s));
	keep_set_pins(s, 0);
	st.ss.suspended = true;
	assert_false(server_may_leave(s));
	st.ss.suspended = false;
	st.ss.catalog->paused = true;
	assert_false(server_may_leave(s));
	st.ss.catalog->paused = false;
	assert_true(server_may_leave(s));
	server_close(s, CLOSE_SHUTDOWN);
}

static void test_who_is_ahead_of_a_trip_is_not_lent(void **state)
{
	struct server *const s = idle();

	(void)state;
	s->ps.trip = TRIP_AHEAD;
	assert_null(pool_pick_server(st.pool));
	/* closed before that, it is counted no more */
	server_close(s, CLOSE_SHUTDOWN);
	assert_int_equal(counted(), 0);
}

#define CASE(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_server_is_there_and_counted_once),
		CASE(test_texts_are_made_anew),
		CASE(test_statement_keeps_its_name),
		CASE(test_no_memory_for_a_statement_closes_it),
		CASE(test_forgotten_statement_keeps_it),
		CASE(test_statement_is_known_when_it_comes_back),
		CASE(test_end_on_the_way_is_heard),
		CASE(test_hang_up_on_the_way_is_noticed),
		CASE(test_word_on_the_way_makes_it_dirty),
		CASE(test_notification_on_the_way_is_for_nobody),
		CASE(test_it_is_read_where_it_is),
		CASE(test_full_mailbox_keeps_it),
		CASE(test_no_pool_is_its_end),
		CASE(test_pause_there_closes_it),
		CASE(test_who_is_busy_stays),
		CASE(test_who_is_ahead_of_a_trip_is_not_lent),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
