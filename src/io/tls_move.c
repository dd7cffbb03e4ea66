/* tls_move.c - a connection with TLS goes to the loop of another thread.
 * SPDX-License-Identifier: ISC */
#include "io/stream.h"
#include "io/tls_parts.h"

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
