/* scram_server.c - SCRAM-SHA-256 as the side that asks for proof.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "proto/scram.h"
#include "proto/scram_text.h"

/* The client has taken SCRAM-SHA-256-PLUS: the client must bind as we do. */
static int read_gs2_binding(struct scram_server *s, struct scram_span in,
    struct scram_span *bare, struct err *e)
{
	const char *header = scram_text_gs2('p');
	const size_t len = strlen(header);

	if (s->binding.len == 0 || in.len < len ||
	    memcmp(in.at, header, len) != 0)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "unsupported SCRAM channel binding type");
	s->gs2 = 'p';
	bare->at = in.at + len;
	bare->len = in.len - len;
	return 0;
}

/* RFC 5802 §7: gs2-header; *bare becomes what follows it. */
static int read_gs2_header(struct scram_server *s, struct scram_span in,
    struct scram_span *bare, struct err *e)
{
	if (s->plus)
		return read_gs2_binding(s, in, bare, e);
	if (in.at[0] == 'p')
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "client asks for SCRAM channel binding");
	/* RFC 5802 §6: a man in the middle has removed our offer */
	if (in.at[0] == 'y' && s->binding.len > 0)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION, "client thinks "
		    "that we don't support SCRAM channel binding, but we do");
	if (in.at[0] != 'n' && in.at[0] != 'y')
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "bad SCRAM channel binding flag");
	if (in.len < 3 || in.at[1] != ',')
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "malformed SCRAM GS2 header");
	if (in.at[2] == 'a')
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "client sent a SCRAM authorization identity");
	if (in.at[2] != ',')
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "malformed SCRAM GS2 header");
	s->gs2 = in.at[0];
	bare->at = in.at + 3;
	bare->len = in.len - 3;
	return 0;
}

static bool skip_extensions(struct scram_span rest)
{
	struct scram_span value;
	char name;

	while (rest.len > 0) {
		if (!scram_text_take_any(&rest, &name, &value))
			return false;
	}
	return true;
}

/* RFC 5802 §7: client-first-message-bare; the startup packet names the user. */
static int read_first_bare(struct scram_span bare, struct scram_span *nonce,
    struct err *e)
{
	struct scram_span user;

	if (bare.len > 0 && bare.at[0] == 'm')
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "client requires an unsupported SCRAM extension");
	if (!scram_text_take(&bare, 'n', &user))
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "no user name in SCRAM message");
	if (!scram_text_take(&bare, 'r', nonce))
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "no nonce in SCRAM message");
	if (!scram_text_is_printable(*nonce))
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "unprintable or empty SCRAM nonce");
	if (!skip_extensions(bare))
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "garbage at the end of client-first-message");
	return 0;
}

/* The client's nonce followed by ours. */
static char *make_nonce(const struct scram_server *s,
    struct scram_span theirs)
{
	uint8_t raw[SCRAM_NONCE_RAW];
	const size_t size = theirs.len + SCRAM_NONCE_TEXT;

	char *nonce = mem_alloc(size);
	if (nonce == NULL)
		return NULL;
	if (s->random != NULL)
		random_pool_take(s->random, raw, sizeof raw);
	else
		crypto_random(raw, sizeof raw);
	memcpy(nonce, theirs.at, theirs.len);
	crypto_base64_encode(raw, sizeof raw, nonce + theirs.len);
	return nonce;
}

static char *make_server_first(const struct scram_server *s)
{
	char salt[CRYPTO_BASE64_SIZE(SCRAM_SALT_MAX)];
	char iterations[16];

	crypto_base64_encode(s->v.salt, s->v.salt_len, salt);
	snprintf(iterations, sizeof iterations, "%d", s->v.iterations);
	return scram_text_join("r=", s->nonce, ",s=", salt, ",i=", iterations,
	    NULL);
}

static int remember_first(struct scram_server *s, struct scram_span bare,
    const char *server_first, struct err *e)
{
	const struct scram_span first = { server_first,
		strlen(server_first) };

	if (first.len > SCRAM_MESSAGE_MAX)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "SCRAM nonce too long");
	s->auth_message = scram_text_join_two(bare, first);
	return s->auth_message == NULL ? scram_err_memory(e) : 0;
}

static int server_first(struct scram_server *s, struct scram_span in,
    char **out, struct err *e)
{
	struct scram_span bare, nonce;

	if (scram_text_check(in.at, in.len, e) != 0 ||
	    read_gs2_header(s, in, &bare, e) != 0 ||
	    read_first_bare(bare, &nonce, e) != 0)
		return -1;
	s->nonce = make_nonce(s, nonce);
	if (s->nonce == NULL)
		return scram_err_memory(e);
	*out = make_server_first(s);
	if (*out == NULL)
		return scram_err_memory(e);
	return remember_first(s, bare, *out, e);
}

