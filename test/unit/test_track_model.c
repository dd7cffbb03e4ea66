/* test_track_model.c - random programs against a model of a server.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "proto/msg.h"
#include "proto/track.h"
#include "proto/track_run.h"

#define MESSAGES 600
#define PROGRAMS 4000

enum fate { PENDING, HAPPENED, DISCARDED };

struct msg {
	char type;
	enum track_how how;
	bool copies;		/* Query, Execute: it is COPY FROM STDIN */
	bool has_op;
	enum fate expected;
	unsigned committed, rolled_back;
};

struct event {
	char type;		/* backend message, or what is faked */
	char status;
	bool fake;
	const struct msg *of;	/* the request; NULL: asynchronous */
};

struct world {
	struct track t;
	uint64_t seed;
	struct msg msgs[MESSAGES];
	size_t sent, read;	/* by the client; by the server */
	struct event out[MESSAGES * 8];
	size_t said, delivered;
	bool skipping;		/* the server discards up to Sync */
	bool worked;		/* there is something for a Sync to commit */
	struct msg *copying;	/* the server reads data of this one */
	bool quiet;		/* the last word was ReadyForQuery I */
	bool over;		/* the pooler gave up: it can't know */
	unsigned doubts, probes, fakes;
	unsigned noted, taken;	/* requests and replies, by the hot path */
};

static unsigned roll(struct world *w, unsigned sides)
{
	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(w->seed >> 33) % sides;
}

static void on_commit(void *op, void *arg)
{
	(void)arg;
	((struct msg *)op)->committed++;
}

static void on_rollback(void *op, void *arg)
{
	(void)arg;
	((struct msg *)op)->rolled_back++;
}

static const struct track_ops ops = {
	.commit = on_commit, .rollback = on_rollback,
};

/* --- the server --- */

static struct event *say(struct world *w, struct msg *m, char type)
{
	struct event *e = &w->out[w->said++];

	assert_true(w->said < sizeof w->out / sizeof *w->out);
	*e = (struct event){ .type = type, .of = m };
	return e;
}

static void say_ready(struct world *w, struct msg *m)
{
	static const char status[] = "IIITE";

	say(w, m, BE_READY_FOR_QUERY)->status = status[roll(w, 5)];
}

static void say_async(struct world *w)
{
	static const char type[] = { BE_NOTICE_RESPONSE, BE_PARAMETER_STATUS,
		BE_NOTIFICATION_RESPONSE };

	say(w, NULL, type[roll(w, 3)]);
}

static void server_error(struct world *w, struct msg *m)
{
	say(w, m, BE_ERROR_RESPONSE);
	w->worked = false;
	m->expected = DISCARDED;
	if (m->type == FE_QUERY || m->type == FE_SYNC ||
	    m->type == FE_FUNCTION_CALL)
		say_ready(w, m);
	else
		w->skipping = true;
}

static void server_enter_copy(struct world *w, struct msg *m)
{
	say(w, m, BE_COPY_IN_RESPONSE);
	w->copying = m;
	/* as COPY to a view does: an error before anything is read */
	if (roll(w, 8) == 0) {
		w->copying = NULL;
		server_error(w, m);
	}
}

static void server_copy_read(struct world *w, const struct msg *m)
{
	struct msg *c = w->copying;

	/* ignored there: CopyGetData() of the server */
	if (m->type == FE_SYNC || m->type == FE_FLUSH)
		return;
	if (m->type == FE_COPY_DATA && roll(w, 8) != 0)
		return;
	w->copying = NULL;
	if (m->type == FE_COPY_DONE && roll(w, 4) != 0) {
		say(w, c, BE_COMMAND_COMPLETE);
		c->expected = HAPPENED;
		if (c->type == FE_QUERY)
			say_ready(w, c);
		return;
	}
	assert_true(m->type == FE_COPY_DATA || m->type == FE_COPY_DONE ||
	    m->type == FE_COPY_FAIL);
	server_error(w, c);
}

static void server_rows(struct world *w, struct msg *m)
{
	const bool out = roll(w, 6) == 0;

	if (out)
		say(w, m, BE_COPY_OUT_RESPONSE);
	else if (m->type == FE_QUERY)
		say(w, m, BE_ROW_DESCRIPTION);
	for (unsigned n = roll(w, 3); n > 0; n--)
		say(w, m, out ? BE_COPY_DATA : BE_DATA_ROW);
	if (out)
		say(w, m, BE_COPY_DONE);
}

