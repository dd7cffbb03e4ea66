/* top_ask.c - what top wants to know, asked without ever waiting.
 * SPDX-License-Identifier: ISC */
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
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
	[TOP_CONSOLES] = "SELECT * FROM pools WHERE database = 'pgbouncer'",
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
	/* another process may answer next, in which an id is somebody else's */
	if (t->mode == TOP_WOULD_KILL || t->order[0] != '\0') {
		t->mode = TOP_LOOKS;
		text_copy(t->message, sizeof(t->message), "The connection was "
		    "lost: it is not known whether the order was carried out");
	}
	t->order[0] = '\0';
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
	t->next = time_precise() + (t->order[0] != '\0' ? 0 : t->interval);
}

static bool is_wanted(const struct top *t, enum top_question q)
{
	if (q == TOP_ORDER)
		return t->order[0] != '\0';
	return !t->greeted || (q != TOP_VERSION && q != TOP_BIRTH);
}

static void compose(const struct top *t, struct text *query)
{
	const bool one = t->database[0] != '\0';

	board_query(board_at(t->board), &(struct board_wish){
		.sort = t->sort[t->board].column,
		.descending = t->sort[t->board].descending,
		.all = t->filter[0] != '\0',
		.database = one ? t->database : NULL,
		.user = one ? t->user : NULL }, query);
}

static const char *query_of(const struct top *t, enum top_question q,
    const char *rows)
{
	return q == TOP_ROWS ? rows : q == TOP_ORDER ? t->order : queries[q];
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
		t->fresh = time_precise();
		rest(t);
		return;
	}
	text_init(&query, rows, sizeof(rows));
	if (q == TOP_ROWS) {
		t->asked = t->board;
		compose(t, &query);
	}
	t->question = q;
	t->state = TOP_ASKING;
	t->events = POLLIN;
	t->since = time_precise();
	if (!PQsendQuery(t->link.conn, query_of(t, q, rows))) {
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

static void take_consoles(struct top *t, const struct grid *g)
{
	summary_consoles(&t->sum, g);
}

static void take_waits(struct top *t, const struct grid *g)
{
	summary_waits(&t->sum, g);
}

static void take_health(struct top *t, const struct grid *g)
{
	summary_health(&t->sum, g);
}

/* Takers of answers; the rows, and what is wrong, are kept besides. */
static void (*const takers[TOP_QUESTIONS])(struct top *t,
    const struct grid *g) = {
	[TOP_VERSION] = take_version,
	[TOP_BIRTH] = take_birth,
	[TOP_STATE] = take_state,
	[TOP_LISTS] = take_lists,
	[TOP_CONSOLES] = take_consoles,
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

/* The row that was selected, or the nearest; the first, unless one was. */
static void find_selected(struct top *t)
{
	const struct board_data d = top_data(t);
	size_t row = 0;

	if (t->key[0] == '\0') {
		t->selected = 0;
		return;
	}
	for (; row < t->rows.rows; row++) {
		char key[sizeof(t->key)];
		struct text x;

		text_init(&x, key, sizeof(key));
		board_key(&d, row, &x);
		if (strcmp(key, t->key) == 0)
			break;
	}
	top_select(t, row < t->rows.rows ? row : t->selected);
}

void top_select(struct top *t, size_t row)
{
	const struct board_data d = top_data(t);
	struct text x;

	if (row >= t->rows.rows)
		row = t->rows.rows > 0 ? t->rows.rows - 1 : 0;
	text_init(&x, t->key, sizeof(t->key));
	if (t->rows.rows > 0)
		board_key(&d, row, &x);
	t->selected = row;
}

static void keep(struct top *t, struct grid *place, const struct grid *g)
{
	link_give_back(place);
	*place = *g;
	if (place != &t->rows)
		return;
	t->shown = t->asked;
	board_hide_console(&t->rows);
	if (t->filter[0] != '\0')
		board_filter(&t->rows, t->filter);
	top_sort(t);
	find_selected(t);
}

/* What became of an order; true: the answer was one to it. */
static bool take_order(struct top *t, PGresult *res)
{
	struct err why = { .text = "" };

	if (t->question != TOP_ORDER)
		return false;
	if (PQresultStatus(res) == PGRES_FATAL_ERROR)
		link_complaint(res, &why);
	snprintf(t->message, sizeof(t->message), "%s: %.180s", t->order,
	    why.text[0] != '\0' ? why.text : "done");
	t->order[0] = '\0';
	PQclear(res);
	return true;
}

/* All of an answer is there. An older pooler may not know the question. */
static void take(struct top *t, PGresult *res)
{
	struct grid g;

	t->answer = NULL;
	if (take_order(t, res))
		return;
	if (PQresultStatus(res) != PGRES_TUPLES_OK) {
		PQclear(res);
		return;
	}
	if (link_take(&g, res, &t->why) != 0)
		return;
	if (takers[t->question] != NULL)
		takers[t->question](t, &g);
	if (t->question == TOP_ROWS)
		keep(t, &t->rows, &g);
	else if (t->question == TOP_HEALTH)
		keep(t, &t->findings, &g);
	else
		link_give_back(&g);
}

void top_forget(struct top *t)
{
	PQclear(t->answer);
	t->answer = NULL;
	link_give_back(&t->rows);
	link_give_back(&t->findings);
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
