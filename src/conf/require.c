/* require.c - conditions for a server: target_session_attrs, require_auth.
 * SPDX-License-Identifier: ISC */
#include "conf/require.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "conf/words.h"

static unsigned find_method(const char *word, size_t len)
{
	static const struct {
		const char *word;
		unsigned bit;
	} rows[] = {
		{ "password", REQUIRE_PASSWORD },
		{ "md5", REQUIRE_MD5 },
		{ "gss", REQUIRE_GSS },
		{ "sspi", REQUIRE_SSPI },
		{ "scram-sha-256", REQUIRE_SCRAM },
		{ "oauth", REQUIRE_OAUTH },
		{ "none", REQUIRE_NONE },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (strlen(rows[i].word) == len &&
		    memcmp(rows[i].word, word, len) == 0)
			return rows[i].bit;
	}
	return 0;
}

static int require_invalid(const char *why, const char *word, size_t len,
    struct err *e)
{
	return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
	    "server_require_auth: %s \"%.*s\"", why, len < 64 ? (int)len : 64,
	    word);
}

static bool require_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

int require_auth_parse(const char *text, unsigned *forbidden, struct err *e)
{
	unsigned found = 0;
	bool negated = false;

	*forbidden = 0;
	if (text == NULL || text[strspn(text, " \t")] == '\0')
		return 0;
	for (const char *p = text;; p++) {
		p += strspn(p, " \t");
		const bool negates = *p == '!';

		p += negates;
		size_t len = strcspn(p, ",");
		const char *const end = p + len;

		while (len > 0 && require_is_blank(p[len - 1]))
			len--;
		const unsigned bit = find_method(p, len);

		if (bit == 0)
			return require_invalid("unknown method", p, len, e);
		if (found & bit)
			return require_invalid("repeated method", p, len, e);
		if (found != 0 && negates != negated)
			return require_invalid(
			    "methods with and without \"!\" cannot "
			    "be mixed:",
			    p, len, e);
		negated = negates;
		found |= bit;
		p = end;
		if (*p == '\0')
			break;
	}
	*forbidden = negated ? found : ~found;
	return 0;
}

static const char *const words[] = {
	[ATTRS_ANY] = "any",
	[ATTRS_READ_WRITE] = "read-write",
	[ATTRS_READ_ONLY] = "read-only",
	[ATTRS_PRIMARY] = "primary",
	[ATTRS_STANDBY] = "standby",
	[ATTRS_PREFER_STANDBY] = "prefer-standby",
	NULL
};

int session_attrs_find(const char *word)
{
	return words_find(words, word);
}

const char *session_attrs_word(enum session_attrs attrs)
{
	return words[attrs];
}
