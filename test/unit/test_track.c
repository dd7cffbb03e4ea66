/* test_track.c - what a server owes, case by case.
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

struct ended {
	unsigned committed, rolled_back;
};

static void on_commit(void *op, void *arg)
{
	(void)arg;
	((struct ended *)op)->committed++;
}

static void on_rollback(void *op, void *arg)
{
	(void)arg;
	((struct ended *)op)->rolled_back++;
}

static const struct track_ops ops = {
	.commit = on_commit, .rollback = on_rollback,
};

struct one {
	struct track t;
	struct ended op[8];
};

static int setup(void **state)
{
	struct one *o = calloc(1, sizeof *o);

	if (o == NULL)
		return -1;
	track_init(&o->t, &ops, NULL);
	*state = o;
	return 0;
}

static int teardown(void **state)
{
	struct one *o = *state;

	track_fini(&o->t);
	free(o);
	return 0;
}

static void add(struct track *t, const char *types)
{
	for (; *types != '\0'; types++)
		assert_int_equal(track_add(t, *types, TRACK_FORWARD, NULL), 0);
}

/* Every reply is the client's; 'Z' says I. */
static void replies(struct track *t, const char *types)
{
	for (; *types != '\0'; types++)
		assert_int_equal(track_reply(t, *types, 'I'), TRACK_PASS);
}

static void test_nothing_is_done_before_the_first_ready(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	assert_true(track_is_empty(t));
	assert_false(track_is_done(t));
	assert_false(track_awaits_ready(t));
	add(t, "Q");
	replies(t, "CZ");
	assert_true(track_is_done(t));
}

static void test_transaction_status_keeps_the_link(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	add(t, "Q");
	replies(t, "C");
	assert_int_equal(track_reply(t, 'Z', 'T'), TRACK_PASS);
	assert_true(track_is_empty(t) && t->ready);
	assert_false(track_is_done(t));
	add(t, "Q");
	assert_int_equal(track_reply(t, 'Z', 'E'), TRACK_PASS);
	assert_false(track_is_done(t));
}

static void test_asynchronous_messages_spoil_ready(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	add(t, "Q");
	replies(t, "CZA");
	assert_true(track_is_done(t));
	replies(t, "N");
	assert_false(track_is_done(t));
	add(t, "S");
	replies(t, "Z");
	assert_true(track_is_done(t));
	replies(t, "S");
	assert_false(track_is_done(t));
	replies(t, "E");
	assert_false(track_is_done(t));
}

static void test_late_copy_end_leaves_server_done(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	add(t, "Q");
	replies(t, "GEZ");
	assert_true(track_is_done(t));
	add(t, "c");
	assert_true(track_is_done(t));
	add(t, "f");
	assert_true(track_is_done(t));
	assert_false(t->uncertain);
}

static void test_late_copy_end_behind_sync_is_silent(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	add(t, "PBES");
	replies(t, "12GE");
	assert_true(t->uncertain);	/* was the Sync read as part of the COPY? */
	assert_true(track_is_unsure(t) && !track_wants_probe(t));
	add(t, "c");
	replies(t, "Z");
	assert_true(track_is_done(t) && !t->uncertain);
}

/* a COPY that fails, with an early Sync that it has read, or has not */
static void test_probe_ends_doubt(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	for (int answered = 1; answered <= 2; answered++) {
		add(t, "EScS");
		replies(t, "GE");
		assert_true(t->uncertain && !track_is_unsure(t));
		assert_true(track_wants_probe(t));
		assert_int_equal(track_add(t, 'C', TRACK_SKIP, NULL), 0);
		assert_int_equal(track_add(t, 'S', TRACK_SKIP, NULL), 0);
		assert_false(track_wants_probe(t));
		replies(t, answered == 1 ? "Z" : "ZZ");
		assert_false(track_is_done(t));
		track_settle(t, '3');
		assert_int_equal(track_reply(t, '3', 0), TRACK_SWALLOW);
		assert_false(t->uncertain || track_is_done(t));
		assert_int_equal(track_reply(t, 'Z', 'I'), TRACK_SWALLOW);
		assert_true(track_is_done(t));
	}
}