static void server_query(struct world *w, struct msg *m)
{
	for (unsigned n = roll(w, 3); n > 0; n--) {
		server_rows(w, m);
		if (roll(w, 5) == 0) {
			server_error(w, m);
			return;
		}
		say(w, m, BE_COMMAND_COMPLETE);
	}
	if (m->copies && roll(w, 6) != 0) {
		server_enter_copy(w, m);
		return;
	}
	if (roll(w, 5) == 0) {
		server_error(w, m);
		return;
	}
	say(w, m, roll(w, 4) == 0 ? BE_EMPTY_QUERY_RESPONSE :
	    BE_COMMAND_COMPLETE);
	m->expected = HAPPENED;
	say_ready(w, m);
}

static void server_execute(struct world *w, struct msg *m)
{
	static const char last[] = { BE_COMMAND_COMPLETE, BE_COMMAND_COMPLETE,
		BE_EMPTY_QUERY_RESPONSE, BE_PORTAL_SUSPENDED };

	if (m->copies && roll(w, 6) != 0) {
		server_enter_copy(w, m);
		return;
	}
	server_rows(w, m);
	if (roll(w, 10) == 0) {
		server_error(w, m);
		return;
	}
	say(w, m, last[roll(w, 4)]);
	m->expected = HAPPENED;
}

static void server_describe(struct world *w, struct msg *m)
{
	if (roll(w, 2) == 0)
		say(w, m, BE_PARAMETER_DESCRIPTION);
	say(w, m, roll(w, 2) == 0 ? BE_NO_DATA : BE_ROW_DESCRIPTION);
	m->expected = HAPPENED;
}

static void server_reply(struct world *w, struct msg *m, char type)
{
	say(w, m, type);
	m->expected = HAPPENED;
}

static void server_function(struct world *w, struct msg *m)
{
	if (roll(w, 4) == 0) {
		server_error(w, m);
		return;
	}
	server_reply(w, m, BE_FUNCTION_CALL_RESPONSE);
	say_ready(w, m);
}

static void server_sync(struct world *w, struct msg *m)
{
	w->skipping = false;
	m->expected = HAPPENED;
	if (w->worked && roll(w, 8) == 0)	/* a deferred constraint */
		say(w, m, BE_ERROR_RESPONSE);
	w->worked = false;
	say_ready(w, m);
}

/* Outside of COPY the server answers it by nothing. */
static bool is_silent(char type)
{
	return strchr("dcfH", type) != NULL;
}

static bool is_extended(char type)
{
	return strchr("PBDEC", type) != NULL;
}

static void server_run(struct world *w, struct msg *m)
{
	if (is_extended(m->type) && roll(w, 12) == 0) {
		server_error(w, m);
		return;
	}
	w->worked = w->worked || is_extended(m->type);
	switch (m->type) {
	case FE_PARSE: server_reply(w, m, BE_PARSE_COMPLETE); break;
	case FE_BIND: server_reply(w, m, BE_BIND_COMPLETE); break;
	case FE_CLOSE: server_reply(w, m, BE_CLOSE_COMPLETE); break;
	case FE_DESCRIBE: server_describe(w, m); break;
	case FE_EXECUTE: server_execute(w, m); break;
	case FE_QUERY: server_query(w, m); break;
	case FE_FUNCTION_CALL: server_function(w, m); break;
	case FE_SYNC: server_sync(w, m); break;
	default: break;		/* data outside of COPY, Flush */
	}
}

/* Read one message. */
static void server_step(struct world *w)
{
	struct msg *m = &w->msgs[w->read++];

	if (m->how == TRACK_FAKE) {
		m->expected = w->skipping ? DISCARDED : HAPPENED;
		if (!w->skipping)
			say(w, m, m->type)->fake = true;
	} else if (w->copying != NULL) {
		server_copy_read(w, m);
	} else if (w->skipping && m->type != FE_SYNC) {
		m->expected = DISCARDED;
	} else {
		if (!is_silent(m->type) && roll(w, 15) == 0)
			say_async(w);
		server_run(w, m);
	}
}

