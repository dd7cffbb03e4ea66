/* derive.c - derives keys from passwords off the loop, once for all that need
 * the same.
 * SPDX-License-Identifier: ISC */
#include "upstream/derive.h"

#include <assert.h>
#include <string.h>
#include <utlist.h>

#include "base/container.h"
#include "base/crypto.h"
#include "base/mem.h"
#include "io/offload.h"
#include "pool/credentials.h"

enum purpose {
	FOR_CLIENTS,	/* a verifier */
	FOR_SERVER,	/* keys for the salt of a server */
	FOR_ONE,	/* nobody else can use the result */
};

struct derivation {
	struct offload_job job;
	struct offload *offload;	/* borrowed; NULL: derived at once */
	struct derivation *next;	/* of the same credentials */
	struct credentials *credentials;	/* counted; NULL: FOR_ONE */
	struct derive_wait *waits;	/* DL list */
	enum purpose purpose;
	char *typed;			/* owned, wiped; NULL: the password of
					 * the credentials */
	int iterations;
	size_t salt_len;
	uint8_t salt[SCRAM_SALT_MAX];
	struct scram_keys keys;		/* the result */
	int rc;
};

static struct derivation *derivation_of(struct offload_job *j)
{
	return container_of(j, struct derivation, job);
}

static void derive_work(struct offload_job *j)
{
	struct derivation *d = derivation_of(j);
	const char *password = d->typed != NULL ? d->typed :
	    d->credentials->secret;

	d->rc = scram_keys_derive(&d->keys, password, d->salt, d->salt_len,
	    d->iterations);
}

static struct scram_salt salt_of(const struct derivation *d)
{
	return (struct scram_salt){ .at = d->salt, .len = d->salt_len,
	    .iterations = d->iterations };
}

/* Stores the result, so that later logins find it. */
static void to_credentials(struct derivation *d)
{
	const struct scram_salt salt = salt_of(d);

	if (d->purpose == FOR_CLIENTS)
		d->rc = credentials_put_verifier(d->credentials, &d->keys,
		    &salt);
	else if (d->purpose == FOR_SERVER)
		credentials_put_keys(d->credentials, &d->keys, &salt);
}

static void derive_done(struct offload_job *j)
{
	struct derivation *d = derivation_of(j);
	struct derive_wait *w;

	if (d->rc == 0)
		to_credentials(d);
	while ((w = d->waits) != NULL) {
		DL_DELETE(d->waits, w);
		w->of = NULL;
		w->ok = d->rc == 0;
		w->keys = d->keys;
		w->ready(w);
	}
}

static void derive_free_job(struct offload_job *j)
{
	struct derivation *d = derivation_of(j);

	if (d->credentials != NULL)
		LL_DELETE(d->credentials->deriving, d);
	credentials_unref(&d->credentials);
	secmem_free(d->typed);
	secmem_free(d);
}

static const struct offload_ops ops = {
	.work = derive_work, .done = derive_done, .free = derive_free_job,
};

struct wish {
	struct offload *offload;
	struct credentials *credentials;	/* NULL: FOR_ONE */
	enum purpose purpose;
	struct scram_salt salt;
};

static struct derivation *derivation_new(const struct wish *q)
{
	struct derivation *d = secmem_zalloc(sizeof *d);

	assert(q->salt.len <= sizeof d->salt);
	if (d == NULL)
		return NULL;
	d->job.ops = &ops;
	d->offload = q->offload;
	d->purpose = q->purpose;
	d->iterations = q->salt.iterations;
	d->salt_len = q->salt.len;
	memcpy(d->salt, q->salt.at, q->salt.len);
	if (q->credentials != NULL) {
		d->credentials = credentials_ref(q->credentials);
		LL_PREPEND(d->credentials->deriving, d);
	}
	return d;
}

static enum derive_result derive_fail(struct derive_wait *w)
{
	w->ok = false;
	return DERIVE_READY;
}

static enum derive_result do_at_once(struct derivation *d,
    struct derive_wait *w)
{
	derive_work(&d->job);
	if (d->rc == 0)
		to_credentials(d);
	w->ok = d->rc == 0;
	w->keys = d->keys;
	derive_free_job(&d->job);
	return DERIVE_READY;
}

