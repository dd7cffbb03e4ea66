/* fuzz_ident.c - any bytes as an ident map file.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "conf/ident.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_report(void *arg, const char *text)
{
	(void)arg;
	assert(strncmp(text, "could not parse ident config line ", 34) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ident *i = ident_parse((const char *)data, size, on_report,
	    NULL);

	if (i == NULL)
		return 0;
	const struct ident_map *const m = ident_find(i, "m");
	if (m != NULL) {
		assert(strcmp(ident_map_name(m), "m") == 0);
		assert(!ident_map_allows(m, "", "x"));
	}
	ident_free(&i);
	return 0;
}