static void test_next_request_ends_doubt(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	for (int answered = 1; answered <= 2; answered++) {
		add(t, "EScSPBES");
		replies(t, "GE");
		assert_true(t->uncertain && !track_wants_probe(t));
		replies(t, answered == 1 ? "Z" : "ZZ");
		track_settle(t, 'N');
		assert_int_equal(t->uncertain, answered == 1);
		track_settle(t, '1');
		assert_false(t->uncertain);
		replies(t, "12CZ");
		assert_true(track_is_done(t));
	}
}

static void test_request_behind_doubtful_copy_is_lost(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	add(t, "EScPS");
	replies(t, "GE");
	assert_true(t->uncertain && t->lost);
}

/* --- a server that is silent --- */

static void test_silence_with_nothing_owed_asks_nothing(void **state)
{
	assert_int_equal(track_silence(&((struct one *)*state)->t),
	    TRACK_UNTOLD);
}

/* ... nor amid a batch: a Sync would end it; nor amid a COPY */
static void test_silence_before_sync_asks_nothing(void **state)
{
	static const char *const batches[] = { "P", "PBE", "QP", "SPBE", "EScQP" };
	struct one *const o = *state;

	for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
		track_fini(&o->t);
		track_init(&o->t, &ops, NULL);
		add(&o->t, batches[i]);
		assert_int_equal(track_silence(&o->t), TRACK_UNTOLD);
	}
	track_fini(&o->t);
	track_init(&o->t, &ops, NULL);
	add(&o->t, "Q");
	replies(&o->t, "G");
	assert_int_equal(track_silence(&o->t), TRACK_UNTOLD);
}

static void test_silence_is_asked_once_while_nothing_comes(void **state)
{
	struct track *const t = &((struct one *)*state)->t;

	add(t, "Q");
	assert_int_equal(track_silence(t), TRACK_ASK);
	assert_int_equal(track_silence(t), TRACK_UNTOLD);
	replies(t, "C");
	/* the end is told when the server is free: by the Sync's */
	track_tell_later(t);
	assert_int_equal(track_reply(t, 'Z', 'I'), TRACK_SWALLOW);
	assert_int_equal(track_reply(t, 'Z', 'I'), TRACK_PASS);
	assert_true(track_is_done(t) && t->odd == 0);
}

static void test_only_the_end_of_the_question_comes(void **state)
{
	struct track *const t = &((struct one *)*state)->t;

	add(t, "Q");
	replies(t, "E");
	assert_int_equal(track_silence(t), TRACK_ASK);
	track_tell_later(t);
	assert_int_equal(track_reply(t, 'Z', 'I'), TRACK_SWALLOW);
	assert_int_equal(track_silence(t), TRACK_LOST);
	/* what belongs to nothing is not swallowed */
	assert_int_equal(track_reply(t, 'T', 0), TRACK_CONFUSED);
}

static void test_end_of_a_query_without_an_answer_is_another(void **state)
{
	struct track *const t = &((struct one *)*state)->t;

	add(t, "QQ");
	assert_int_equal(track_silence(t), TRACK_ASK);
	replies(t, "Z");	/* the first may have been answered before */
	assert_int_equal(track_silence(t), TRACK_ASK);
	assert_int_equal(track_reply(t, 'Z', 'I'), TRACK_CONFUSED);
}

static void test_failed_query_with_an_open_batch_behind_is_lost(void **state)
{
	struct track *const t = &((struct one *)*state)->t;

	add(t, "QPB");
	assert_int_equal(track_silence(t), TRACK_UNTOLD);
	replies(t, "E");
	assert_int_equal(track_silence(t), TRACK_LOST);
	replies(t, "Z");
	assert_int_equal(track_silence(t), TRACK_UNTOLD);
}

/* a query that turns out to be a COPY, whose data our Sync is a part of */
static void test_question_ahead_of_copy_data_is_forgotten(void **state)
{
	struct track *const t = &((struct one *)*state)->t;

	add(t, "Q");
	assert_int_equal(track_silence(t), TRACK_ASK);
	replies(t, "G");
	add(t, "c");
	replies(t, "CZ");
	assert_true(track_is_done(t) && t->odd == 0);
}

