/* fuzz_admin_parse.c - any text as a console command, with and without values.
 * SPDX-License-Identifier: ISC */
#include "console/admin_parse.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ENDS(array) (memchr(array, '\0', sizeof(array)) != NULL)

static void check(const char *query, const struct admin_params *params)
{
	struct admin_command cmd;

	if (admin_parse(query, params, &cmd) != ADMIN_PARSE_OK)
		return;
	assert(ENDS(cmd.verb) && ENDS(cmd.arg) && ENDS(cmd.value));
	assert(cmd.show.column_count <= SHOW_COLUMNS_MAX);
	assert(cmd.show.where_count <= SHOW_WHERE_MAX);
	assert(cmd.params <= ADMIN_PARAMS_MAX);
	assert(params != NULL || cmd.params == 0);
	assert(!cmd.is_set || cmd.arg[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const values[] = { "p0", "it's; \"odd\"", "7" };
	static const struct admin_params unknown = { .values = NULL };
	static const struct admin_params known = { values, 3 };
	char *const query = malloc(size + 1);

	memcpy(query, data, size);
	query[size] = '\0';
	check(query, NULL);
	check(query, &unknown);
	check(query, &known);
	assert(lex_params(query) <= ADMIN_PARAMS_MAX);
	free(query);
	return 0;
}
