/* track.c - the requests that a server still owes an answer, in order.
 * SPDX-License-Identifier: ISC */
#include "proto/track.h"

#include "base/mem.h"
#include "proto/msg.h"
#include "proto/track_run.h"

void track_init(struct track *t, const struct track_ops *ops, void *arg)
{
	*t = (struct track){ .ops = ops, .arg = arg };
}

static struct track_req *at(const struct track *t, unsigned i)
{
	return &t->ring[(t->head + i) & (t->size - 1)];
}

static bool is_copy_end(char type)
{
	return type == FE_COPY_DONE || type == FE_COPY_FAIL;
}

static bool is_maybe(const struct track_req *r)
{
	return r->how == TRACK_MAYBE || r->how == TRACK_SKIP_MAYBE;
}

static bool is_odd(const struct track_req *r)
{
	return r->how != TRACK_FORWARD || is_copy_end(r->type);
}

/* The newest request; there is room. */
static void push(struct track *t, const struct track_req *r)
{
	*at(t, t->count++) = *r;
	t->odd += is_odd(r);
	t->op_count += r->op != NULL;
}

/* Remove request i; requests before i move up, so i is small or the head. */
static void track_drop(struct track *t, unsigned i)
{
	t->odd -= is_odd(at(t, i));
	for (; i > 0; i--)
		*at(t, i) = *at(t, i - 1);
	t->head = (t->head + 1) & (t->size - 1);
	t->count--;
}

static void commit(struct track *t, unsigned i)
{
	struct track_req *r = at(t, i);

	if (r->op != NULL) {
		t->op_count--;
		t->ops->commit(r->op, t->arg);
	}
	track_drop(t, i);
}

static void track_undo(struct track *t, unsigned i)
{
	struct track_req *r = at(t, i);

	if (r->op == NULL)
		return;
	t->op_count--;
	t->ops->rollback(r->op, t->arg);
	r->op = NULL;
}

/* The requests from..to-1 have not happened; newest first. */
static void rollback(struct track *t, unsigned from, unsigned to)
{
	for (unsigned i = to; i-- > from;)
		track_undo(t, i);
	for (unsigned i = from; i < to; i++)
		track_drop(t, from);
}

void track_fini(struct track *t)
{
	if (t->count > 0)
		rollback(t, 0, t->count);
	mem_note(MEM_TRACK, 0, -(long)track_bytes(t));
	mem_free(t->ring);
	t->ring = NULL;
	t->size = 0;
}

static int track_grow(struct track *t)
{
	const unsigned size = t->size == 0 ? 16 : t->size * 2;
	struct track_req *ring = mem_alloc(size * sizeof *ring);

	if (ring == NULL)
		return -1;
	for (unsigned i = 0; i < t->count; i++)
		ring[i] = *at(t, i);
	mem_note(MEM_TRACK, 0, (long)((size - t->size) * sizeof *ring));
	mem_free(t->ring);
	t->ring = ring;
	t->head = 0;
	t->size = size;
	return 0;
}

static void track_refuse(struct track *t, void *op)
{
	if (op != NULL)
		t->ops->rollback(op, t->arg);
}

int track_put(struct track *t, const struct track_req *r)
{
	if (r->how > TRACK_SKIP_MAYBE || track_is_full(t) ||
	    (t->count == t->size && track_grow(t) < 0))
		return -1;
	push(t, r);
	return 0;
}

void track_set_op(struct track *t, unsigned i, void *op)
{
	at(t, i)->op = op;
	t->op_count++;
}

int track_add(struct track *t, char type, enum track_how how, void *op)
{
	/* Message Flow, COPY Operations: outside of COPY its end is ignored */
	if (t->count == 0 && is_copy_end(type))
		return 0;
	if (how != TRACK_FAKE)	/* fakes do not reach the server */
		t->ready = false;
	if (t->aborted && type != FE_SYNC) {
		/* Message Flow, Extended Query: discarded up to Sync */
		track_refuse(t, op);
		return 0;
	}
	if (t->count == t->size && track_grow(t) < 0) {
		track_refuse(t, op);
		return -1;
	}
	t->aborted = false;
	push(t, &(struct track_req){ .type = type, .how = (uint8_t)how,
	    .op = op });
	return 0;
}

