/* server_attempt.c - what a server has until it is pooled, and no longer.
 * SPDX-License-Identifier: ISC */
#include "upstream/server_attempt.h"

#include "base/crypto.h"
#include "base/mem.h"
#include "io/dial.h"
#include "io/tls_context.h"
#include "session/server.h"
#include "upstream/server_password.h"

#define WELCOME_MAX (1 << 20)

struct server_attempt *server_attempt_new(struct server *s)
{
	struct server_attempt *a = mem_zalloc(sizeof *a);

	if (a == NULL)
		return NULL;
	a->server = s;
	writer_init(&a->welcome, WELCOME_MAX);
	return a;
}

void server_attempt_end_dialling(struct server_attempt *a)
{
	struct dialling *const d = a->dialling;

	a->dialling = NULL;
	if (d == NULL)
		return;
	dial_cancel(&d->dial, false);
	mem_free(d->hosts);
	mem_free(d);
}

void server_attempt_free(struct server_attempt **a)
{
	struct server_attempt *const old = *a;

	*a = NULL;
	if (old == NULL)
		return;
	server_attempt_end_dialling(old);
	tls_context_unref(&old->context);
	server_auth_end(&old->auth);
	server_password_end(old);
	mem_free(old->refusal);
	writer_fini(&old->welcome);
	secret_wipe(old, sizeof *old);
	mem_free(old);
}

void server_attempt_blame(const struct dialling *d, unsigned winner)
{
	for (unsigned i = 0; i < d->count && d->listed; i++) {
		if (i != winner && d->outcomes[i] >= OUTCOME_SLOW)
			hosts_failed(d->server->ps.pool, d->hosts[i].item,
			    d->outcomes[i] == OUTCOME_SLOW, time_now());
	}
}

void server_attempt_failed(struct server *s)
{
	struct dialling *const d = s->attempt->dialling;

	if (d != NULL) {
		dial_cancel(&d->dial, true);
		server_attempt_blame(d, d->count);
	} else if (s->host.kind != HOST_NONE) {
		hosts_failed(s->ps.pool, s->host.item, false, time_now());
	}
}
