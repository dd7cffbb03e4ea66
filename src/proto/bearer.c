/* bearer.c - the SASL mechanism OAUTHBEARER, as PostgreSQL 18 speaks it.
 * SPDX-License-Identifier: ISC */
#include "proto/bearer.h"

#include <string.h>

#include "proto/msg.h"

#define KVSEP '\x01'
#define DIGITS "0123456789"
#define ALPHA "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* --- reading: PostgreSQL source, auth-oauth.c --- */

static enum bearer_kind malformed(struct bearer *b, const char *detail)
{
	err_set(&b->why, ERRCODE_PROTOCOL_VIOLATION,
	    "malformed OAUTHBEARER message");
	b->detail = detail;
	return BEARER_MALFORMED;
}

static enum bearer_kind other(struct bearer *b, const char *detail)
{
	err_set(&b->why, ERRCODE_INVALID_AUTHORIZATION, "%s", detail);
	return BEARER_OTHER;
}

/* One "key=value", without what ends it. */
struct pair {
	const char *key, *value;
	size_t key_len, value_len;
};

static bool has_only(const char *at, size_t len, const char *set)
{
	for (size_t i = 0; i < len; i++) {
		if (at[i] == '\0' || strchr(set, at[i]) == NULL)
			return false;
	}
	return true;
}

/* RFC 7628 section 3.1: VCHAR, SP, HTAB, CR, LF */
static bool is_value(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)at[i];

		if ((c < ' ' || c > '~') && c != '\t' && c != '\r' && c != '\n')
			return false;
	}
	return true;
}

/* NULL, or what is wrong. */
static const char *split_pair(struct pair *p, const char *at, size_t len)
{
	const char *const eq = memchr(at, '=', len);

	if (eq == NULL)
		return "Message contains a key without a value.";
	*p = (struct pair){
		.key = at, .key_len = (size_t)(eq - at),
		.value = eq + 1, .value_len = len - (size_t)(eq - at) - 1,
	};
	if (p->key_len == 0)
		return "Message contains an empty key name.";
	if (!has_only(p->key, p->key_len, ALPHA))
		return "Message contains an invalid key name.";
	return is_value(p->value, p->value_len) ? NULL :
	    "Message contains an invalid value.";
}

/* Other keys are ignored: RFC 7628 section 3.1. NULL, or what is wrong. */
static const char *note_pair(struct bearer *b, const struct pair *p)
{
	if (p->key_len != strlen("auth") || memcmp(p->key, "auth", 4) != 0)
		return NULL;
	if (b->token != NULL)
		return "Message contains multiple auth values.";
	b->token = p->value;
	b->len = p->value_len;
	return NULL;
}

/* Sets token and len to the value of auth. NULL, or what is wrong. */
static const char *read_pairs(struct bearer *b, const char *at, const char *end)
{
	while (at < end) {
		const char *const stop = memchr(at, KVSEP, (size_t)(end - at));
		struct pair p;
		const char *wrong;

		if (stop == NULL)
			return "Message contains an unterminated key/value "
			    "pair.";
		if (stop == at) {
			if (b->token == NULL)
				return "Message does not contain an auth "
				    "value.";
			return at + 1 == end ? NULL : "Message contains "
			    "additional data after the final terminator.";
		}
		wrong = split_pair(&p, at, (size_t)(stop - at));
		if (wrong == NULL)
			wrong = note_pair(b, &p);
		if (wrong != NULL)
			return wrong;
		at = stop + 1;
	}
	return "Message did not contain a final terminator.";
}

bool bearer_is_token(const char *at, size_t len)
{
	while (len > 0 && at[len - 1] == '=')
		len--;
	return len > 0 && has_only(at, len, ALPHA DIGITS "-._~+/");
}

/* From the value of auth to the token in it. */
static enum bearer_kind take_token(struct bearer *b)
{
	static const char scheme[] = "Bearer ";
	size_t n = 0;

	if (b->len == 0)
		return BEARER_ASKS;
	while (n < strlen(scheme) && n < b->len &&
	    (b->token[n] | 0x20) == (scheme[n] | 0x20))
		n++;
	if (n < strlen(scheme))
		return other(b, "the scheme of the client is not Bearer");
	while (n < b->len && b->token[n] == ' ')
		n++;
	b->token += n;
	b->len -= n;
	if (b->len == 0)
		return other(b, "the token is empty");
	return bearer_is_token(b->token, b->len) ? BEARER_TOKEN :
	    other(b, "the token has a character that is not allowed in one");
}

enum bearer_kind bearer_read(struct bearer *b, const char *at, size_t len)
{
	const char *const end = at + len;
	const char *wrong;

	*b = (struct bearer){ .detail = "" };
	if (len == 0)
		return malformed(b, "The message is empty.");
	if (memchr(at, '\0', len) != NULL)
		return malformed(b, "Message length does not match input "
		    "length.");
	if (*at == 'p')
		return malformed(b, "The server does not support channel "
		    "binding for OAuth, but the client message includes "
		    "channel binding data.");
	if (*at != 'n' && *at != 'y')
		return malformed(b, "Unexpected channel-binding flag.");
	if (++at == end || *at != ',')
		return malformed(b, "Comma expected.");
	if (++at < end && *at == 'a') {
		err_set(&b->why, ERRCODE_FEATURE_NOT_SUPPORTED, "client uses "
		    "authorization identity, but it is not supported");
		return BEARER_MALFORMED;
	}
	if (at == end || *at != ',')
		return malformed(b, "Unexpected attribute in "
		    "client-first-message.");
	if (++at == end || *at != KVSEP)
		return malformed(b, "Key-value separator expected.");
	wrong = read_pairs(b, at + 1, end);
	return wrong != NULL ? malformed(b, wrong) : take_token(b);
}

/* --- writing --- */

static void add(struct writer *w, const char *s)
{
	writer_bytes(w, s, strlen(s));
}

void bearer_write_status(struct writer *w, const char *issuer,
    const char *scope)
{
	add(w, "{ \"status\": \"invalid_token\", \"openid-configuration\": \"");
	add(w, issuer);
	if (strstr(issuer, "/.well-known/") == NULL)
		add(w, "/.well-known/openid-configuration");
	add(w, "\", \"scope\": \"");
	add(w, scope);
	add(w, "\" }");
}