static bool ends_in_ready(char type)
{
	return type == FE_QUERY || type == FE_SYNC || type == FE_FUNCTION_CALL;
}

/* Will a ReadyForQuery end the oldest n requests? */
static bool awaits_ready(const struct track *t, unsigned n)
{
	unsigned i = n;

	while (i > 0 && is_copy_end(at(t, i - 1)->type))
		i--;
	/* a Sync before the end of the data may be COPY data */
	if (i == 0 || (i < n && at(t, i - 1)->type == FE_SYNC))
		return false;
	return ends_in_ready(at(t, i - 1)->type);
}

bool track_awaits_ready(const struct track *t)
{
	return awaits_ready(t, t->count);
}

static bool is_extended(char type)
{
	return type == FE_PARSE || type == FE_BIND || type == FE_DESCRIBE ||
	    type == FE_EXECUTE || type == FE_CLOSE;
}

/*
 * COPY-in succeeded: the server has read up to CopyDone, and ignored what
 * stands before it, Sync too (Message Flow, COPY Operations).
 */
static void finish_copy(struct track *t)
{
	unsigned end = 1;

	t->copy_in = false;
	while (end < t->count && !is_copy_end(at(t, end)->type))
		end++;
	if (end < t->count)
		rollback(t, 1, end + 1);
}

/* The first request from i on that is no CopyDone or CopyFail, or count. */
static unsigned skip_silent(const struct track *t, unsigned i)
{
	while (i < t->count && is_copy_end(at(t, i)->type))
		i++;
	return i;
}

/*
 * COPY-in failed. Syncs that were sent before the end of the data may have
 * been read as part of them, and ignored, or are still to be answered: nobody
 * can tell how many, and if none was sent behind, whether the server discards
 * what comes now. (COPY to a view fails before it reads anything.) Other
 * requests were not sent as data: PostgreSQL ends the session if it reads one.
 */
static void break_copy(struct track *t)
{
	unsigned end = 1;

	t->copy_in = false;
	while (end < t->count && at(t, end)->type == FE_SYNC)
		end++;
	const unsigned next = skip_silent(t, end);

	if (end == 1 || (next == end && next < t->count))
		return;
	for (unsigned i = 1; i < end; i++) {
		struct track_req *const r = at(t, i);

		t->odd -= is_odd(r);
		r->how = r->how == TRACK_SKIP ? TRACK_SKIP_MAYBE : TRACK_MAYBE;
		t->odd++;
	}
	t->uncertain = true;
	t->asked = false;
	t->lost = is_extended(at(t, 0)->type) && next < t->count &&
	    at(t, next)->type != FE_SYNC;
}

/* The head failed, and all behind it up to Sync is discarded. */
static void skip_to_sync(struct track *t)
{
	unsigned sync = 0;

	while (sync < t->count && at(t, sync)->type != FE_SYNC)
		sync++;
	rollback(t, 0, sync);
	/* is there one that no COPY can have read? */
	for (sync = 0; sync < t->count; sync++)
		if (at(t, sync)->type == FE_SYNC && !is_maybe(at(t, sync)))
			break;
	t->aborted = sync == t->count;
}

/* Its ReadyForQuery is the next reply, and is taken by track_on_ready(). */
static void set_failed(struct track *t, bool failed)
{
	t->odd += failed;
	t->odd -= t->failed;
	t->failed = failed;
}

static void track_on_error(struct track *t)
{
	if (t->count == 0)
		return;
	if (t->copy_in)
		break_copy(t);
	if (!is_extended(at(t, 0)->type)) {
		track_undo(t, 0);	/* the ReadyForQuery is still to come */
		set_failed(t, true);
		return;
	}
	skip_to_sync(t);
}

/* May type come unasked? (Message Flow, Asynchronous Operations) */
static bool is_asynchronous(char type)
{
	return type == BE_NOTICE_RESPONSE || type == BE_PARAMETER_STATUS;
}

/* Requests that are answered by nothing leave when their turn comes. */
static void drop_silent(struct track *t)
{
	while (t->count > 0 && is_copy_end(at(t, 0)->type))
		track_drop(t, 0);
}

/* Only Syncs are counted in vain: is the next thing one? */
static void look_again(struct track *t)
{
	drop_silent(t);
	t->uncertain = t->lost || (t->count > 0 && at(t, 0)->type == FE_SYNC);
}

