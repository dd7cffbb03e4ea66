/* params_names.c - which parameters are tracked, and what is special of them.
 * SPDX-License-Identifier: ISC */
#include "proto/params_names.h"

#include <string.h>

#include "base/intern.h"
#include "base/mem.h"
#include "base/text.h"
#include "sql/sql_words.h"

/* All that PostgreSQL 18 reports and lets a client set; and what drivers send. */
static const char *const always[] = { [PARAMS_DATESTYLE] = "DateStyle",
	[PARAMS_CLIENT_ENCODING] = "client_encoding", "TimeZone",
	[PARAMS_STANDARD_STRINGS] = "standard_conforming_strings",
	[PARAMS_APPLICATION_NAME] = "application_name", "search_path",
	"IntervalStyle", "default_transaction_read_only",
	[PARAMS_SCRAM_ITERATIONS] = "scram_iterations",
	[PARAMS_SESSION_AUTHORIZATION] = "session_authorization",
	[PARAMS_EXTRA_FLOAT_DIGITS] = "extra_float_digits" };

static const struct {
	const char *name;
	uint8_t traits;
} known[] = {
	{ "DateStyle", PARAMS_FOLD | PARAMS_READ },
	{ "client_encoding", PARAMS_FOLD | PARAMS_READ },
	{ "TimeZone", PARAMS_FOLD | PARAMS_READ },
	{ "IntervalStyle", PARAMS_FOLD | PARAMS_READ },
	{ "standard_conforming_strings", PARAMS_FOLD | PARAMS_READ },
	{ "default_transaction_read_only", PARAMS_FOLD },
	{ "session_authorization", PARAMS_ACT | PARAMS_READ }, { "role", PARAMS_ACT },
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static uint8_t traits_of(const char *name)
{
	uint8_t traits = sql_is_unseen(name) ? PARAMS_READ : 0;

	for (size_t i = 0; i < COUNT(known); i++)
		if (text_casecmp(known[i].name, name) == 0)
			traits |= known[i].traits;
	return traits;
}

static bool has_name(const struct params_names *n, const char *name)
{
	for (int i = 0; i < n->count; i++)
		if (text_casecmp(n->name[i], name) == 0)
			return true;
	return false;
}

static int add_name(struct params_names *n, struct intern *strings,
    const char *name)
{
	if (has_name(n, name) || n->count == PARAMS_MAX)
		return 0;
	n->traits[n->count] = traits_of(name);
	n->name[n->count] = intern_get(strings, name);
	return n->name[n->count] == NULL ? -1 : (n->count++, 0);
}

/* Items of a comma list, trimmed; empty ones are skipped. */
static int add_list(struct params_names *n, struct intern *strings,
    const char *list)
{
	static const char blank[] = " \t\r\n";

	while (*list != '\0') {
		const size_t item = strcspn(list, ",");
		size_t from = strspn(list, blank), to = item;

		while (to > from && strchr(blank, list[to - 1]) != NULL)
			to--;
		if (to > from) {
			char *name = mem_strndup(list + from, to - from);
			const int rc = name == NULL ? -1 : add_name(n, strings, name);

			mem_free(name);
			if (rc < 0)
				return -1;
		}
		list += item + (list[item] == ',');
	}
	return 0;
}

int params_names_get(struct params_names *n, struct intern *strings,
    const char *extra)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < COUNT(always); i++)
		rc = add_name(n, strings, always[i]);
	return rc < 0 || extra == NULL ? rc : add_list(n, strings, extra);
}

void params_names_put(struct params_names *n, struct intern *strings)
{
	for (int i = 0; i < n->count; i++)
		intern_put(strings, n->name[i]);
}
