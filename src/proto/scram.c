/* scram.c - SCRAM-SHA-256 (RFC 5802, 7677), both roles: strings in and out.
 * SPDX-License-Identifier: ISC */
#include "proto/scram.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

#define ITERATIONS_DIGITS 10

int scram_err_memory(struct err *e)
{
	return err_set(e, ERRCODE_OUT_OF_MEMORY,
	    "out of memory during SCRAM exchange");
}

int scram_text_check(const char *in, size_t len, struct err *e)
{
	if (len == 0)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "empty SCRAM message");
	if (len > SCRAM_MESSAGE_MAX)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "SCRAM message too long");
	if (memchr(in, '\0', len) != NULL)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "NUL in SCRAM message");
	return 0;
}

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool scram_text_take_any(struct scram_span *rest, char *name,
    struct scram_span *value)
{
	if (rest->len < 2 || !is_alpha(rest->at[0]) || rest->at[1] != '=')
		return false;
	*name = rest->at[0];
	value->at = rest->at + 2;
	value->len = rest->len - 2;

	const char *comma = memchr(value->at, ',', value->len);
	if (comma != NULL)
		value->len = (size_t)(comma - value->at);

	size_t used = 2 + value->len;
	if (used + 1 < rest->len)
		used++;
	rest->at += used;
	rest->len -= used;
	return true;
}

bool scram_text_take(struct scram_span *rest, char name,
    struct scram_span *value)
{
	char found;

	if (rest->len == 0 || rest->at[0] != name)
		return false;
	return scram_text_take_any(rest, &found, value);
}

bool scram_text_is_printable(struct scram_span s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] < 0x21 || s.at[i] > 0x7e || s.at[i] == ',')
			return false;
	}
	return s.len > 0;
}

bool scram_text_equals(struct scram_span s, const char *text)
{
	return s.len == strlen(text) && crypto_equal(s.at, text, s.len);
}

bool scram_text_iterations(struct scram_span s, int *out)
{
	char digits[ITERATIONS_DIGITS + 1];
	uint32_t n;

	/* RFC 5802 §7: posit-number, no leading zero */
	if (s.len == 0 || s.len > ITERATIONS_DIGITS || s.at[0] == '0')
		return false;
	memcpy(digits, s.at, s.len);
	digits[s.len] = '\0';
	if (num_parse_u32(digits, &n) != 0 || n < 1 || n > SCRAM_ITERATIONS_MAX)
		return false;
	*out = (int)n;
	return true;
}

bool scram_text_salt(struct scram_span s, uint8_t *salt, size_t *salt_len)
{
	const int n = crypto_base64_decode(s.at, s.len, salt, SCRAM_SALT_MAX);

	if (n <= 0)
		return false;
	*salt_len = (size_t)n;
	return true;
}

bool scram_text_key(struct scram_span s, uint8_t key[SHA256_BYTES])
{
	return crypto_base64_decode(s.at, s.len, key, SHA256_BYTES) ==
	    SHA256_BYTES;
}

static size_t joined_length(const char *first, va_list ap)
{
	size_t len = 0;

	for (const char *s = first; s != NULL; s = va_arg(ap, const char *))
		len += strlen(s);
	return len;
}

char *scram_text_join(const char *first, ...)
{
	va_list ap;

	va_start(ap, first);
	const size_t size = joined_length(first, ap) + 1;
	va_end(ap);

	char *out = mem_alloc(size);
	if (out == NULL)
		return NULL;
	char *at = out;
	va_start(ap, first);
	for (const char *s = first; s != NULL; s = va_arg(ap, const char *)) {
		const size_t n = strlen(s);
		memcpy(at, s, n);
		at += n;
	}
	va_end(ap);
	*at = '\0';
	return out;
}

/* RFC 5802 §7: gs2-header, without an authorization identity */
const char *scram_text_gs2(char flag)
{
	switch (flag) {
	case 'p': return "p=tls-server-end-point,,";
	case 'y': return "y,,";
	default: return "n,,";
	}
}

void scram_text_binding(char flag, const struct scram_binding *b,
    char out[SCRAM_BINDING_TEXT])
{
	const char *header = scram_text_gs2(flag);
	const size_t len = strlen(header);
	uint8_t all[SCRAM_BINDING_MAX + 24];

	memcpy(all, header, len);
	if (flag == 'p')
		memcpy(all + len, b->bytes, b->len);
	crypto_base64_encode(all, len + (flag == 'p' ? b->len : 0), out);
}

char *scram_text_join_two(struct scram_span a, struct scram_span b)
{
	char *out = mem_alloc(a.len + b.len + 2);

	if (out == NULL)
		return NULL;
	memcpy(out, a.at, a.len);
	out[a.len] = ',';
	memcpy(out + a.len + 1, b.at, b.len);
	out[a.len + 1 + b.len] = '\0';
	return out;
}

int scram_text_sign(const uint8_t key[SHA256_BYTES], const char *message,
    uint8_t out[SHA256_BYTES])
{
	return crypto_hmac_sha256(key, SHA256_BYTES, message, strlen(message),
	    out);
}

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
