/* fuzz_driver_query.c - any text as what a driver asks.
 * SPDX-License-Identifier: ISC */
#include "console/driver_query.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct counter {
	struct row_sink sink;
	const struct driver_query *a;
};

static int on_row(struct row_sink *sink, const struct cell *cells)
{
	const struct driver_query *const a = ((struct counter *)sink)->a;
	char buf[CELL_TEXT_MAX];

	for (size_t i = 0; i < a->count; i++) {
		const char *const text = cell_format(&cells[i],
		    a->columns[i].type, buf);

		assert(text == NULL || strlen(text) < sizeof a->text);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct asker who = { "ann", "fuzz", 7, CONSOLE_1_25, 0 };
	static struct driver_query a;
	char *const query = malloc(size + 1);
	const char *at = query;

	memcpy(query, data, size);
	query[size] = '\0';
	while (*at != '\0') {
		const size_t n = driver_query_find(at, &who, &a);

		assert(n <= strlen(at));
		if (n == 0)
			break;
		assert(a.count <= DRIVER_QUERY_COLUMNS && a.used <= sizeof a.text);
		for (size_t i = 0; i < a.count; i++)
			assert(strlen(a.columns[i].name) < sizeof a.text);
		struct counter to = { { on_row }, &a };

		driver_query_rows(&a, &to.sink);
		at += n;
	}
	free(query);
	return 0;
}
