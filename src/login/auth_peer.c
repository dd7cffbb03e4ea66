/* auth_peer.c - clients whose name the kernel or a certificate says.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "conf/config.h"
#include "conf/ident.h"
#include "io/offload.h"
#include "io/socket.h"
#include "login/auth_parts.h"

/*
 * What a uid is called may be known to a directory only (nsswitch.conf(5)),
 * and to ask that takes its time: so a thread does.
 */
struct lookup {
	struct offload_job job;		/* first */
	struct auth *auth;		/* the loop's: what waits */
	uid_t uid;
	bool submitted;			/* the loop's: a thread will do it */
	bool found;
	char name[CONFIG_USER_MAX];
};

static void auth_peer_work(struct offload_job *j)
{
	struct lookup *q = (struct lookup *)j;

	q->found = socket_user_name(q->uid, q->name, sizeof q->name) == 0;
}

static void auth_peer_done(struct offload_job *j)
{
	struct auth *a = ((struct lookup *)j)->auth;

	a->request.wake(a);
}

static void free_lookup(struct offload_job *j)
{
	mem_free(j);
}

/* --- the method (spec/authentication.md section 3.5) --- */

static enum auth_result auth_peer_deny(struct auth *a, const char *detail)
{
	return auth_refuse(a, "unix socket login rejected", detail);
}

static enum auth_result decide(struct auth *a, const char *name)
{
	const struct auth_request *rq = &a->request;
	char detail[sizeof a->refusal->detail];

	if (auth_is_allowed(rq, name))
		return rq->credentials != NULL ? AUTH_OK :
		    auth_peer_deny(a, "");
	if (auth_map(rq) == NULL)
		return auth_peer_deny(a, "");
	snprintf(detail, sizeof detail, "ident map %s cannot be matched",
	    ident_map_name(auth_map(rq)));
	return auth_peer_deny(a, detail);
}

static enum auth_result submit(struct auth *a, struct lookup *q)
{
	struct offload *o = a->request.offload;

	switch (o == NULL ? OFFLOAD_NO_THREAD :
	    offload_submit(o, OFFLOAD_NAMES, &q->job)) {
	case OFFLOAD_TAKEN:
		q->submitted = true;
		return AUTH_WAIT;
	case OFFLOAD_FULL:
		return auth_deny_busy(a, "names queue is full");
	case OFFLOAD_NO_THREAD:
		break;
	}
	auth_peer_work(&q->job);
	return q->found ? decide(a, q->name) : auth_peer_deny(a, "");
}

static enum auth_result auth_peer_begin(struct auth *a, struct writer *out)
{
	static const struct offload_ops ops = {
		.work = auth_peer_work,
		.done = auth_peer_done,
		.free = free_lookup,
	};
	struct lookup *q;

	(void)out;
	if (a->request.os_uid == NULL)
		return auth_peer_deny(a, "");
	q = mem_zalloc(sizeof *q);
	if (q == NULL)
		return auth_deny_memory(a);
	q->job.ops = &ops;
	q->auth = a;
	q->uid = *a->request.os_uid;
	a->request.os_uid = NULL;	/* the pointer is the caller's */
	a->state = q;
	return submit(a, q);
}

/* The answer is there; the lookup is freed when this returns. */
static enum auth_result auth_peer_resume(struct auth *a, struct writer *out)
{
	const struct lookup *q = a->state;

	(void)out;
	a->state = NULL;
	return q->found ? decide(a, q->name) : auth_peer_deny(a, "");
}

static void auth_peer_end(struct auth *a)
{
	struct lookup *q = a->state;

	a->state = NULL;
	if (q != NULL && q->submitted)
		offload_cancel(a->request.offload, &q->job);
	else
		mem_free(q);
}

const struct auth_method *auth_peer(void)
{
	static const struct auth_method method = {
		.begin = auth_peer_begin,
		.resume = auth_peer_resume,
		.end = auth_peer_end,
	};

	return &method;
}

static enum auth_result auth_cert_deny(struct auth *a, const char *detail)
{
	return auth_refuse(a, "certificate authentication failed", detail);
}

/* (spec/authentication.md section 3.4) */
static enum auth_result auth_cert_begin(struct auth *a, struct writer *out)
{
	const struct auth_request *rq = &a->request;
	char detail[sizeof a->refusal->detail];

	(void)out;
	if (!rq->tls)
		return auth_cert_deny(a, "TLS connection required");
	if (rq->peer_name == NULL)
		return auth_cert_deny(a, "TLS client certificate required");
	if (auth_is_allowed(rq, rq->peer_name))
		return rq->credentials != NULL ? AUTH_OK : auth_cert_deny(a, "");
	if (auth_map(rq) == NULL)
		return auth_cert_deny(a, "TLS certificate name mismatch");
	snprintf(detail, sizeof detail, "ident map: %s does not have a match",
	    ident_map_name(auth_map(rq)));
	return auth_cert_deny(a, detail);
}

const struct auth_method *auth_cert(void)
{
	static const struct auth_method method = { .begin = auth_cert_begin };

	return &method;
}