/* The next thing said; reads on until there is one. NULL: it waits. */
static const struct event *server_next(struct world *w)
{
	while (w->delivered == w->said) {
		if (w->read == w->sent)
			return NULL;
		server_step(w);
	}
	return &w->out[w->delivered];
}

/* --- the pooler between them --- */

static bool owes_nothing(const struct world *w)
{
	if (w->delivered != w->said || w->skipping || w->copying != NULL)
		return false;
	for (size_t i = w->read; i < w->sent; i++)
		if (!is_silent(w->msgs[i].type))
			return false;
	return true;
}

static void check_done(struct world *w)
{
	assert_int_equal(track_is_done(&w->t), w->quiet && owes_nothing(w));
}

static void take_fakes(struct world *w)
{
	char type;

	while ((type = track_fake(&w->t)) != 0) {
		w->fakes++;
		const struct event *e = server_next(w);

		assert_non_null(e);
		assert_true(e->fake);
		assert_int_equal(e->type, type);
		w->delivered++;
	}
}

static void check_verdict(const struct event *e,
    enum track_verdict v)
{
	assert_int_not_equal(v, TRACK_CONFUSED);
	if (e->of == NULL)
		return;
	const bool ours = e->of->how == TRACK_SKIP;

	if (e->type == BE_ERROR_RESPONSE)
		assert_int_equal(v, ours && e->of->type == FE_QUERY ?
		    TRACK_FAILED : TRACK_PASS);
	else
		assert_int_equal(v, ours ? TRACK_SWALLOW : TRACK_PASS);
}

/* Now and then by the hot path, which must come to the same. */
static enum track_verdict reply(struct world *w, const struct event *e)
{
	if (roll(w, 2) == 0 && track_is_plain(&w->t) &&
	    (e->type == BE_READY_FOR_QUERY ?
	    track_take_ready(&w->t, e->status) :
	    track_take(&w->t, (uint8_t)e->type))) {
		w->taken++;
		return TRACK_PASS;
	}
	if (w->t.uncertain)
		track_settle(&w->t, e->type);
	return track_reply(&w->t, e->type, e->status);
}

/* How much is owed, is asked where nobody else's request will tell. */
static void probe(struct world *w)
{
	w->over = w->over || w->t.lost;
	if (w->over || !track_wants_probe(&w->t))
		return;
	for (const char *type = "CS"; *type != '\0'; type++) {
		assert_true(w->sent < MESSAGES);
		w->msgs[w->sent++] = (struct msg){ .type = *type,
		    .how = TRACK_SKIP };
		assert_int_equal(track_add(&w->t, *type, TRACK_SKIP, NULL), 0);
	}
	w->quiet = false;
	w->probes++;
}

static bool deliver(struct world *w)
{
	const struct event *e = w->over ? NULL : server_next(w);
	const bool doubted = w->t.uncertain;

	if (e == NULL)
		return false;
	assert_false(e->fake);
	w->delivered++;
	if (e->type != BE_NOTIFICATION_RESPONSE)
		w->quiet = e->type == BE_READY_FOR_QUERY && e->status == 'I';
	check_verdict(e, reply(w, e));
	w->doubts += w->t.uncertain && !doubted;
	take_fakes(w);
	probe(w);
	if (!w->over)
		check_done(w);
	return true;
}

static bool may_fake(const struct track *t)
{
	return !t->uncertain && !track_has_copy_end(t);
}

static struct msg *send_how(struct world *w, char type, enum track_how how)
{
	struct msg *m = &w->msgs[w->over ? w->sent : w->sent++];
	const bool tracked = strchr("dH", type) == NULL;

	assert_true(w->sent < MESSAGES);
	w->over = w->over || (tracked && type != FE_SYNC &&
	    !is_silent(type) && track_is_unsure(&w->t));
	if (how == TRACK_FAKE && !may_fake(&w->t))
		how = TRACK_FORWARD;
	if (w->over)
		return m;
	*m = (struct msg){ .type = type, .how = how };
	m->has_op = (type == FE_PARSE || type == FE_CLOSE) && roll(w, 2) == 0;
	if (!is_silent(type) && how != TRACK_FAKE)
		w->quiet = false;
	if (tracked && !m->has_op && how == TRACK_FORWARD && !is_silent(type) &&
	    roll(w, 2) == 0 && track_room(&w->t) > 0) {
		track_add_plain(&w->t, type);
		w->noted++;
	} else if (tracked) {
		assert_int_equal(track_add(&w->t, type, how,
		    m->has_op ? m : NULL), 0);
	}
	take_fakes(w);
	probe(w);
	check_done(w);
	return m;
}

