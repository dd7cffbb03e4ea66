/* password.c - SASLprep (RFC 4013) and md5 of a password, as PostgreSQL does.
 * SPDX-License-Identifier: ISC */
#include "proto/password.h"

#include <assert.h>
#include <errno.h>
#include <idn-free.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <stringprep.h>

#include "base/crypto.h"
#include "base/mem.h"

#define PROFILE_ROWS_MAX 32

/* libidn wants room for a longest mapping, even where none grows. */
#define MAP_SLACK (STRINGPREP_MAX_MAP_CHARS + 1)

enum prep {
	PREP_OK,
	PREP_REJECTED,
	PREP_NO_MEMORY
};

static bool password_is_ascii(const char *s)
{
	for (; *s != '\0'; s++) {
		if ((unsigned char)*s > 0x7f)
			return false;
	}
	return true;
}

/*
 * libidn's profile without its normalisation step. PostgreSQL looks for
 * forbidden characters before it normalises, which matters for characters that
 * decompose (U+0340, U+2135); both ends must derive the same key.
 */
static void profile_without_nfkc(Stringprep_profile out[PROFILE_ROWS_MAX])
{
	const Stringprep_profile *row = stringprep_saslprep;
	size_t n = 0;

	for (; row->operation != 0; row++) {
		if (row->operation == STRINGPREP_NFKC)
			continue;
		assert(n < PROFILE_ROWS_MAX - 1);
		out[n++] = *row;
	}
	memset(&out[n], 0, sizeof out[n]);
}

/* Map and check in place; size is what ucs4 has room for. */
static enum prep map_and_check(uint32_t *ucs4, size_t *len, size_t size)
{
	Stringprep_profile profile[PROFILE_ROWS_MAX];

	profile_without_nfkc(profile);
	const int rc =
	    stringprep_4i(ucs4, len, size, STRINGPREP_NO_UNASSIGNED, profile);
	/* The mapping never makes the text longer. */
	assert(rc != STRINGPREP_TOO_SMALL_BUFFER);
	if (rc == STRINGPREP_MALLOC_ERROR)
		return PREP_NO_MEMORY;
	if (rc != STRINGPREP_OK || *len == 0)
		return PREP_REJECTED;
	return PREP_OK;
}

/*
 * Unicode Corrigendum 4: libidn normalises these as Unicode 3.2 did, by
 * mistake; PostgreSQL does it as later versions do.
 */
static void correct(uint32_t *ucs4, size_t len)
{
	static const struct {
		uint32_t from, to;
	} corrected[] = {
		{ 0x2f868, 0x36fc },
		{ 0x2f874, 0x5f53 },
		{ 0x2f91f, 0x43ab },
		{ 0x2f95f, 0x7aee },
		{ 0x2f9bf, 0x45d7 },
	};
	const size_t n = sizeof corrected / sizeof *corrected;

	for (size_t i = 0; i < len; i++) {
		for (size_t row = 0; row < n; row++) {
			if (ucs4[i] == corrected[row].from)
				ucs4[i] = corrected[row].to;
		}
	}
}

static enum prep normalize(const uint32_t *ucs4, size_t len, char **out)
{
	uint32_t *nfkc = stringprep_ucs4_nfkc_normalize(ucs4, (ssize_t)len);
	if (nfkc == NULL)
		return PREP_NO_MEMORY;

	size_t chars = 0, bytes = 0;
	while (nfkc[chars] != 0)
		chars++;
	char *utf8 =
	    stringprep_ucs4_to_utf8(nfkc, (ssize_t)chars, NULL, &bytes);
	*out = utf8 == NULL ? NULL : mem_strdup(utf8);

	if (utf8 != NULL)
		secret_wipe(utf8, bytes);
	secret_wipe(nfkc, chars * sizeof *nfkc);
	idn_free(utf8);
	idn_free(nfkc);
	return *out == NULL ? PREP_NO_MEMORY : PREP_OK;
}

static enum prep password_prepare(const uint32_t *ucs4, size_t len, char **out)
{
	const size_t size = len + MAP_SLACK;

	uint32_t *copy = mem_alloc(size * sizeof *copy);
	if (copy == NULL)
		return PREP_NO_MEMORY;
	memcpy(copy, ucs4, len * sizeof *copy);
	enum prep prep = map_and_check(copy, &len, size);
	if (prep == PREP_OK) {
		correct(copy, len);
		prep = normalize(copy, len, out);
	}
	secret_wipe(copy, size * sizeof *copy);
	mem_free(copy);
	return prep;
}

static enum prep decode_and_prepare(const char *password, char **out)
{
	size_t len = 0;

	errno = 0;
	uint32_t *ucs4 = stringprep_utf8_to_ucs4(password, -1, &len);
	if (ucs4 == NULL) /* not UTF-8 */
		return errno == ENOMEM ? PREP_NO_MEMORY : PREP_REJECTED;
	const enum prep prep = password_prepare(ucs4, len, out);
	secret_wipe(ucs4, len * sizeof *ucs4);
	idn_free(ucs4);
	return prep;
}

char *saslprep(const char *password)
{
	char *out = NULL;

	if (password_is_ascii(password) ||
	    strlen(password) > SASLPREP_BYTES_MAX)
		return mem_strdup(password);
	switch (decode_and_prepare(password, &out)) {
	case PREP_OK: return out;
	case PREP_REJECTED: return mem_strdup(password);
	case PREP_NO_MEMORY: break;
	}
	return NULL;
}

#define PREFIX "md5"
#define PREFIX_LEN (sizeof PREFIX - 1)

bool md5_is_secret(const char *secret)
{
	return strncmp(secret, PREFIX, PREFIX_LEN) == 0 &&
	    strlen(secret) == MD5_SECRET_LEN &&
	    strspn(secret + PREFIX_LEN, "0123456789abcdef") == MD5_HEX_BYTES;
}

/* PostgreSQL docs, Message Flow, AuthenticationMD5Password. */
int md5_secret(const char *password, const char *user,
    char out[MD5_SECRET_LEN + 1])
{
	char hex[MD5_HEX_BYTES + 1];

	out[0] = '\0';
	if (crypto_md5_hex(password, strlen(password), user, strlen(user),
		hex) != 0)
		return -1;
	memcpy(out, PREFIX, PREFIX_LEN);
	memcpy(out + PREFIX_LEN, hex, sizeof hex);
	secret_wipe(hex, sizeof hex);
	return 0;
}

int md5_response(const char *secret, const uint8_t salt[4],
    char out[MD5_SECRET_LEN + 1])
{
	char hex[MD5_HEX_BYTES + 1];

	out[0] = '\0';
	if (!md5_is_secret(secret))
		return -1;
	if (crypto_md5_hex(secret + PREFIX_LEN, MD5_HEX_BYTES, salt, 4, hex) !=
	    0)
		return -1;
	memcpy(out, PREFIX, PREFIX_LEN);
	memcpy(out + PREFIX_LEN, hex, sizeof hex);
	return 0;
}
