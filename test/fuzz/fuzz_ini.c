/* fuzz_ini.c - any bytes as a main file that includes itself once.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "conf/ini.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
	const char *text;
	size_t len;
	unsigned problems;
	unsigned includes;
};

static const struct ini_ops ops;

static enum ini_step on_section(void *arg, const char *name,
    const struct ini_place *at)
{
	(void)arg;
	assert(strpbrk(name, "]\n") == NULL && at->line > 0);
	return INI_GO;
}

static enum ini_step on_entry(void *arg, const char *key, const char *value,
    const struct ini_place *at)
{
	(void)arg;
	assert(key[0] != '\0' && strchr(key, '\n') == NULL);
	assert(strchr(value, '\n') == NULL && at->line > 0);
	return INI_GO;
}

static void on_problem(void *arg, const char *text)
{
	((struct run *)arg)->problems += text[0] != '\0';
}

static enum ini_step on_include(void *arg, const char *path,
    const struct ini_place *at)
{
	struct run *const r = arg;
	const struct ini_source src = {
		.text = r->text, .len = r->len, .file = path,
		.depth = at->depth + 1,
	};

	/* Levels may be ten, files must stay few. */
	if (++r->includes > 30)
		return INI_STOP;
	return ini_parse(&src, &ops, r);
}

static const struct ini_ops ops = {
	.section = on_section,
	.entry = on_entry,
	.include = on_include,
	.problem = on_problem,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run r = { .text = (const char *)data, .len = size };
	const struct ini_source src = {
		.text = r.text, .len = r.len, .file = "f",
	};
	const enum ini_step step = ini_parse(&src, &ops, &r);

	/* What was bad was also told. */
	assert((step == INI_GO) == (r.problems == 0));
	return 0;
}