/* --- the client --- */

static void send_data(struct world *w)
{
	for (unsigned n = roll(w, 4); n > 0; n--) {
		send_how(w, "ddddddHHHS"[roll(w, 10)], TRACK_FORWARD);
		while (roll(w, 3) == 0 && deliver(w))
			;
	}
	send_how(w, roll(w, 5) == 0 ? FE_COPY_FAIL : FE_COPY_DONE,
	    TRACK_FORWARD);
}

static void send_copy(struct world *w, char type)
{
	send_how(w, type, TRACK_FORWARD)->copies = true;
	/* clients that don't know yet that it is a COPY */
	if (roll(w, 3) == 0)
		send_how(w, FE_SYNC, TRACK_FORWARD);
	send_data(w);
	if (type == FE_EXECUTE && roll(w, 20) != 0)
		send_how(w, FE_SYNC, TRACK_FORWARD);
}

static void send_any(struct world *w)
{
	static const char types[] = "PPBBDEECSSSQFHcd";
	const char type = types[roll(w, sizeof types - 1)];
	enum track_how how = TRACK_FORWARD;

	if ((type == FE_QUERY || type == FE_EXECUTE) && roll(w, 3) == 0) {
		send_copy(w, type);
		return;
	}
	if (type == FE_PARSE || type == FE_CLOSE)
		how = (enum track_how)roll(w, 3);
	else if (type == FE_QUERY && roll(w, 3) == 0)
		how = TRACK_SKIP;
	send_how(w, type, how);
}

static void check_ops(const struct world *w)
{
	for (size_t i = 0; i < w->sent; i++) {
		const struct msg *m = &w->msgs[i];

		if (!m->has_op)
			continue;
		assert_int_equal(m->committed + m->rolled_back, 1);
		assert_int_equal(m->committed == 1, m->expected == HAPPENED);
	}
}

static void play(struct world *w, uint64_t seed)
{
	*w = (struct world){ .seed = seed * 0x9e3779b97f4a7c15u };
	track_init(&w->t, &ops, w);
	/* what the login left behind */
	assert_int_equal(track_add(&w->t, FE_QUERY, TRACK_SKIP, NULL), 0);
	assert_int_equal(track_reply(&w->t, 'Z', 'I'), TRACK_SWALLOW);
	w->quiet = true;
	check_done(w);
	const unsigned lag = 1 + roll(w, 8);

	for (unsigned i = 0; i < 40; i++) {
		for (unsigned n = roll(w, lag); n > 0; n--)
			send_any(w);
		for (unsigned n = roll(w, 6 * lag); n > 0 && deliver(w); n--)
			;
	}
	const bool cut = roll(w, 4) == 0;	/* it goes amid its work */

	if (!cut) {
		send_how(w, FE_SYNC, TRACK_FORWARD);
		while (deliver(w))
			;
		assert_true(w->over || track_is_empty(&w->t));
	}
	track_fini(&w->t);
	if (!cut && !w->over)
		check_ops(w);
}

/* regressions: family 2: counting ReadyForQuery */
static void test_track_agrees_with_a_server(void **state)
{
	struct world *w = malloc(sizeof *w);
	unsigned fakes = 0, doubts = 0, done = 0, noted = 0, taken = 0;
	unsigned probes = 0, over = 0;

	(void)state;
	assert_non_null(w);
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		play(w, seed);
		fakes += w->fakes;
		doubts += w->doubts;
		probes += w->probes;
		over += w->over;
		done += w->quiet;
		noted += w->noted;
		taken += w->taken;
	}
	free(w);
	/* the programs were worth it */
	assert_true(fakes > PROGRAMS && done > PROGRAMS / 8);
	assert_true(noted > 5 * PROGRAMS && taken > 5 * PROGRAMS);
	assert_true(doubts > PROGRAMS / 3 && probes > PROGRAMS / 8);
	assert_in_range(over, 1, PROGRAMS / 20);
	assert_int_equal(mem_stat(MEM_TRACK)->bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_track_agrees_with_a_server),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
