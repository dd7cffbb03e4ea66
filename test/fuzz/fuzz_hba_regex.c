/* fuzz_hba_regex.c - a pattern up to a line feed, and the text behind it.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "conf/hba_regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAME_LEN 127		/* no login has a longer one */

static void match(const struct hba_regex *r, const char *name)
{
	const char *at;
	size_t len;
	const enum hba_fit fit = hba_regex_fits(r, name);

	if (!hba_regex_has_group(r))
		return;
	assert(hba_regex_group(r, name, &at, &len) == fit);
	if (fit != HBA_FITS)
		return;
	assert(at >= name && at + len <= name + strlen(name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *const nl = size > 0 ? memchr(data, '\n', size) : NULL;
	const size_t len = nl != NULL ? (size_t)(nl - data) : size;
	const size_t rest = nl != NULL ? size - len - 1 : 0;
	char name[NAME_LEN + 1] = "";
	struct err e = { .text = "" };

	/* the words of a line have none */
	if (len > 0 && memchr(data, '\0', len) != NULL)
		return 0;
	if (rest > 0)
		memcpy(name, nl + 1, rest < NAME_LEN ? rest : NAME_LEN);

	/* a copy of exactly its size, so that ASan sees one byte too many */
	char *const copy = malloc(len > 0 ? len : 1);
	if (copy == NULL)
		return 0;
	if (len > 0)
		memcpy(copy, data, len);
	struct hba_regex *r = hba_regex_new(copy, len, &e);
	free(copy);
	if (r == NULL)
		assert(strncmp(e.text, "regular expression: ", 20) == 0);
	else
		match(r, name);
	hba_regex_free(&r);
	return 0;
}
