/* fuzz_sql.c - the text of a query.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "sql/sql.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[SQL_NAME_MAX], parameter[SQL_PARAMETER_MAX];

	if (size == 0)
		return 0;
	/* to its last byte, so that a sanitizer sees what is read behind it */
	char *sql = mem_dup(data, size);

	assert(sql != NULL);
	if (sql_wants_alone(sql, size, name) && strlen(name) >= SQL_NAME_MAX)
		__builtin_trap();
	if (sql_deallocates(sql, size, name))
		assert(name[0] != '\0' && strlen(name) < SQL_NAME_MAX);
	const char *at = sql;

	while (sql_next_change(&at, sql + size, parameter) != SQL_NO_CHANGE)
		assert(strlen(parameter) < SQL_PARAMETER_MAX &&
		    at <= sql + size && sql_may_matter(sql, size));
	mem_free(sql);
	return 0;
}