/* ... and that fails: was the Sync read? */
static void test_question_ahead_of_failed_copy_is_told_to_nobody(void **state)
{
	struct track *const t = &((struct one *)*state)->t;

	for (int answered = 0; answered <= 1; answered++) {
		add(t, "Q");
		assert_int_equal(track_silence(t), TRACK_ASK);
		replies(t, "GE");
		assert_true(t->uncertain);
		assert_int_equal(track_reply(t, 'Z', 'I'), TRACK_PASS);
		assert_true(t->uncertain);
		track_add(t, 'C', TRACK_SKIP, NULL);
		track_add(t, 'S', TRACK_SKIP, NULL);
		if (answered) {
			assert_int_equal(track_reply(t, 'Z', 'I'),
			    TRACK_SWALLOW);
		}
		if (t->uncertain)
			track_settle(t, '3');
		assert_int_equal(track_reply(t, '3', 0), TRACK_SWALLOW);
		assert_int_equal(track_reply(t, 'Z', 'I'), TRACK_SWALLOW);
		assert_true(track_is_done(t) && t->odd == 0);
	}
}

static void test_copy_success_swallows_syncs(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	add(t, "PBESS");
	replies(t, "12G");
	assert_true(t->copy_in);
	add(t, "ScS");
	replies(t, "C");
	assert_false(t->copy_in || t->uncertain);
	assert_int_equal(t->count, 1);
	replies(t, "Z");
	assert_true(track_is_done(t));
}

static void test_two_copies_in_one_query(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	add(t, "QccQ");
	replies(t, "GCGCZ");
	assert_int_equal(t->count, 1);
	replies(t, "CZ");
	assert_true(track_is_done(t));
	add(t, "QccQ");
	replies(t, "GEZ");
	assert_int_equal(t->count, 1);
	replies(t, "CZ");
	assert_true(track_is_done(t));
	assert_false(t->uncertain);
}

static void test_request_in_the_middle_of_data_was_not_read(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	/* or the session ends with it */
	add(t, "QQ");
	replies(t, "GE");
	assert_false(t->uncertain);
	replies(t, "ZCZ");
	assert_true(track_is_done(t));
}

static void test_copy_both_ends_with_both(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	add(t, "Q");
	replies(t, "Wddc");
	assert_true(t->copy_in);
	add(t, "c");
	replies(t, "CTDCZ");
	assert_true(track_is_done(t));
}

static void test_simple_query_after_error_is_discarded(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	add(t, "PQBF");
	replies(t, "E");
	assert_true(track_is_empty(t) && t->aborted);
	add(t, "QFP");
	assert_true(track_is_empty(t));
	add(t, "S");
	assert_false(t->aborted);
	replies(t, "Z");
	assert_true(track_is_done(t));
}

static void test_fake_behind_failure_is_not_made(void **state)
{
	struct one *o = *state;
	struct track *t = &o->t;

	add(t, "P");
	track_add(t, 'P', TRACK_FAKE, &o->op[0]);
	add(t, "BS");
	track_add(t, 'C', TRACK_FAKE, &o->op[1]);
	assert_int_equal(track_fake(t), 0);
	replies(t, "E");
	assert_int_equal(o->op[0].rolled_back, 1);
	assert_int_equal(track_fake(t), 0);
	replies(t, "Z");
	assert_int_equal(track_fake(t), 'C');
	assert_int_equal(track_fake(t), 0);
	assert_int_equal(o->op[1].committed, 1);
	assert_true(track_is_done(t));	/* the server has nothing to do */
	add(t, "S");
	assert_false(track_is_done(t));
	replies(t, "Z");
	assert_true(track_is_done(t));
}

static void test_error_at_sync_keeps_what_follows(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	add(t, "PBESPS");
	replies(t, "12CEZ");
	assert_int_equal(t->count, 2);
	replies(t, "1Z");
	assert_true(track_is_done(t));
}

