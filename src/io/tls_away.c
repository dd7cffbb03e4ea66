/* tls_away.c - handshakes whose key is dear, and connections that go to
 * another thread.
 *
 * A signature with a key of 4096 bits takes as long as hundreds of queries. So
 * the loop gives OpenSSL what came, in memory; a thread takes the step, and the
 * loop sends what it has written. Between two steps nothing is at work, and
 * when the handshake is done OpenSSL has the wire again.
 * SPDX-License-Identifier: ISC */
#include <openssl/err.h>

#include "base/container.h"
#include "base/err.h"
#include "base/mem.h"
#include "io/offload.h"
#include "io/stream.h"
#include "io/tls_parts.h"

enum place { HERE, AWAY, BACK };

struct tls_away {
	struct offload_job job;
	struct stream *stream;	/* borrowed; NULL: closed, and tls is ours */
	struct tls *tls;	/* the thread's while it is AWAY */
	BIO *in, *out;		/* of its SSL */
	enum place place;
	bool begun;
	enum tls_step step;	/* the result, with err */
	struct err err;
};

static struct tls_away *away_of(struct offload_job *j)
{
	return container_of(j, struct tls_away, job);
}

/* --- the job --- */

static void work(struct offload_job *j)
{
	struct tls_away *const a = away_of(j);

	a->step = tls_shake(a->tls, &a->err);
}

static void done(struct offload_job *j)
{
	struct tls_away *const a = away_of(j);

	a->place = BACK;
	stream_reread(a->stream);
	stream_yield(a->stream);
}

/* There is one job after another; only a stream that is closed ends them. */
static void free_job(struct offload_job *j)
{
	struct tls_away *const a = away_of(j);

	if (a->stream != NULL)
		return;
	tls_free(a->tls);
	mem_free(a);
}

static const struct offload_ops ops = {
	.work = work, .done = done, .free = free_job,
};

/* --- on the loop --- */

bool tls_away_is_due(const struct stream *s)
{
	return s->tls->ctx->core->dear && loop_offload(s->loop) != NULL;
}

/* OpenSSL reads and writes memory from now on. NULL: there is none. */
static struct tls_away *away_new(struct stream *s)
{
	struct tls_away *const a = mem_zalloc(sizeof *a);

	if (a == NULL)
		return NULL;
	a->job.ops = &ops;
	a->stream = s;
	a->tls = s->tls;
	a->in = BIO_new(BIO_s_mem());
	a->out = BIO_new(BIO_s_mem());
	if (a->in == NULL || a->out == NULL) {
		BIO_free(a->in);
		BIO_free(a->out);
		mem_free(a);
		return NULL;
	}
	SSL_set_bio(s->tls->ssl, a->in, a->out);
	return a;
}

/* What the thread has left unread is read from the stash. 0, or -1. */
static int give_wire_back(struct tls *t)
{
	struct tls_away *const a = t->away;
	char *p;
	const long n = BIO_get_mem_data(a->in, &p);

	if (n > 0) {
		t->stash = mem_dup(p, (size_t)n);
		if (t->stash == NULL)
			return -1;
		t->in = t->stash;
		t->in_len = (size_t)n;
	}
	if (BIO_up_ref(t->ctx->bio) != 1)
		return -1;
	SSL_set_bio(t->ssl, t->ctx->bio, t->ctx->bio);
	t->away = NULL;
	mem_free(a);
	return 0;
}

static enum tls_step come_back(struct stream *s, struct err *e)
{
	struct tls *const t = s->tls;
	struct tls_away *const a = t->away;
	enum tls_step step = a->step;
	char *p;
	const long n = BIO_get_mem_data(a->out, &p);

	a->place = HERE;
	*e = a->err;
	if (tls_wire_send(s, p, n > 0 ? (size_t)n : 0) < 0)
		t->failed = true;
	(void)BIO_reset(a->out);
	if (step == TLS_DONE && give_wire_back(t) < 0) {
		err_nomem(e);
		step = TLS_FAILED;
	}
	return tls_step_taken(s, step, e);
}

static void leave(struct stream *s)
{
	struct tls_away *const a = s->tls->away;

	a->begun = true;
	a->place = AWAY;
	if (offload_submit(loop_offload(s->loop), OFFLOAD_TLS, &a->job) ==
	    OFFLOAD_TAKEN)
		return;
	work(&a->job);
	done(&a->job);
}

enum tls_step tls_away_step(struct stream *s, struct err *e)
{
	struct tls *const t = s->tls;

	if (t->away == NULL && (t->away = away_new(s)) == NULL) {
		err_nomem(e);
		t->failed = true;
		return TLS_FAILED;
	}
	if (t->away->place == BACK)
		return come_back(s, e);
	if (t->away->place == AWAY)
		return s->hup ? TLS_GONE : TLS_MORE;
	/* who connects has the first word */
	if (tls_wire_feed(s, t->away->in) ||
	    (!t->away->begun && !t->ctx->core->accepts))
		leave(s);
	return TLS_MORE;
}

bool tls_away_leave(struct stream *s)
{
	struct tls_away *const a = s->tls->away;

	if (a == NULL)
		return false;
	if (a->place != AWAY) {
		s->tls->away = NULL;
		mem_free(a);
		return false;
	}
	a->stream = NULL;
	offload_cancel(loop_offload(s->loop), &a->job);
	return true;
}

void tls_leave(struct stream *s)
{
	struct tls *const t = s->tls;

	if (t == NULL)
		return;
	t->core = tls_core_ref(t->ctx->core);
	/* the BIO is counted by the thread's own, and no more than that */
	SSL_set_bio(t->ssl, NULL, NULL);
	tls_context_unref(&t->ctx);
}

int tls_join(struct stream *s, struct tls_context *ctx)
{
	struct tls *const t = s->tls;

	if (t == NULL)
		return 0;
	/* it may come with a context that was replaced while it was on its way */
	if (ctx != NULL && ctx->core == t->core)
		t->ctx = tls_context_ref(ctx);
	else
		t->ctx = tls_context_of_core(tls_core_ref(t->core));
	if (t->ctx == NULL || BIO_up_ref(t->ctx->bio) != 1)
		return -1;
	tls_core_unref(&t->core);
	SSL_set_bio(t->ssl, t->ctx->bio, t->ctx->bio);
	return 0;
}
