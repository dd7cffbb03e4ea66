/* login_tls.c - how a login comes to be encrypted, or does not.
 * SPDX-License-Identifier: ISC */
#include "io/gssapi.h"
#include "io/gssenc.h"
#include "io/tls.h"
#include "login/login_lobby.h"
#include "login/login_log.h"
#include "login/login_parts.h"
#include "session/client.h"
#include "session/sessions.h"
#include "upstream/tls_setup.h"

bool login_may_use_tls(const struct client *c)
{
	return c->ss->tls->client != NULL && c->addr.family != NET_UNIX &&
	    tls_state(&c->stream) == TLS_NONE;
}

size_t login_start_tls(struct client *c, const uint8_t *start, size_t len)
{
	if (tls_accept(&c->stream, c->ss->tls->client, start, len) == 0)
		return len;
	client_close(c, CLOSE_NO_MEMORY_FOR_TLS);
	return 0;
}

bool login_hand_shake(struct client *c)
{
	struct err e;

	const enum tls_step step = tls_handshake(&c->stream, &e);

	if (step != TLS_MORE)
		c->ss->tally.tls_handshakes[TALLY_CLIENT][step == TLS_DONE ?
		    TALLY_OK : TALLY_FAILED]++;
	switch (step) {
	case TLS_DONE:
		/* as PostgreSQL: it may be meant for another service */
		if (c->login->asked == 0 && !tls_has_alpn(&c->stream)) {
			client_close(c, CLOSE_DIRECT_TLS_WITHOUT_ALPN);
			return false;
		}
		stream_reread(&c->stream);
		login_weigh(c);
		return client_is_open(c);
	case TLS_MORE:
		return false;
	case TLS_GONE:
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
		return false;
	case TLS_FAILED:
		login_log(c, LEVEL_WARNING, "TLS handshake error: %s",
		    e.text);
		client_close(c, CLOSE_FAILED_TO_ACCEPT_SSL);
		break;
	}
	return false;
}

/* (spec/pooling.md section 19) */
static bool may_use_gssenc(const struct client *c)
{
	const struct settings *const set = sessions_settings(c->ss);
	const char *const keytab = set->krb_server_keyfile;

	if (!GSSAPI_BUILT || c->addr.family == NET_UNIX ||
	    tls_state(&c->stream) != TLS_NONE ||
	    c->ss->tls->client_mode >= SSLMODE_REQUIRE)
		return false;
	return set->client_gssencmode == GSSENCMODE_REQUIRE ||
	    (set->client_gssencmode == GSSENCMODE_ALLOW && keytab != NULL &&
	    keytab[0] != '\0');
}

bool login_shake_gssenc(struct client *c)
{
	struct err e;

	switch (gssenc_handshake(&c->stream, &e)) {
	case GSSENC_DONE:
		stream_reread(&c->stream);
		login_weigh(c);
		return client_is_open(c);
	case GSSENC_MORE:
		login_weigh(c);
		return false;
	case GSSENC_GONE:
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
		return false;
	case GSSENC_FAILED:
		login_log(c, LEVEL_WARNING, "GSSAPI handshake error: %s",
		    e.text);
		client_close(c, CLOSE_FAILED_TO_ACCEPT_GSS);
		break;
	}
	return false;
}

/* Begin what was answered with this byte. 0, or -1: no memory. */
static int begin_encryption(struct client *c, char answer)
{
	if (answer == 'S')
		return tls_accept(&c->stream, c->ss->tls->client, NULL, 0);
	return answer != 'G' ? 0 : gssenc_accept(&c->stream,
	    sessions_settings(c->ss)->krb_server_keyfile);
}

size_t login_answer_encryption(struct client *c, const struct startup *m,
    size_t have)
{
	const bool tls = m->kind == STARTUP_SSL && login_may_use_tls(c);
	const bool gss = m->kind == STARTUP_GSS && may_use_gssenc(c);
	const char answer = tls ? 'S' : gss ? 'G' : 'N';

	c->login->asked |= (uint8_t)(1 << m->kind);
	if (m->kind == STARTUP_SSL && tls_state(&c->stream) == TLS_UP) {
		client_close(c, CLOSE_SSL_REQ_INSIDE_SSL);
		return 0;
	}
	if (have > m->size) {
		client_fail(c, m->kind == STARTUP_SSL ?
		    CLOSE_DATA_AFTER_SSL_REQUEST :
		    CLOSE_DATA_AFTER_GSS_REQUEST);
		return 0;
	}
	if (stream_write_bytes(&c->stream, &answer, 1) != STREAM_SENT) {
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
		return 0;
	}
	c->answered = true;
	if (begin_encryption(c, answer) < 0) {
		client_close(c, CLOSE_NO_MEMORY_FOR_TLS);
		return 0;
	}
	return m->size;
}
