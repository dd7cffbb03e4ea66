/* fuzz_persist.c - what SET PERSIST writes is read back.
 * The parts are separated by NUL: a value, another one, who sets them, and what
 * the file holds. The first byte chooses the setting.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/ini.h"
#include "conf/options.h"
#include "conf/persist.h"

#define ROOM (1 << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const keys[] = {
	"logfile", "auth_query", "server_reset_query", "verbose",
};

struct parts {
	const uint8_t *at;
	size_t left;
};

static char *next(struct parts *p)
{
	const uint8_t *const nul = p->left == 0 ? NULL :
	    memchr(p->at, '\0', p->left);
	const size_t whole = nul == NULL ? p->left : (size_t)(nul - p->at);
	char *const s = mem_strndup(p->left == 0 ? "" : (const char *)p->at,
	    whole);

	assert(s != NULL);
	p->at += whole + (nul != NULL);
	p->left -= whole + (nul != NULL);
	return s;
}

/* --- what a file says, one "key=value" a line --- */

struct said {
	const char *but;	/* a setting that is left out */
	struct text all;
	const char *value;	/* wanted of it */
	unsigned found;
};

static enum ini_step on_entry(void *arg, const char *key, const char *value,
    const struct ini_place *at)
{
	struct said *const s = arg;

	(void)at;
	if (strcmp(key, s->but) != 0) {
		text_addf(&s->all, "%s=%s\n", key, value);
	} else {
		s->found++;
		assert(s->value == NULL || strcmp(value, s->value) == 0);
	}
	return INI_GO;
}

static enum ini_step on_other(void *arg, const char *name,
    const struct ini_place *at)
{
	struct said *const s = arg;

	(void)at;
	text_addf(&s->all, "[%s]\n", name);
	return INI_GO;
}

static void on_problem(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

static const struct ini_ops ops = {
	.section = on_other,
	.entry = on_entry,
	.include = on_other,
	.problem = on_problem,
};

static void read_back(const char *text, struct said *s, char *buf)
{
	const struct ini_source src = { .text = text, .len = strlen(text),
		.file = "f" };

	text_init(&s->all, buf, ROOM);
	(void)ini_parse(&src, &ops, s);
	assert(!s->all.cut);
}

/* --- writing --- */

static char first[ROOM], second[ROOM], direct[ROOM], one[ROOM], other[ROOM];

static int compose(char *buf, const char *old,
    const struct persist_entry *entry)
{
	const struct persist_old was = { .path = "f", .text = old };
	struct text out;
	struct err e = { "", "" };

	text_init(&out, buf, ROOM);
	const int rc = persist_compose(&out, &was, entry, &e);

	assert(rc == 0 || (e.text[0] != '\0' && strlen(e.code) == 5));
	return rc;
}

/* The value is in it, once, and nothing else is more, less or different. */
static void check_said(const char *old, const char *new,
    const struct persist_entry *entry)
{
	struct said before = { .but = entry->key };
	struct said after = { .but = entry->key, .value = entry->value };

	read_back(old, &before, one);
	read_back(new, &after, other);
	assert(after.found == 1);
	assert(strcmp(before.all.at, after.all.at) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0 || size > ROOM / 4)
		return 0;

	struct parts p = { data + 1, size - 1 };
	char *const value = next(&p), *const newer = next(&p);
	char *const by = next(&p), *const old = next(&p);
	const char *const key =
	    keys[data[0] % (sizeof keys / sizeof *keys)];
	const struct persist_entry a = { key, value, by };
	const struct persist_entry b = { key, newer, by };

	if (compose(first, old, &a) == 0) {
		check_said(old, first, &a);
		/* a value that was replaced leaves nothing behind */
		const int rc = compose(second, first, &b);

		assert(rc == compose(direct, old, &b));
		assert(rc != 0 || strcmp(second, direct) == 0);
	}
	mem_free(value);
	mem_free(newer);
	mem_free(by);
	mem_free(old);
	return 0;
}