int scram_server_first(struct scram_server *s, const struct scram_verifier *v,
    const char *in, size_t len, char **out, struct err *e)
{
	*out = NULL;
	if (s->step != SCRAM_START) {
		s->step = SCRAM_FAILED;
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "SCRAM message out of order");
	}
	s->v = *v;
	const struct scram_span message = { .at = in, .len = len };
	if (server_first(s, message, out, e) != 0) {
		mem_free(*out);
		*out = NULL;
		s->step = SCRAM_FAILED;
		return -1;
	}
	s->step = SCRAM_CHALLENGED;
	return 0;
}

/* Fields of a client-final-message, all borrowed. */
struct client_final {
	struct scram_span without_proof, proof;
};

/* RFC 5802 §7: client-final-message; the proof ends it. */
static int read_client_final(const struct scram_server *s, struct scram_span in,
    struct client_final *f, struct err *e)
{
	struct scram_span rest = in, value;
	char binding[SCRAM_BINDING_TEXT], name;

	scram_text_binding(s->gs2, &s->binding, binding);
	if (!scram_text_take(&rest, 'c', &value) ||
	    !scram_text_equals(value, binding))
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "SCRAM channel binding does not match the flag");
	if (!scram_text_take(&rest, 'r', &value) ||
	    !scram_text_equals(value, s->nonce))
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "SCRAM nonce does not match");
	do {
		f->without_proof.at = in.at;
		f->without_proof.len = (size_t)(rest.at - in.at);
		if (!scram_text_take_any(&rest, &name, &f->proof))
			return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
			    "no proof in SCRAM message");
		if (name == 'm')
			return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
			    "client requires an unsupported SCRAM extension");
	} while (name != 'p');
	if (rest.len > 0)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "garbage at the end of client-final-message");
	f->without_proof.len--; /* the comma */
	return 0;
}

/*
 * RFC 5802 §3: ClientKey = ClientProof XOR HMAC(StoredKey, AuthMessage), and
 * its hash must be StoredKey.
 */
static int check_proof(struct scram_server *s,
    const uint8_t proof[SHA256_BYTES], const char *auth_message, struct err *e)
{
	uint8_t key[SHA256_BYTES], hash[SHA256_BYTES];
	int rc = -1;

	if (scram_text_sign(s->v.stored_key, auth_message, key) != 0) {
		scram_err_memory(e);
		goto out;
	}
	for (size_t i = 0; i < SHA256_BYTES; i++)
		key[i] ^= proof[i];
	if (crypto_sha256(key, sizeof key, hash) != 0) {
		scram_err_memory(e);
		goto out;
	}
	if (!crypto_equal(hash, s->v.stored_key, sizeof hash)) {
		err_set(e, ERRCODE_INVALID_PASSWORD, "SCRAM proof is wrong");
		goto out;
	}
	memcpy(s->client_key, key, sizeof key);
	rc = 0;
out:
	secret_wipe(key, sizeof key);
	secret_wipe(hash, sizeof hash);
	return rc;
}

static char *make_server_final(const struct scram_server *s,
    const char *auth_message)
{
	uint8_t signature[SHA256_BYTES];
	char text[CRYPTO_BASE64_SIZE(SHA256_BYTES)];

	if (scram_text_sign(s->v.server_key, auth_message, signature) != 0)
		return NULL;
	crypto_base64_encode(signature, sizeof signature, text);
	return scram_text_join("v=", text, NULL);
}

static int server_final(struct scram_server *s, struct scram_span in,
    char **out, struct err *e)
{
	struct client_final f;
	uint8_t proof[SHA256_BYTES];

	if (scram_text_check(in.at, in.len, e) != 0 ||
	    read_client_final(s, in, &f, e) != 0)
		return -1;
	if (!scram_text_key(f.proof, proof))
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "malformed SCRAM proof");
	const struct scram_span before = { s->auth_message,
		strlen(s->auth_message) };
	/* RFC 5802 §3: AuthMessage, now that all parts are known */
	char *auth_message = scram_text_join_two(before, f.without_proof);
	if (auth_message == NULL)
		return scram_err_memory(e);

	int rc = check_proof(s, proof, auth_message, e);
	if (rc == 0) {
		*out = make_server_final(s, auth_message);
		if (*out == NULL)
			rc = scram_err_memory(e);
	}
	mem_free(auth_message);
	return rc;
}

int scram_server_final(struct scram_server *s, const char *in, size_t len,
    char **out, struct err *e)
{
	const struct scram_span message = { .at = in, .len = len };
	int rc;

	*out = NULL;
	if (s->step == SCRAM_CHALLENGED)
		rc = server_final(s, message, out, e);
	else
		rc = err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "SCRAM message out of order");
	if (rc != 0)
		secret_wipe(s->client_key, sizeof s->client_key);
	s->step = rc == 0 ? SCRAM_DONE : SCRAM_FAILED;
	return rc;
}

void scram_server_fini(struct scram_server *s)
{
	mem_free(s->nonce);
	mem_free(s->auth_message);
	secret_wipe(s, sizeof *s);
}
