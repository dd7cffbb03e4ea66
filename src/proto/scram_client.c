/* scram_client.c - SCRAM-SHA-256 as the side that proves itself first.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "proto/scram.h"
#include "proto/scram_text.h"

/* The longest part of a server's error value that is worth a log line. */
#define SERVER_ERROR_MAX 100

_Static_assert(sizeof((struct scram_client *)0)->nonce >= SCRAM_NONCE_TEXT,
    "no room for our nonce");

/* RFC 5802 §6 */
static char flag(const struct scram_client *c)
{
	if (c->binding.len > 0)
		return 'p';
	return c->unbound ? 'y' : 'n';
}

/* No authorization identity; PostgreSQL wants no user. */
char *scram_client_first(struct scram_client *c)
{
	uint8_t raw[SCRAM_NONCE_RAW];
	char *out;

	if (c->step != SCRAM_START) {
		c->step = SCRAM_FAILED;
		return NULL;
	}
	crypto_random(raw, sizeof raw);
	crypto_base64_encode(raw, sizeof raw, c->nonce);
	c->client_first_bare = scram_text_join("n=,r=", c->nonce, NULL);
	if (c->client_first_bare == NULL)
		out = NULL;
	else
		out = scram_text_join(scram_text_gs2(flag(c)),
		    c->client_first_bare, NULL);
	c->step = out == NULL ? SCRAM_FAILED : SCRAM_FIRST_SENT;
	return out;
}

/* RFC 5802 §5.1: the server's nonce is ours and then some. */
static bool nonce_continues_ours(const struct scram_client *c,
    struct scram_span nonce)
{
	const size_t ours = strlen(c->nonce);

	return nonce.len > ours && crypto_equal(nonce.at, c->nonce, ours) &&
	    scram_text_is_printable(nonce);
}

/* RFC 5802 §7: server-first-message; we know no extension. */
static int read_server_first(struct scram_client *c, struct scram_span rest,
    struct err *e)
{
	struct scram_span nonce, salt, iterations;

	if (rest.at[0] == 'm')
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "server requires an unsupported SCRAM extension");
	if (!scram_text_take(&rest, 'r', &nonce))
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "no nonce in SCRAM challenge");
	if (!nonce_continues_ours(c, nonce))
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "nonce in SCRAM challenge does not continue ours");
	if (!scram_text_take(&rest, 's', &salt) ||
	    !scram_text_salt(salt, c->salt, &c->salt_len))
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "bad salt in SCRAM challenge");
	if (!scram_text_take(&rest, 'i', &iterations) ||
	    !scram_text_iterations(iterations, &c->iterations))
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "bad iteration count in SCRAM challenge");
	if (rest.len > 0)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "garbage at the end of SCRAM challenge");
	c->nonce_full = nonce.at;
	c->nonce_full_len = nonce.len;
	return 0;
}

int scram_client_challenge(struct scram_client *c, const char *in, size_t len,
    struct err *e)
{
	const enum scram_step step = c->step;

	c->step = SCRAM_FAILED;
	if (step != SCRAM_FIRST_SENT)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "SCRAM challenge out of order");
	if (scram_text_check(in, len, e) != 0)
		return -1;
	c->server_first = mem_strndup(in, len);
	if (c->server_first == NULL)
		return scram_err_memory(e);

	const struct scram_span message = { .at = c->server_first, .len = len };
	if (read_server_first(c, message, e) != 0)
		return -1;
	c->step = SCRAM_CHALLENGED;
	return 0;
}

/* HMAC(key, AuthMessage), RFC 5802 §3. */
static int sign(const struct scram_client *c, const uint8_t key[SHA256_BYTES],
    uint8_t out[SHA256_BYTES])
{
	char *message = scram_text_join(c->client_first_bare, ",",
	    c->server_first, ",", c->client_final_bare, NULL);
	if (message == NULL)
		return -1;
	const int rc = scram_text_sign(key, message, out);
	mem_free(message);
	return rc;
}

static char *make_client_final(const struct scram_client *c)
{
	uint8_t stored_key[SHA256_BYTES], proof[SHA256_BYTES];
	char text[CRYPTO_BASE64_SIZE(SHA256_BYTES)];
	char *out = NULL;

	if (crypto_sha256(c->keys.client_key, SHA256_BYTES, stored_key) == 0 &&
	    sign(c, stored_key, proof) == 0) {
		for (size_t i = 0; i < SHA256_BYTES; i++)
			proof[i] ^= c->keys.client_key[i];
		crypto_base64_encode(proof, sizeof proof, text);
		out = scram_text_join(c->client_final_bare, ",p=", text, NULL);
	}
	secret_wipe(stored_key, sizeof stored_key);
	return out;
}

char *scram_client_final(struct scram_client *c, const struct scram_keys *k)
{
	const enum scram_step step = c->step;
	char binding[SCRAM_BINDING_TEXT];

	c->step = SCRAM_FAILED;
	if (step != SCRAM_CHALLENGED)
		return NULL;
	c->keys = *k;
	char *nonce = mem_strndup(c->nonce_full, c->nonce_full_len);
	if (nonce == NULL)
		return NULL;
	scram_text_binding(flag(c), &c->binding, binding);
	c->client_final_bare =
	    scram_text_join("c=", binding, ",r=", nonce, NULL);
	mem_free(nonce);
	if (c->client_final_bare == NULL)
		return NULL;
	char *out = make_client_final(c);
	if (out != NULL)
		c->step = SCRAM_FINAL_SENT;
	return out;
}

/* RFC 5802 §7: server-error, whose values are plain words. */
static int report_server_error(struct scram_span value, struct err *e)
{
	if (!scram_text_is_printable(value) || value.len > SERVER_ERROR_MAX)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "server reports an error in SCRAM authentication");
	return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
	    "server reports an error in SCRAM authentication: %.*s",
	    (int)value.len, value.at);
}

/* RFC 5802 §7: server-final-message; we know no extension. */
static int check_server_final(const struct scram_client *c,
    struct scram_span rest, struct err *e)
{
	struct scram_span value;
	uint8_t theirs[SHA256_BYTES], expected[SHA256_BYTES];

	if (scram_text_take(&rest, 'e', &value))
		return report_server_error(value, e);
	if (!scram_text_take(&rest, 'v', &value) ||
	    !scram_text_key(value, theirs))
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "malformed server signature");
	if (rest.len > 0)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "garbage at the end of server-final-message");
	if (sign(c, c->keys.server_key, expected) != 0)
		return err_set(e, ERRCODE_OUT_OF_MEMORY,
		    "failed to verify server signature");

	const bool same = crypto_equal(theirs, expected, sizeof expected);
	secret_wipe(expected, sizeof expected);
	if (!same)
		return err_set(e, ERRCODE_INVALID_PASSWORD,
		    "invalid server signature");
	return 0;
}

int scram_client_verify(struct scram_client *c, const char *in, size_t len,
    struct err *e)
{
	const struct scram_span message = { .at = in, .len = len };
	const enum scram_step step = c->step;

	c->step = SCRAM_FAILED;
	if (step != SCRAM_FINAL_SENT)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "SCRAM signature out of order");
	if (scram_text_check(in, len, e) != 0 ||
	    check_server_final(c, message, e) != 0)
		return -1;
	c->step = SCRAM_DONE;
	return 0;
}

void scram_client_fini(struct scram_client *c)
{
	mem_free(c->client_first_bare);
	mem_free(c->server_first);
	mem_free(c->client_final_bare);
	secret_wipe(c, sizeof *c);
}