static bool is_sync_or_silent(char type)
{
	return type == FE_SYNC || is_copy_end(type);
}

void track_settle(struct track *t, char type)
{
	unsigned i = 0;

	if (t->lost || type == BE_READY_FOR_QUERY || is_asynchronous(type) ||
	    type == BE_NOTIFICATION_RESPONSE || at(t, 0)->type != FE_SYNC)
		return;
	while (i < t->count && is_sync_or_silent(at(t, i)->type))
		i++;
	if (i == t->count)
		return;	/* no request awaits this reply */
	set_failed(t, false);
	rollback(t, 0, i);
	t->uncertain = t->aborted = false;
}

bool track_wants_probe(struct track *t)
{
	unsigned i;

	if (!t->uncertain || t->asked || t->aborted || t->lost)
		return false;
	/* the head, if it is a query, has failed */
	for (i = at(t, 0)->type == FE_SYNC ? 0 : 1; i < t->count; i++)
		if (!is_sync_or_silent(at(t, i)->type))
			break;
	t->asked = true;
	return i == t->count;
}

/* --- is a silent server at work? --- */

enum track_silence track_silence(struct track *t)
{
	unsigned n = t->count;

	if (t->count == 0 || t->copy_in || t->uncertain)
		return TRACK_UNTOLD;
	/* a Sync behind what was answered takes no time */
	if (t->asks == t->count)
		return TRACK_LOST;
	/* asked already, and it has said nothing since then: it is at work */
	if (t->asks > 0 && !t->spoke)
		return TRACK_UNTOLD;
	while (n > 0 && at(t, n - 1)->how == TRACK_FAKE)
		n--;
	if (!awaits_ready(t, n) || t->asks == UINT8_MAX ||
	    track_add(t, FE_SYNC, TRACK_SKIP, NULL) < 0)
		return t->failed ? TRACK_LOST : TRACK_UNTOLD;
	/* what was said of the head before the first one was not noted */
	t->heard = t->heard || t->asks == 0;
	t->asks++;
	t->spoke = false;
	return TRACK_ASK;
}

/* A query ends, and nothing has answered it: that was of something else. */
static bool is_foreign_end(const struct track *t)
{
	const char type = t->count == 0 ? 0 : at(t, 0)->type;

	return t->asks > 0 && !t->heard &&
	    (type == FE_QUERY || type == FE_FUNCTION_CALL);
}

/* --- */

static enum track_verdict track_on_ready(struct track *t, char status)
{
	t->status = status;
	t->ready = true;
	t->copy_in = false;
	t->aborted = false;
	t->spoke = true;
	set_failed(t, false);
	if (t->count == 0 || is_foreign_end(t))
		return TRACK_CONFUSED;
	const struct track_req *r = at(t, 0);
	const enum track_verdict v = r->how == TRACK_SKIP ||
	    r->how == TRACK_SKIP_MAYBE ? TRACK_SWALLOW : TRACK_PASS;

	if (!ends_in_ready(r->type))
		return TRACK_CONFUSED;
	commit(t, 0);
	t->heard = false;
	if (t->uncertain)
		look_again(t);
	return v;
}

/* Does type answer one type of request and nothing else? */
static bool is_exact(char type)
{
	return type == BE_PARSE_COMPLETE || type == BE_BIND_COMPLETE ||
	    type == BE_CLOSE_COMPLETE || type == BE_NO_DATA ||
	    type == BE_PORTAL_SUSPENDED;
}

/* A reply to a request of our own: does the client get it? */
static enum track_verdict ours(char type, const struct track_req *r)
{
	/* a change that did not come from our query concerns the client */
	if (type == BE_PARAMETER_STATUS && r->type != FE_QUERY)
		return TRACK_PASS;
	return TRACK_SWALLOW;
}

/* Everything but ReadyForQuery and errors. */
static enum track_verdict track_on_other(struct track *t, char type)
{
	if (t->count == 0)
		return is_asynchronous(type) ? TRACK_PASS : TRACK_CONFUSED;
	const struct track_req head = *at(t, 0);
	const char ended = track_kinds[(uint8_t)type].ends;

