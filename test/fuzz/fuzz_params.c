/* fuzz_params.c - values of parameters as SETs, read back as the server does.
 * Each value ends in NUL: first those of the server, then those of the client.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "proto/msg.h"
#include "proto/params.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct cursor {
	const char *at;
	bool is_list;		/* what was read last */
	bool standard;		/* strings are, by now */
	const char *strings;	/* what that is put back to */
	bool open;		/* in a transaction, whose first query it may be */
};

static struct params_table *table;
static const struct params_origin reports_all, reports_all_open = { .open = true };

/* What follows a backslash of E'', as the scanner reads it. */
static char read_escape(struct cursor *c)
{
	const bool hex = strncmp(c->at, "\\x5c", 4) == 0;

	assert(hex || c->at[1] == '\\');
	c->at += hex ? 3 : 1;
	return '\\';
}

/* A string constant, 'it''s' or E'a\\b', into out. */
static void read_literal(struct cursor *c, char *out)
{
	const bool escapes = *c->at == 'E';

	c->at += escapes;
	assert(*c->at == '\'');
	for (c->at++;; c->at++) {
		assert(*c->at != '\0');
		if (*c->at == '\'' && *++c->at != '\'')
			break;
		/* elsewhere it would depend on a setting */
		assert(*c->at != '\\' || escapes || c->standard);
		*out++ = *c->at == '\\' && escapes ? read_escape(c) : *c->at;
	}
	*out = '\0';
}

/*
 * Identifiers in quotes, with commas. The names without quotes and blanks, in
 * lower case, go into out.
 */
static void read_identifiers(struct cursor *c, char *out)
{
	for (;; c->at++) {
		assert(*c->at == '"' && c->at[1] != '\0');
		for (c->at++;; c->at++) {
			assert(*c->at != '\0');
			if (*c->at == '"' && *++c->at != '"')
				break;
			*out++ = *c->at;
		}
		if (*c->at != ',')
			break;
	}
	*out = '\0';
}

/* What a list of names has in common with itself in other quotes. */
static void reduce(char *s)
{
	char *out = s;

	for (; *s != '\0'; s++)
		if (strchr("\", \t\n\r\f\v", *s) == NULL)
			*out++ = (char)tolower((unsigned char)*s);
	*out = '\0';
}

/* A search_path that SHOW prints as it stands in the literal. */
static int read_set_config(struct cursor *c, const char *args, char *out)
{
	static const char end[] = ",false);";

	assert(!c->open);
	c->at = args;
	c->is_list = false;
	read_literal(c, out);
	assert(strncmp(c->at, end, sizeof end - 1) == 0);
	c->at += sizeof end - 1;
	return params_find(table, "search_path");
}

/* One SET, or the SELECT in its place. */
static int read_set(struct cursor *c, char *out)
{
	static const char set_config[] =
	    "SELECT pg_catalog.set_config('search_path',";
	char name[64];
	const size_t n = strcspn(c->at + 4, "=");

	if (strncmp(c->at, set_config, sizeof set_config - 1) == 0)
		return read_set_config(c, c->at + sizeof set_config - 1, out);
	assert(strncmp(c->at, "SET ", 4) == 0 && n < sizeof name);
	memcpy(name, c->at + 4, n);
	name[n] = '\0';
	c->at += 4 + n + 1;
	c->is_list = *c->at == '"';
	assert(!c->is_list || strcasecmp(name, "search_path") == 0);
	if (c->is_list)
		read_identifiers(c, out);
	else
		read_literal(c, out);
	assert(*c->at == ';');
	c->at++;
	return params_find(table, name);
}

/* Who acts is reset first: nothing else is. */
static bool read_reset(struct cursor *c)
{
	static const char reset[] = "RESET session_authorization;"
	    "SET role=none;";
	const size_t n = sizeof reset - 1;

	if (strncmp(c->at, reset, n) != 0)
		return false;
	c->at += n;
	return true;
}

/* The query ahead of the others may have more of it than what is wanted. */
static bool read_on(struct cursor *c)
{
	static const char on[] = "SET standard_conforming_strings='on';";

	if (strcmp(c->at, on) != 0)
		return false;
	c->at += sizeof on;
	c->standard = true;
	return true;
}

/* A query, with nothing in it but SETs of what is wanted. */
static void read_back(struct cursor *c, const struct params *want, char *buf)
{
	assert(*c->at != '\0');
	(void)read_reset(c);
	while (*c->at != '\0') {
		if (read_on(c))
			return;
		const int i = read_set(c, buf);

		assert(i >= 0);
		const char *const wanted = i == PARAMS_STANDARD_STRINGS &&
		    params_get(want, i) == NULL ? c->strings :
		    params_get(want, i);
		char *const value = mem_strdup(wanted);

		assert(value != NULL);
		if (c->is_list || buf[0] == '\0') {
			reduce(buf);
			reduce(value);
		}
		assert(strcmp(buf, value) == 0);
		mem_free(value);
	}
	c->at++;
}

/* Values up to a NUL each; an empty one is none. */
static const char *fill(struct params **p, const char *at, const char *end)
{
	for (int i = 0; i < params_count(table) && at < end; i++) {
		if (at[0] != '\0')
			assert(params_set(p, i, at) == 0);
		at += strlen(at) + 1;
	}
	return at;
}

static void check_queries(const struct params *want, const struct params *have,
    const struct params_origin *origin, size_t room)
{
	struct writer w;
	char *const buf = mem_alloc(room + 1);

	writer_init(&w, 1 << 24);
	int queries = params_write_sets(want, have, origin, &w);

	assert(buf != NULL && !w.failed && queries <= 2);
	if (params_write_actor(want, have, origin, &w) !=
	    PARAMS_ACTOR_SAME) {
		writer_u8(&w, 0);
		queries++;
	}
	const char *const strings = params_get(have, PARAMS_STANDARD_STRINGS);
	struct cursor c = { (const char *)w.at, false,
	    strings != NULL && strcasecmp(strings, "on") == 0, strings,
	    origin->open };

	for (int i = 0; i < queries; i++)
		read_back(&c, want, buf);
	assert(queries == 0 ? w.len == 0 :
	    c.at == (const char *)w.at + w.len);
	writer_fini(&w);
	mem_free(buf);
}

/* Outside a transaction and in an open one. */
static void check(const struct params *want, const struct params *have,
    size_t room)
{
	check_queries(want, have, &reports_all, room);
	check_queries(want, have, &reports_all_open, room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (table == NULL)
		table = params_table_new("search_path, IntervalStyle");
	assert(table != NULL);

	struct params *have = params_empty(table), *want = params_empty(table);
	/* with a NUL behind it, whatever it ends with */
	char *const text = mem_zalloc(size + 1);

	assert(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	fill(&want, fill(&have, text, text + size), text + size);
	check(want, have, size);
	/* with the values that it has from elsewhere as well */
	assert(params_fill(&want, have) == 0);
	check(want, have, size + 64);
	params_unref(&have);
	params_unref(&want);
	mem_free(text);
	return 0;
}
