/* tls_protocols.c - the words of *_tls_protocols.
 * SPDX-License-Identifier: ISC */
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "io/tls_parts.h"

#define ALL (TLS_V1_0 | TLS_V1_1 | TLS_V1_2 | TLS_V1_3)
#define SECURE (TLS_V1_2 | TLS_V1_3)

struct word {
	const char *name;
	unsigned set;
};

static const struct word words[] = {
	{ "tlsv1.0", TLS_V1_0 },
	{ "tlsv1.1", TLS_V1_1 },
	{ "tlsv1.2", TLS_V1_2 },
	{ "tlsv1.3", TLS_V1_3 },
	{ "tlsv1", ALL },
	{ "all", ALL },
	{ "legacy", ALL },	/* spec/settings.md section 12 */
	{ "secure", SECURE },
	{ "default", SECURE },
};

/* 0: no such word. */
static unsigned find(const char *s, size_t len)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strlen(words[i].name) == len &&
		    strncasecmp(words[i].name, s, len) == 0)
			return words[i].set;
	}
	return 0;
}

int tls_protocols_parse(const char *text, unsigned *out)
{
	unsigned set = 0;

	if (text == NULL || text[0] == '\0') {
		*out = SECURE;
		return 0;
	}
	for (bool first = true;; first = false) {
		text += strspn(text, " \t");
		const bool without = text[0] == '!';

		text += without;
		const size_t len = strcspn(text, ",:");
		const unsigned found = find(text, len);

		if (found == 0)
			return -1;
		if (first && without)
			set = ALL;
		set = without ? set & ~found : set | found;
		text += len;
		if (*text++ == '\0')
			break;
	}
	*out = set;
	return set == 0 ? -1 : 0;
}