	if (ended != head.type && is_exact(type))
		return TRACK_CONFUSED;
	if (t->asks > 0 && head.type == FE_SYNC && !is_asynchronous(type))
		return TRACK_CONFUSED;
	if (type == BE_COPY_IN_RESPONSE || type == BE_COPY_BOTH_RESPONSE) {
		t->copy_in = true;
		t->asks = 0;	/* data, and what ends them, come behind */
	}
	if (type == BE_COMMAND_COMPLETE && t->copy_in)
		finish_copy(t);
	if (ended != 0 && ended == head.type)
		commit(t, 0);
	return head.how == TRACK_SKIP ? ours(type, &head) : TRACK_PASS;
}

/* Ahead of a client's message an error of ours stands for its failure. */
static enum track_verdict error_verdict(const struct track *t)
{
	return t->count > 0 && at(t, 0)->how == TRACK_SKIP &&
	    at(t, 0)->type == FE_QUERY ? TRACK_FAILED : TRACK_PASS;
}

enum track_verdict track_reply(struct track *t, char type, char status)
{
	enum track_verdict v;

	if (type == BE_NOTIFICATION_RESPONSE)
		return TRACK_PASS;
	t->ready = false;
	if (type == BE_READY_FOR_QUERY) {
		v = track_on_ready(t, status);
	} else if (type == BE_ERROR_RESPONSE) {
		t->heard = true;
		v = error_verdict(t);
		track_on_error(t);
	} else {
		t->heard = t->heard || !is_asynchronous(type);
		v = track_on_other(t, type);
	}
	drop_silent(t);
	if (t->count < t->asks)
		t->asks = (uint8_t)t->count;
	return v;
}

void track_own(struct track *t)
{
	at(t, 0)->how = TRACK_SKIP;
	t->odd++;
}

void track_tell_later(struct track *t)
{
	if (t->count < 2 || (at(t, 0)->type != FE_QUERY &&
	    (t->asks == 0 || !ends_in_ready(at(t, 0)->type))) ||
	    at(t, 0)->how != TRACK_FORWARD || at(t, 1)->type != FE_SYNC ||
	    at(t, 1)->how != TRACK_SKIP)
		return;
	at(t, 0)->how = TRACK_SKIP;
	at(t, 1)->how = TRACK_FORWARD;
}

char track_fake(struct track *t)
{
	if (!track_has_fake(t))
		return 0;
	const char type = at(t, 0)->type;

	commit(t, 0);
	drop_silent(t);
	return type;
}

static char type_at(const struct track *t, unsigned i)
{
	return t->ring[(t->head + i) & (t->size - 1)].type;
}

int track_apart(const struct track *t, unsigned *n)
{
	unsigned i = t->count;

	if (i > TRACK_LOOK)
		return -1;
	while (i > 0 && type_at(t, i - 1) != FE_SYNC)
		i--;
	*n = i;
	return 0;
}

bool track_owes_ready(const struct track *t)
{
	if (t->count > TRACK_LOOK)
		return true;
	for (unsigned i = 0; i < t->count; i++) {
		const char type = type_at(t, i);

		if (type == FE_SYNC || type == FE_QUERY ||
		    type == FE_FUNCTION_CALL)
			return true;
	}
	return false;
}

bool track_may_be_failed(const struct track *t)
{
	if (t->status == 'E' || t->count > TRACK_LOOK)
		return true;
	for (unsigned i = 0; i < t->count; i++) {
		const struct track_req *const r = track_req(t, i);

		if (r->type == FE_SYNC || r->type == FE_FUNCTION_CALL ||
		    (r->type == FE_QUERY && r->how != TRACK_SKIP))
			return true;
	}
	return false;
}

bool track_may_be_skipped(const struct track *t)
{
	unsigned i = t->count;

	while (i > 0 && t->count - i < TRACK_LOOK) {
		const char type = type_at(t, i - 1);

		if (type == FE_SYNC)
			return false;
		if (type != FE_QUERY && type != FE_FUNCTION_CALL)
			return true;
		i--;
	}
	return i > 0 || t->aborted;
}

bool track_has_copy_end(const struct track *t)
{
	if (t->odd == 0)
		return false;
	for (unsigned i = 0; i < t->count; i++)
		if (type_at(t, i) == FE_COPY_DONE ||
		    type_at(t, i) == FE_COPY_FAIL)
			return true;
	return false;
}

bool track_wants_data(const struct track *t)
{
	return t->copy_in && !track_has_copy_end(t);
}
