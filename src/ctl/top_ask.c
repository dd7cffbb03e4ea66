/* top_ask.c - what top wants to know, asked without ever waiting.
 * SPDX-License-Identifier: ISC */
#include <libpq-fe.h>
#include <poll.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "ctl/top_parts.h"

#define QUERY_MAX 512
#define RETRY USEC		/* between two tries to connect */

static const char *const queries[TOP_QUESTIONS] = {
	[TOP_VERSION] = "SHOW VERSION",
	[TOP_BIRTH] = "SELECT pg_postmaster_start_time()",
	[TOP_STATE] = "SHOW STATE",
	[TOP_LISTS] = "SHOW LISTS",
	[TOP_TOTALS] = "SHOW TOTALS",
	[TOP_WAITS] = "SHOW WAITS",
	[TOP_HEALTH] = "SHOW HEALTH",
};

/* The reason is in t->why. */
static void go_down(struct top *t)
{
	PQclear(t->answer);
	t->answer = NULL;
	PQfinish(t->link.conn);
	t->link.conn = NULL;
	t->greeted = false;
	t->count.at = 0;
	t->state = TOP_DOWN;
	t->next = time_precise() + RETRY;
}

void top_connect(struct top *t)
{
	t->since = time_precise();
	if (link_start(&t->link, &t->why) != 0) {
		go_down(t);
		return;
	}
	t->state = TOP_CONNECTING;
	t->events = POLLOUT;
}

/* --- questions --- */

static void rest(struct top *t)
{
	t->state = TOP_RESTING;
	t->next = time_precise() + t->interval;
}

static bool is_wanted(const struct top *t, enum top_question q)
{
	return !t->greeted || (q != TOP_VERSION && q != TOP_BIRTH);
}

/* The next question that is wanted, or the end of the round. */
static void ask_from(struct top *t, enum top_question q)
{
	char rows[QUERY_MAX];
	struct text query;

	while (q < TOP_QUESTIONS && !is_wanted(t, q))
		q++;
	if (q == TOP_QUESTIONS) {
		t->greeted = true;
		rest(t);
		return;
	}
	text_init(&query, rows, sizeof(rows));
	if (q == TOP_ROWS) {
		t->shown = t->board;
		board_query(board_at(t->board), t->sort[t->board].column,
		    t->sort[t->board].descending, &query);
	}
	t->question = q;
	t->state = TOP_ASKING;
	t->events = POLLIN;
	t->since = time_precise();
	if (!PQsendQuery(t->link.conn, q == TOP_ROWS ? rows : queries[q])) {
		link_failure(&t->link, &t->why);
		go_down(t);
	}
}

void top_ask(struct top *t)
{
	if (t->state == TOP_RESTING)
		ask_from(t, (enum top_question)0);
}

/* --- answers --- */

static int64_t total(const struct grid *g, const char *name)
{
	const char *const value = grid_value(g, name);
	int64_t n = 0;

	if (value != NULL)
		(void)num_parse_i64(value, &n);
	return n;
}

static int64_t rate(int64_t now, int64_t before, usec_t time)
{
	return now < before || time <= 0 ? 0 :
	    (now - before) * USEC / time;
}

static void take_totals(struct top *t, const struct grid *g)
{
	const int64_t transactions = total(g, "total_xact_count");
	const int64_t count = total(g, "total_query_count");
	const usec_t now = time_precise();

	t->tps = t->qps = -1;
	if (t->count.at != 0) {
		const usec_t time = now - t->count.at;

		t->tps = rate(transactions, t->count.transactions, time);
		t->qps = rate(count, t->count.queries, time);
	}
	t->count.transactions = transactions;
	t->count.queries = count;
	t->count.at = now;
}

static void take_birth(struct top *t, const struct grid *g)
{
	time_update();
	summary_uptime(&t->sum, grid_cell(g, 0, 0), time_wall(time_now()));
	t->birth = time_now() - t->sum.uptime;
}

static void take_version(struct top *t, const struct grid *g)
{
	summary_version(&t->sum, g);
}

static void take_state(struct top *t, const struct grid *g)
{
	summary_state(&t->sum, g);
	if (t->sum.uptime >= 0)
		t->sum.uptime = time_precise() - t->birth;
}

