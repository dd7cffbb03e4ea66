/* fuzz_sql_leave.c - words of a text, at once and in pieces of any size.
 *
 * The first two bytes are the size of the first piece, and of the others.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "sql/effects.h"
#include "sql/sql_leave.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned in_pieces(const char *sql, size_t n, size_t first, size_t size)
{
	struct sql_long l = { 0 };

	for (size_t at = 0, end = first; at < n; at = end, end += size) {
		end = end < n ? end : n;
		sql_long_take(&l, sql + at, end - at);
	}
	sql_long_end(&l);
	return l.what;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	/* a NUL is behind each text */
	const size_t n = size - 1;
	char *const sql = mem_dup(data + 1, n);

	assert(sql != NULL);
	memmove(sql, sql + 1, n - 1);
	sql[n - 1] = '\0';
	const uint32_t what = sql_effects(sql, n) & (EFFECT_LEAVES |
	    EFFECT_DRAWS | EFFECT_HIDES | EFFECT_OPENS | EFFECT_MAKES |
	    EFFECT_MAY_OPEN);
	const unsigned long_what = in_pieces(sql, n, data[0] + 1u,
	    data[1] + 1u);

	assert(what == 0 || sql_may_leave(sql, n));
	/* but what opens in a block, which is not read on */
	assert((what & ~long_what & ~(uint32_t)EFFECT_OPENS) == 0);
	assert((what & EFFECT_OPENS) == 0 ||
	    (long_what & (EFFECT_OPENS | EFFECT_MAY_OPEN)) != 0);
	mem_free(sql);
	return 0;
}
