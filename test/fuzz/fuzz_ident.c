/* fuzz_ident.c - any bytes as an ident map file.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "conf/file.h"
#include "conf/hba_source.h"
#include "conf/ident.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_nothing(const char *path, struct file_text *f)
{
	(void)f;
	assert(path[0] != '\0');
	errno = ENOENT;
	return -1;
}

static int list_nothing(const char *path, struct file_names *n)
{
	(void)n;
	assert(path[0] != '\0');
	errno = ENOENT;
	return -1;
}

static void on_report(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	assert(strncmp(text, "ident line ", 11) == 0 ||
	    strncmp(text, "could not parse ident config line ", 34) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e;
	struct hba_source src = {
		.text = (const char *)data, .len = size, .path = "d/f",
		.read = read_nothing, .list = list_nothing,
		.report = on_report,
	};
	struct ident *strict = ident_parse(&src, &e);
	const struct ident_map *m = NULL;

	assert(strict != NULL || e.text[0] != '\0');
	src.skip_unknown = true;
	struct ident *i = ident_parse(&src, &e);
	/* what is skipped is an error otherwise, and nothing else is one */
	assert(strict == NULL || i != NULL);
	if (i != NULL)
		m = ident_find(i, "m");
	if (m != NULL) {
		assert(strcmp(ident_map_name(m), "m") == 0);
		(void)ident_map_allows(m, "ann@example.com", "ann",
		    true);
		(void)ident_map_allows(m, "", "x", false);
	}
	ident_free(&i);
	ident_free(&strict);
	return 0;
}