static void test_error_of_ours(void **state)
{
	struct one *o = *state;
	struct track *t = &o->t;

	track_add(t, 'Q', TRACK_SKIP, NULL);
	assert_int_equal(track_reply(t, 'E', 0), TRACK_FAILED);
	assert_int_equal(track_reply(t, 'N', 0), TRACK_SWALLOW);
	assert_int_equal(track_reply(t, 'S', 0), TRACK_SWALLOW);
	assert_int_equal(track_reply(t, 'Z', 'I'), TRACK_SWALLOW);
	track_add(t, 'P', TRACK_SKIP, &o->op[0]);
	add(t, "BS");
	/* a change that our Parse can't have made is the client's */
	assert_int_equal(track_reply(t, 'S', 0), TRACK_PASS);
	replies(t, "E");
	assert_int_equal(o->op[0].rolled_back, 1);
	replies(t, "Z");
	assert_true(track_is_done(t));
}

/* Its end is told once, with the Sync's. */
static void test_end_of_a_query_is_told_by_our_sync(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	track_tell_later(t);
	add(t, "Q");
	track_tell_later(t);
	track_add(t, 'S', TRACK_SKIP, NULL);
	replies(t, "TDC");
	track_tell_later(t);
	assert_int_equal(track_reply(t, 'Z', 'T'), TRACK_SWALLOW);
	assert_false(track_is_answered(t));
	assert_int_equal(track_reply(t, 'Z', 'T'), TRACK_PASS);
	assert_true(track_is_empty(t) && track_is_plain(t));
	/* no Query, or none of the client's */
	track_add(t, 'S', TRACK_SKIP, NULL);
	track_add(t, 'S', TRACK_SKIP, NULL);
	track_tell_later(t);
	assert_int_equal(track_reply(t, 'Z', 'I'), TRACK_SWALLOW);
	assert_int_equal(track_reply(t, 'Z', 'I'), TRACK_SWALLOW);
}

static void test_error_of_a_query_rolls_back_what_it_means(void **state)
{
	struct one *o = *state;
	struct track *t = &o->t;

	track_add(t, 'Q', TRACK_FORWARD, &o->op[0]);
	track_add(t, 'Q', TRACK_FORWARD, &o->op[1]);
	replies(t, "E");
	assert_int_equal(o->op[0].rolled_back, 1);
	assert_int_equal(t->op_count, 1);
	replies(t, "ZCZ");
	assert_int_equal(o->op[0].rolled_back + o->op[0].committed, 1);
	assert_int_equal(o->op[1].committed, 1);
	assert_true(track_is_done(t));
}

static void test_impossible_replies_confuse(void **state)
{
	struct track *t = &((struct one *)*state)->t;
	static const char idle[] = "Z123nsCIDTtGHWVdc";

	for (const char *s = idle; *s != '\0'; s++)
		assert_int_equal(track_reply(t, *s, 'I'), TRACK_CONFUSED);
	add(t, "P");
	assert_int_equal(track_reply(t, 'Z', 'I'), TRACK_CONFUSED);
	for (const char *s = "23ns"; *s != '\0'; s++)
		assert_int_equal(track_reply(t, *s, 0), TRACK_CONFUSED);
	assert_int_equal(t->count, 1);
	replies(t, "1");
	add(t, "BDECS");
	for (const char *s = "1ns"; *s != '\0'; s++)
		assert_int_equal(track_reply(t, *s, 0), TRACK_CONFUSED);
	replies(t, "2tnDs3Z");
	assert_true(track_is_done(t));
}

