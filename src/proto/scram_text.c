/* scram_text.c - the grammar of SCRAM messages (RFC 5802 §7).
 * SPDX-License-Identifier: ISC */
#include "proto/scram_text.h"

#include <stdarg.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "proto/scram.h"

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
