/* fuzz_effects.c - effects of a text, beside what a glance and pieces of it tell.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../unit/sql_answers.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t n = strnlen((const char *)data, size);
	/* to its last byte, so that a sanitizer sees what is read behind it */
	char *const sql = mem_alloc(n + 1);

	assert(sql != NULL);
	memcpy(sql, data, n);
	sql[n] = '\0';
	const char *const broken = sql_answers_break(sql, n + 1);

	if (broken != NULL) {
		fprintf(stderr, "%s\n", broken);
		__builtin_trap();
	}
	(void)sql_effects(sql, n);
	mem_free(sql);
	return 0;
}