static void test_awaits_ready(void **state)
{
	static const struct {
		const char *sent;
		bool awaits;
	} rows[] = {
		{ "Q", true }, { "F", true }, { "PS", true }, { "P", false },
		{ "QP", false }, { "Qc", true }, { "Qf", true },
		{ "Ec", false }, { "EScc", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct track t;

		track_init(&t, &ops, NULL);
		add(&t, rows[i].sent);
		assert_int_equal(track_awaits_ready(&t), rows[i].awaits);
		track_fini(&t);
	}
}

static void test_ring_grows_around_its_end(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	/* two rounds come for each that is answered, so the head wanders */
	for (unsigned round = 0; round < 200; round++) {
		add(t, "PBCSSPBCSS");
		replies(t, "123ZZ");
		assert_int_equal(t->count, 5 * (round + 1));
	}
	assert_int_equal(track_bytes(t), mem_stat(MEM_TRACK)->bytes);
	assert_true(t->size >= t->count && (t->size & (t->size - 1)) == 0);
	for (unsigned round = 0; round < 200; round++)
		replies(t, "123ZZ");
	assert_true(track_is_done(t));
}

static void test_full_at_the_cap(void **state)
{
	struct track *t = &((struct one *)*state)->t;

	for (unsigned i = 0; i < TRACK_CAP; i++) {
		assert_false(track_is_full(t));
		assert_int_equal(track_add(t, 'S', TRACK_FORWARD, NULL), 0);
	}
	assert_true(track_is_full(t));
	replies(t, "Z");
	assert_false(track_is_full(t));
}

static void test_no_memory_rolls_back(void **state)
{
	struct one *o = *state;
	struct track *t = &o->t;

	mem_fail_at(1);
	assert_int_equal(track_add(t, 'P', TRACK_FORWARD, &o->op[0]), -1);
	mem_fail_at(0);
	assert_int_equal(o->op[0].rolled_back, 1);
	assert_true(track_is_empty(t));
	add(t, "PPPPPPPPPPPPPPPP");
	mem_fail_at(1);
	assert_int_equal(track_add(t, 'P', TRACK_FORWARD, &o->op[1]), -1);
	mem_fail_at(0);
	assert_int_equal(o->op[1].rolled_back, 1);
	assert_int_equal(t->count, 16);
	replies(t, "1");
}

#define ROLLED 5
static void note_order(void *op, void *arg)
{
	unsigned *n = arg;

	((struct ended *)op)->rolled_back = ++*n;
}

static void test_fini_rolls_back_newest_first(void **state)
{
	static const struct track_ops order = { on_commit, note_order };
	struct ended op[ROLLED] = { { 0 } };
	struct track t;
	unsigned n = 0;

	(void)state;
	track_init(&t, &order, &n);
	for (unsigned i = 0; i < ROLLED; i++)
		track_add(&t, 'P', TRACK_FORWARD, &op[i]);
	track_fini(&t);
	for (unsigned i = 0; i < ROLLED; i++)
		assert_int_equal(op[i].rolled_back, ROLLED - i);
	assert_int_equal(track_bytes(&t), 0);
	track_fini(&t);		/* twice is fine */
	assert_int_equal(n, ROLLED);
}

static void test_what_stands_apart(void **state)
{
	struct one *o = *state;
	unsigned n = 9;

	assert_int_equal(track_apart(&o->t, &n), 0);
	assert_int_equal(n, 0);
	assert_false(track_may_be_failed(&o->t));
	track_add(&o->t, FE_PARSE, TRACK_FORWARD, &o->op[0]);
	assert_int_equal(track_apart(&o->t, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(o->t.op_count, 1);
	assert_false(track_may_be_failed(&o->t));
	track_add(&o->t, FE_SYNC, TRACK_FORWARD, NULL);
	track_add(&o->t, FE_PARSE, TRACK_FORWARD, &o->op[1]);
	assert_int_equal(track_apart(&o->t, &n), 0);
	assert_int_equal(n, 2);
	assert_true(track_may_be_failed(&o->t));
	track_reply(&o->t, BE_PARSE_COMPLETE, 0);
	track_reply(&o->t, BE_READY_FOR_QUERY, 'E');
	assert_int_equal(o->t.op_count, 1);
	assert_int_equal(track_apart(&o->t, &n), 0);
	assert_int_equal(n, 0);
	assert_true(track_may_be_failed(&o->t));
	track_reply(&o->t, BE_ERROR_RESPONSE, 0);
	assert_int_equal(o->t.op_count, 0);
	assert_true(o->t.aborted);
	track_add(&o->t, FE_SYNC, TRACK_FORWARD, NULL);
	track_reply(&o->t, BE_READY_FOR_QUERY, 'I');
	assert_false(track_may_be_failed(&o->t));
	for (unsigned i = 0; i <= TRACK_LOOK; i++)
		track_add(&o->t, FE_EXECUTE, TRACK_FORWARD, NULL);
	assert_int_equal(track_apart(&o->t, &n), -1);
	assert_true(track_may_be_failed(&o->t));
}

static void test_ready_is_owed_to_what_ends_by_itself(void **state)
{
	static const char types[] = { FE_SYNC, FE_QUERY, FE_FUNCTION_CALL };
	struct one *o = *state;

	track_add(&o->t, FE_PARSE, TRACK_FORWARD, NULL);
	assert_false(track_owes_ready(&o->t));
	track_reply(&o->t, BE_PARSE_COMPLETE, 0);
	for (size_t i = 0; i < sizeof types; i++) {
		track_add(&o->t, types[i], TRACK_FORWARD, NULL);
		track_add(&o->t, FE_BIND, TRACK_FORWARD, NULL);
		assert_true(track_owes_ready(&o->t));
		if (types[i] == FE_FUNCTION_CALL)
			track_reply(&o->t, BE_FUNCTION_CALL_RESPONSE, 0);
		track_reply(&o->t, BE_READY_FOR_QUERY, 'I');
		assert_false(track_owes_ready(&o->t));
		track_reply(&o->t, BE_BIND_COMPLETE, 0);
	}
	for (unsigned i = 0; i <= TRACK_LOOK; i++)
		track_add(&o->t, FE_EXECUTE, TRACK_FORWARD, NULL);
	assert_true(track_owes_ready(&o->t));
}

static void test_query_of_ours_fails_no_transaction(void **state)
{
	struct one *o = *state;

	track_add(&o->t, FE_QUERY, TRACK_SKIP, NULL);
	assert_false(track_may_be_failed(&o->t));
	track_add(&o->t, FE_QUERY, TRACK_FORWARD, NULL);
	assert_true(track_may_be_failed(&o->t));
}

static void test_copy_wants_data_up_to_its_end(void **state)
{
	struct one *o = *state;

	track_add(&o->t, FE_QUERY, TRACK_FORWARD, NULL);
	assert_false(track_wants_data(&o->t));
	track_reply(&o->t, BE_COPY_IN_RESPONSE, 0);
	assert_true(track_wants_data(&o->t));
	track_add(&o->t, FE_COPY_DONE, TRACK_FORWARD, NULL);
	assert_false(track_wants_data(&o->t));
}

static void test_a_run_leaves_what_is_special(void **state)
{
	struct one *o = *state;

	track_add(&o->t, FE_QUERY, TRACK_SKIP, NULL);
	assert_false(track_is_plain(&o->t));
	track_reply(&o->t, BE_READY_FOR_QUERY, 'I');
	assert_true(track_is_plain(&o->t));
	assert_false(track_take(&o->t, BE_DATA_ROW));
	assert_false(track_take_ready(&o->t, 'I'));
	assert_true(track_room(&o->t) > 0);
	track_add_plain(&o->t, FE_BIND);
	assert_false(track_take(&o->t, BE_PARSE_COMPLETE));
	assert_false(track_take(&o->t, BE_DATA_ROW));
	assert_false(track_take(&o->t, BE_ERROR_RESPONSE));
	assert_false(track_take_ready(&o->t, 'I'));
	assert_int_equal(o->t.count, 1);
	track_add(&o->t, FE_PARSE, TRACK_FORWARD, &o->op[0]);
	assert_false(track_is_plain(&o->t));
	track_reply(&o->t, BE_ERROR_RESPONSE, 0);
	assert_true(track_is_plain(&o->t));
	assert_int_equal(track_room(&o->t), 0);
	track_add(&o->t, FE_SYNC, TRACK_FORWARD, NULL);
	assert_true(track_room(&o->t) > 0);
	track_add_plain(&o->t, FE_QUERY);
	assert_true(track_take_ready(&o->t, 'E'));
	assert_int_equal(o->t.status, 'E');
	track_reply(&o->t, BE_COPY_IN_RESPONSE, 0);
	assert_false(track_is_plain(&o->t));
	track_add(&o->t, FE_COPY_DONE, TRACK_FORWARD, NULL);
	track_reply(&o->t, BE_COMMAND_COMPLETE, 0);
	assert_true(track_is_plain(&o->t));
	assert_true(track_take_ready(&o->t, 'I'));
	assert_true(track_is_done(&o->t));
}

static void test_a_fake_is_no_part_of_a_run(void **state)
{
	struct one *o = *state;

	assert_int_equal(track_put(&o->t, &(struct track_req){ .type =
	    FE_EXECUTE, .how = TRACK_FORWARD }), 0);
	assert_int_equal(track_put(&o->t, &(struct track_req){ .type =
	    FE_CLOSE, .how = TRACK_FAKE }), 0);
	assert_false(track_is_plain(&o->t));
	track_reply(&o->t, BE_PORTAL_SUSPENDED, 0);
	assert_int_equal(track_fake(&o->t), FE_CLOSE);
	assert_true(track_is_plain(&o->t));
}

static void test_query_in_a_batch_ends_no_skipping(void **state)
{
	struct one *o = *state;
	static const char ends[] = { FE_QUERY, FE_FUNCTION_CALL };

	for (size_t i = 0; i < sizeof ends; i++) {
		assert_false(track_may_be_skipped(&o->t));
		track_add(&o->t, ends[i], TRACK_FORWARD, NULL);
		assert_false(track_may_be_skipped(&o->t));
		track_add(&o->t, FE_EXECUTE, TRACK_FORWARD, NULL);
		track_add(&o->t, ends[i], TRACK_FORWARD, NULL);
		assert_true(track_may_be_skipped(&o->t));
		track_add(&o->t, FE_SYNC, TRACK_FORWARD, NULL);
		track_add(&o->t, ends[i], TRACK_FORWARD, NULL);
		assert_false(track_may_be_skipped(&o->t));
		track_fini(&o->t);
		track_init(&o->t, &ops, NULL);
	}
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_nothing_is_done_before_the_first_ready),
		CASE(test_transaction_status_keeps_the_link),
		CASE(test_asynchronous_messages_spoil_ready),
		CASE(test_late_copy_end_leaves_server_done),
		CASE(test_late_copy_end_behind_sync_is_silent),
		CASE(test_probe_ends_doubt),
		CASE(test_query_in_a_batch_ends_no_skipping),
		CASE(test_next_request_ends_doubt),
		CASE(test_request_behind_doubtful_copy_is_lost),
		CASE(test_silence_with_nothing_owed_asks_nothing),
		CASE(test_silence_before_sync_asks_nothing),
		CASE(test_silence_is_asked_once_while_nothing_comes),
		CASE(test_only_the_end_of_the_question_comes),
		CASE(test_end_of_a_query_without_an_answer_is_another),
		CASE(test_failed_query_with_an_open_batch_behind_is_lost),
		CASE(test_question_ahead_of_copy_data_is_forgotten),
		CASE(test_question_ahead_of_failed_copy_is_told_to_nobody),
		CASE(test_copy_success_swallows_syncs),
		CASE(test_two_copies_in_one_query),
		CASE(test_request_in_the_middle_of_data_was_not_read),
		CASE(test_copy_both_ends_with_both),
		CASE(test_simple_query_after_error_is_discarded),
		CASE(test_fake_behind_failure_is_not_made),
		CASE(test_error_at_sync_keeps_what_follows),
		CASE(test_error_of_ours),
		CASE(test_end_of_a_query_is_told_by_our_sync),
		CASE(test_error_of_a_query_rolls_back_what_it_means),
		CASE(test_impossible_replies_confuse),
		cmocka_unit_test(test_awaits_ready),
		CASE(test_what_stands_apart),
		CASE(test_ready_is_owed_to_what_ends_by_itself),
		CASE(test_query_of_ours_fails_no_transaction),
		CASE(test_copy_wants_data_up_to_its_end),
		CASE(test_a_run_leaves_what_is_special),
		CASE(test_a_fake_is_no_part_of_a_run),
		CASE(test_ring_grows_around_its_end),
		CASE(test_full_at_the_cap),
		CASE(test_no_memory_rolls_back),
		cmocka_unit_test(test_fini_rolls_back_newest_first),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