static enum derive_result wait_for(struct derivation *d,
    struct derive_wait *w)
{
	DL_APPEND(d->waits, w);
	w->of = d;
	return DERIVE_WAIT;
}

/*
 * Wrong guesses must not delay the keys of other logins, however many they are.
 */
static enum offload_lane lane_of(const struct derivation *d)
{
	return d->typed != NULL ? OFFLOAD_TYPED : OFFLOAD_DERIVE;
}

static enum derive_result derive_start(struct derivation *d,
    struct derive_wait *w)
{
	enum offload_answer answer = OFFLOAD_NO_THREAD;

	if (d->offload != NULL)
		answer = offload_submit(d->offload, lane_of(d), &d->job);
	if (answer == OFFLOAD_TAKEN)
		return wait_for(d, w);
	if (answer == OFFLOAD_NO_THREAD)
		return do_at_once(d, w);
	derive_free_job(&d->job);
	return DERIVE_FULL;
}

/* Returns a derivation under way with a suitable result, or NULL. */
static struct derivation *derive_find(const struct wish *q)
{
	struct derivation *d;

	LL_FOREACH(q->credentials->deriving, d) {
		if (d->purpose == q->purpose &&
		    d->iterations == q->salt.iterations &&
		    d->salt_len == q->salt.len &&
		    memcmp(d->salt, q->salt.at, d->salt_len) == 0)
			return d;
	}
	return NULL;
}

static enum derive_result share(const struct wish *q, struct derive_wait *w)
{
	struct derivation *d = derive_find(q);

	if (d != NULL)
		return wait_for(d, w);
	d = derivation_new(q);
	return d == NULL ? derive_fail(w) : derive_start(d, w);
}

/* A reload may have brought another salt. */
static bool has_salt(const struct scram_verifier *v,
    const struct scram_salt *salt)
{
	return v->salt_len == salt->len &&
	    memcmp(v->salt, salt->at, salt->len) == 0;
}

enum derive_result derive_verifier(struct offload *o, struct credentials *c,
    const struct scram_salt *salt, struct derive_wait *w)
{
	const struct wish q = { o, c, FOR_CLIENTS, *salt };
	const struct scram_verifier *const v =
	    credentials_verifier(c, salt->iterations);

	w->ok = v != NULL && (c->kind != SECRET_PLAIN || has_salt(v, salt));
	if (w->ok || c->kind != SECRET_PLAIN)
		return DERIVE_READY;
	return share(&q, w);
}

enum derive_result derive_keys(struct offload *o, struct credentials *c,
    const struct scram_salt *salt, struct derive_wait *w)
{
	const struct wish q = { o, c, FOR_SERVER, *salt };
	const struct scram_keys *k;

	if (c == NULL || c->kind == SECRET_NONE)
		return derive_typed(o, "", salt, w);
	k = credentials_keys(c, salt);
	w->ok = k != NULL;
	if (w->ok)
		w->keys = *k;
	if (w->ok || c->kind != SECRET_PLAIN)
		return DERIVE_READY;
	return share(&q, w);
}

enum derive_result derive_typed(struct offload *o, const char *password,
    const struct scram_salt *salt, struct derive_wait *w)
{
	const struct wish q = { o, NULL, FOR_ONE, *salt };
	struct derivation *d = derivation_new(&q);

	if (d == NULL)
		return derive_fail(w);
	d->typed = secmem_strdup(password);
	if (d->typed != NULL)
		return derive_start(d, w);
	derive_free_job(&d->job);
	return derive_fail(w);
}

void derive_leave(struct derive_wait *w)
{
	struct derivation *d = w->of;

	secret_wipe(&w->keys, sizeof w->keys);
	w->ok = false;
	w->of = NULL;
	if (d == NULL)
		return;
	DL_DELETE(d->waits, w);
	/* the next login can use the result, so the derivation continues */
	if (d->purpose == FOR_ONE)
		offload_cancel(d->offload, &d->job);
}
