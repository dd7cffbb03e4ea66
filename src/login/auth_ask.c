/* auth_ask.c - passwords that somebody else must check, on a thread.
 * SPDX-License-Identifier: ISC */
#include "login/auth_ask.h"

#include "base/mem.h"
#include "base/net.h"
#include "login/auth_parts.h"
#include "pool/credentials.h"

/* The methods that ask somebody else, one row each. */
static const struct asked {
	enum auth_type type;
	enum offload_lane lane;
	void (*ask)(struct auth_ask *q);
	const char *refused;		/* for the client */
	const char *full;		/* for the log */
} table[] = {
#ifdef HAVE_PAM
	{ AUTH_PAM, OFFLOAD_PAM, ask_pam, "PAM authentication failed",
	    "PAM queue is full" },
#endif
#ifdef HAVE_LDAP
	{ AUTH_LDAP, OFFLOAD_LDAP, ask_ldap, "LDAP authentication failed",
	    "LDAP queue is full" },
#endif
	{ .ask = NULL }
};

static const struct asked *auth_ask_find(enum auth_type type)
{
	for (const struct asked *t = table; t->ask != NULL; t++) {
		if (t->type == type)
			return t;
	}
	return NULL;
}

/* --- the question --- */

static void auth_ask_work(struct offload_job *j)
{
	struct auth_ask *q = (struct auth_ask *)j;

	q->ask(q);
}

static void auth_ask_done(struct offload_job *j)
{
	struct auth *a = ((struct auth_ask *)j)->auth;

	a->request.wake(a);
}

static void free_ask(struct offload_job *j)
{
	struct auth_ask *q = (struct auth_ask *)j;

	mem_free(q->user);
	secmem_free(q->password);
	secmem_free(q->options);
	mem_free(q->address);
	mem_free(q);
}

static struct auth_ask *ask_new(struct auth *a)
{
	static const struct offload_ops ops = {
		.work = auth_ask_work, .done = auth_ask_done, .free = free_ask,
	};
	const struct auth_request *rq = &a->request;
	struct auth_ask *q = mem_zalloc(sizeof *q);
	char address[NET_TEXT_MAX];

	if (q == NULL)
		return NULL;
	q->job.ops = &ops;
	q->auth = a;
	q->ask = auth_ask_find(rq->type)->ask;
	q->user = mem_strdup(rq->user);
	q->options = secmem_strdup(rq->options != NULL ? rq->options : "");
	q->address = mem_strdup(net_format_ip(rq->addr, address,
	    sizeof address));
	if (q->user != NULL && q->options != NULL && q->address != NULL)
		return q;
	free_ask(&q->job);
	return NULL;
}

/* --- the method --- */

static enum auth_result auth_ask_begin(struct auth *a, struct writer *out)
{
	/* spec/client-errors.md */
	if (a->request.type == AUTH_LDAP && a->request.options == NULL)
		return auth_refuse(a, "auth_ldap_options is null", "");
	a->state = ask_new(a);
	a->request.options = NULL;	/* a reload may take them away */
	return a->state == NULL ? auth_deny_memory(a) :
	    auth_ask_password(out);
}

static enum auth_result auth_ask_step(struct auth *a, const uint8_t *body,
    size_t len, struct writer *out)
{
	const struct asked *t = auth_ask_find(a->request.type);
	const char *password = auth_read_password(a, body, len);
	struct auth_ask *q = a->state;

	(void)out;
	if (password == NULL)
		return AUTH_DENY;
	q->password = secmem_strdup(password);
	if (q->password == NULL)
		return auth_deny_memory(a);
	switch (offload_submit(a->request.offload, t->lane, &q->job)) {
	case OFFLOAD_TAKEN:
		q->submitted = true;
		return AUTH_WAIT;
	case OFFLOAD_FULL:
		return auth_deny_busy(a, t->full);
	case OFFLOAD_NO_THREAD:
		break;
	}
	/* nothing that may block is done here */
	return auth_deny(a, t->refused, "no thread can be started");
}

/* The answer is there; the question is freed when this returns. */
static enum auth_result auth_ask_resume(struct auth *a, struct writer *out)
{
	struct auth_ask *q = a->state;

	(void)out;
	a->state = NULL;
	if (q->no_memory)
		return auth_deny_memory(a);
	if (!q->allowed)
		return auth_deny(a, auth_ask_find(a->request.type)->refused,
		    q->detail);
	/* the password is for servers, too: spec/authentication.md section 5 */
	a->typed = credentials_new(q->password);
	return a->typed == NULL ? auth_deny_memory(a) : AUTH_OK;
}

static void auth_ask_end(struct auth *a)
{
	struct auth_ask *q = a->state;

	a->state = NULL;
	if (q != NULL && q->submitted)
		offload_cancel(a->request.offload, &q->job);
	else if (q != NULL)
		free_ask(&q->job);
}

const struct auth_method *auth_ask(enum auth_type type)
{
	static const struct auth_method method = {
		.begin = auth_ask_begin,
		.step = auth_ask_step,
		.resume = auth_ask_resume,
		.end = auth_ask_end,
	};

	return auth_ask_find(type) != NULL ? &method : NULL;
}