static void take_lists(struct top *t, const struct grid *g)
{
	summary_lists(&t->sum, g);
}

static void take_waits(struct top *t, const struct grid *g)
{
	summary_waits(&t->sum, g);
}

static void take_health(struct top *t, const struct grid *g)
{
	summary_health(&t->sum, g);
}

/* Takers of answers that are not kept. */
static void (*const takers[TOP_QUESTIONS])(struct top *t,
    const struct grid *g) = {
	[TOP_VERSION] = take_version,
	[TOP_BIRTH] = take_birth,
	[TOP_STATE] = take_state,
	[TOP_LISTS] = take_lists,
	[TOP_TOTALS] = take_totals,
	[TOP_WAITS] = take_waits,
	[TOP_HEALTH] = take_health,
};

void top_sort(struct top *t)
{
	const struct board *const b = board_at(t->shown);
	const int column = t->sort[t->shown].column;

	(void)grid_sort(&t->rows, grid_column(&t->rows,
	    b->columns[column].source), t->sort[t->shown].descending);
}

static void keep(struct top *t, const struct grid *g)
{
	link_give_back(&t->rows);
	t->rows = *g;
	board_hide_console(&t->rows);
	top_sort(t);
}

/* All of an answer is there. An older pooler may not know the question. */
static void take(struct top *t, PGresult *res)
{
	struct grid g;

	t->answer = NULL;
	if (PQresultStatus(res) != PGRES_TUPLES_OK) {
		PQclear(res);
		return;
	}
	if (link_take(&g, res, &t->why) != 0)
		return;
	if (takers[t->question] == NULL) {
		keep(t, &g);
		return;
	}
	takers[t->question](t, &g);
	link_give_back(&g);
}

void top_forget(struct top *t)
{
	PQclear(t->answer);
	t->answer = NULL;
	link_give_back(&t->rows);
}

/* --- steps --- */

static void proceed_connecting(struct top *t)
{
	const PostgresPollingStatusType step = PQconnectPoll(t->link.conn);

	t->events = step == PGRES_POLLING_READING ? POLLIN : POLLOUT;
	if (step == PGRES_POLLING_FAILED) {
		link_failure(&t->link, &t->why);
		go_down(t);
	} else if (step == PGRES_POLLING_OK) {
		t->why.text[0] = '\0';
		ask_from(t, (enum top_question)0);
	}
}

static void proceed_asking(struct top *t)
{
	if (!PQconsumeInput(t->link.conn)) {
		link_failure(&t->link, &t->why);
		go_down(t);
		return;
	}
	while (t->state == TOP_ASKING && !PQisBusy(t->link.conn)) {
		PGresult *const res = PQgetResult(t->link.conn);

		if (res != NULL) {
			PQclear(t->answer);
			t->answer = res;
		} else {
			take(t, t->answer);
			ask_from(t, (enum top_question)(t->question + 1));
		}
	}
}

/* No question is open: input can only be the end of the connection. */
static void proceed_resting(struct top *t)
{
	if (PQconsumeInput(t->link.conn))
		return;
	link_failure(&t->link, &t->why);
	go_down(t);
}

static void on_time(struct top *t)
{
	if (t->state == TOP_DOWN) {
		top_connect(t);
	} else if (t->state == TOP_RESTING) {
		if (t->frozen)
			rest(t);
		else
			top_ask(t);
	} else {
		err_set(&t->why, ERRCODE_CONNECTION_EXCEPTION,
		    "the console does not answer");
		go_down(t);
	}
}

usec_t top_due(const struct top *t)
{
	return t->state == TOP_DOWN || t->state == TOP_RESTING ? t->next :
	    t->since + LINK_TIMEOUT;
}

void top_proceed(struct top *t, bool ready)
{
	static void (*const steps[])(struct top *t) = {
		[TOP_CONNECTING] = proceed_connecting,
		[TOP_ASKING] = proceed_asking,
		[TOP_RESTING] = proceed_resting,
	};

	if (ready && t->state != TOP_DOWN)
		steps[t->state](t);
	if (time_precise() >= top_due(t))
		on_time(t);
}
