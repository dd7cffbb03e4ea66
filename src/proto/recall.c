/* recall.c - what a text of SETs has made of a set of settings, once.
 * SPDX-License-Identifier: ISC */
#include "proto/recall.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "proto/baggage.h"

#define SET_MAX 4096		/* bytes of a set that is held here */
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define NAME LETTERS "0123456789_"

static const char blanks[] = " \t\n\r";

void recall_fini(struct recall *t)
{
	for (size_t i = 0; i < RECALL_PLACES; i++) {
		struct recall_entry *const e = &t->places[i];
		struct baggage *sets[] = { (struct baggage *)e->key.had,
			(struct baggage *)e->key.brought, e->has };

		for (size_t j = 0; j < sizeof sets / sizeof *sets; j++)
			baggage_unref(&sets[j]);
		*e = (struct recall_entry){ 0 };
	}
}

/* --- texts --- */

/*
 * Is it the same wherever it stands: no comment, no escape, whatever strings
 * are set to mean, no string in dollars?
 */
static bool is_clear(const char *s)
{
	for (char last = ' '; *s != '\0'; last = *s++) {
		if ((*s < ' ' && strchr(blanks, *s) == NULL) || *s > '~' ||
		    *s == '\\' || *s == '&' || (*s == '$' && last != '"') ||
		    (last == '-' && *s == '-') || (last == '/' && *s == '*'))
			return false;
	}
	return true;
}

/* The end of the statement at s; NULL: a quote has none. */
static const char *find_end(const char *s)
{
	char quote = '\0';

	for (; *s != '\0' && (quote != '\0' || *s != ';'); s++)
		if (quote == *s)
			quote = '\0';
		else if (quote == '\0' && (*s == '\'' || *s == '"'))
			quote = *s;
	return quote == '\0' ? s : NULL;
}

/* Past word, and blanks behind it; NULL: something else is there. */
static const char *recall_take(const char *s, const char *word)
{
	const size_t n = strlen(word);

	if (s == NULL || strncasecmp(s, word, n) != 0 ||
	    (s[n] != '\0' && strchr(NAME, s[n]) != NULL))
		return NULL;
	return s + n + strspn(s + n, blanks);
}

/* Past the name of a parameter; NULL: of none, or of one of those left out. */
static const char *recall_take_name(const char *s)
{
	static const char *const others[] = { "local", "transaction",
		"constraints", "session", "role", "session_authorization",
		"time", "names", "xml", "schema", "catalog", "seed",
		/* it is looked for in the schemas of whoever sets it */
		"default_text_search_config" };
	const size_t n = strspn(s, NAME);

	if (n == 0 || strchr("0123456789_", s[0]) != NULL)
		return NULL;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (recall_take(s, others[i]) != NULL)
			return NULL;
	return s + n + strspn(s + n, blanks);
}

static bool is_set(const char *s)
{
	const char *const own = recall_take(s, "session");
	const char *const name = recall_take_name(own != NULL ? own : s);

	if (recall_take(own, "characteristics") != NULL)
		return true;
	return name != NULL &&
	    (*name == '=' || recall_take(name, "to") != NULL);
}

static bool ends(const char *s, const char *end)
{
	return s != NULL && s == end;
}

/* How many tags of SET and RESET the statement gives; -1: it is another. */
static int count(const char *s, const char *end)
{
	static const char *const none[] = { "close all", "unlisten *",
		"select pg_advisory_unlock_all()" };
	const char *at = recall_take(s, "set");

	if (at != NULL)
		return is_set(at) ? 1 : -1;
	at = recall_take(s, "reset");
	if (at != NULL)
		return ends(recall_take_name(at), end) ? 1 : -1;
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		const size_t n = strlen(none[i]);

		if (strncasecmp(s, none[i], n) == 0 &&
		    ends(s + n + strspn(s + n, blanks), end))
			return 0;
	}
	return -1;
}

int recall_count(const char *sql, size_t n)
{
	int sum = 0;

	if (n == 0 || memchr(sql, '\0', n) != sql + n - 1 ||
	    n > RECALL_TEXT || !is_clear(sql))
		return -1;
	for (;;) {
		sql += strspn(sql, blanks);
		if (*sql == '\0')
			return sum;
		const char *const end = find_end(sql);
		const int one = end == NULL ? -1 : *sql == ';' ? 0 :
		    count(sql, end);

		/* of a SET that ends with the function it is in, say */
		if (one < 0 || memmem(sql, (size_t)(end - sql), " from ", 6))
			return -1;
		sum += one;
		sql = end + (*end == ';');
	}
}

/* --- the places --- */

static size_t recall_place_of(const struct recall_key *k)
{
	uint64_t h = (uintptr_t)k->had ^ (uintptr_t)k->brought << 7 ^ k->len;

	for (uint32_t i = 0; i < k->len; i++)
		h = (h ^ (uint8_t)k->text[i]) * 0x100000001b3u;
	return (h ^ h >> 32) % RECALL_PLACES;
}

static bool recall_is_same(const struct recall_key *a,
    const struct recall_key *b)
{
	return a->had == b->had && a->brought == b->brought &&
	    a->silent == b->silent && a->len == b->len &&
	    memcmp(a->text, b->text, a->len) == 0;
}

struct baggage *recall_find(const struct recall *t,
    const struct recall_key *k)
{
	const struct recall_entry *const e = &t->places[recall_place_of(k)];

	return e->has != NULL && recall_is_same(&e->key, k) ? e->has : NULL;
}

void recall_learn(struct recall *t, const struct recall_key *k,
    struct baggage *has)
{
	struct recall_entry *const e = &t->places[recall_place_of(k)];
	struct baggage *had = (struct baggage *)e->key.had;
	struct baggage *brought = (struct baggage *)e->key.brought;
	size_t len;

	(void)baggage_bytes(has, &len);
	if (len > SET_MAX)
		return;
	baggage_put(&had, (struct baggage *)k->had);
	baggage_put(&brought, (struct baggage *)k->brought);
	baggage_put(&e->has, has);
	e->key = *k;
}
