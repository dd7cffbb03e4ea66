/* fuzz_log.c - names and a message of any bytes as lines of the log.
 * The parts are separated by NUL: database, user, message.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "base/log_line.h"
#include "base/mem.h"
#include "base/text.h"

#define DATABASE_MAX 63		/* bytes, as a login has them at most */
#define USER_MAX 127

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct parts {
	const uint8_t *at;
	size_t left;
};

/* The next part, cut at max bytes; to be freed. */
static char *next(struct parts *p, size_t max)
{
	const uint8_t *const nul = p->left == 0 ? NULL :
	    memchr(p->at, '\0', p->left);
	const size_t whole = nul == NULL ? p->left : (size_t)(nul - p->at);
	char *const s = mem_strndup(p->left == 0 ? "" : (const char *)p->at,
	    whole < max ? whole : max);

	assert(s != NULL);
	p->at += whole + (nul != NULL);
	p->left -= whole + (nul != NULL);
	return s;
}

/* Nothing in it that a terminal obeys, of UTF-8 or of Latin-1. */
static void check_printable(const char *s, size_t n)
{
	for (size_t i = 0, step; i < n; i += step) {
		const size_t whole = text_character(s + i);

		step = whole > 0 ? whole : 1;
		assert(s[i] == '\t' || s[i] == '\n' ||
		    text_control(s + i, n - i) == 0);
		assert(whole > 0 || (uint8_t)s[i] >= 0xa0);
	}
}

/* It can't be taken for another line. */
static void check_text(const char *message)
{
	char cooked[LOG_COOKED_SIZE];

	log_line_cook(message, strlen(message), cooked, sizeof cooked);
	check_printable(cooked, strlen(cooked));
	for (const char *c = cooked; (c = strchr(c, '\n')) != NULL; c++)
		assert(c[1] == '\t');
}

static void check_member(const json_t *o, const char *key, const char *want)
{
	const char *const is = json_string_value(json_object_get(o, key));
	json_t *const valid = json_string(want);

	assert(is != NULL);
	assert(valid == NULL ? strlen(is) == strlen(want) :
	    strcmp(is, want) == 0);
	json_decref(valid);
}

static void check_json(const struct log_facts *who, const char *message)
{
	char line[LOG_LINE_SIZE];
	const struct log_event ev = { .time = "t", .level = "LOG",
		.who = who, .message = message };
	const size_t n = log_json_write(&ev, line, sizeof line);

	/* an object, on one line: a plain one could be anything */
	assert(n > 0 && line[n - 1] == '\n');
	assert(memchr(line, '\n', n - 1) == NULL);
	assert(memchr(line, '\t', n - 1) == NULL);
	check_printable(line, n - 1);

	json_t *const o = json_loadb(line, n - 1, JSON_REJECT_DUPLICATES, NULL);

	assert(o != NULL && json_object_size(o) == 9);
	check_member(o, "database", who->database);
	check_member(o, "user", who->user);
	check_member(o, "message", message);
	json_decref(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct parts p = { data, size };
	char *const database = next(&p, DATABASE_MAX);
	char *const user = next(&p, USER_MAX);
	char *const message = next(&p, LOG_MESSAGE_SIZE - 1);
	const struct log_facts who = { .side = 'C', .object = data,
		.database = database, .user = user, .address = "unix:6432" };

	check_text(message);
	check_json(&who, message);
	mem_free(database);
	mem_free(user);
	mem_free(message);
	return 0;
}
