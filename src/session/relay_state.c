/* relay_state.c - what the relay remembers of a client between bursts.
 * SPDX-License-Identifier: ISC */
#include "session/relay_state.h"

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "proto/msg.h"
#include "proto/params.h"

enum { HOLD = 1, EXECUTE_HOLDS = 2, DISCARDS = 4, REPEATS = 8,
	WITHHOLDS = 16, EARLY = 32 };
enum { OWN_STATES = 3, OWN_DOUBT = 4 };

void relay_dealloc_clear(struct relay_state *r)
{
	mem_free(r->dealloc.name);
	mem_free(r->dealloc.portal);
	r->dealloc.name = r->dealloc.portal = NULL;
	r->dealloc.early = false;
}

#define TEXTS_MAX 64	/* per client */

void relay_state_drop_text(struct relay_state *r, const char *name)
{
	struct relay_reset_text **at = &r->texts;

	while (*at != NULL && strcmp((*at)->text, name) != 0)
		at = &(*at)->next;
	struct relay_reset_text *const gone = *at;

	if (gone == NULL)
		return;
	*at = gone->next;
	mem_free(gone);
}

/* Removes the oldest text if there are too many. */
static void relay_state_make_room(struct relay_state *r)
{
	const struct relay_reset_text *last = NULL;
	unsigned n = 0;

	for (const struct relay_reset_text *t = r->texts; t != NULL;
	    t = t->next, n++)
		last = t;
	if (n >= TEXTS_MAX)
		relay_state_drop_text(r, last->text);
}

int relay_state_add_text(struct relay_state *r, const char *name,
    const char *sql, size_t n)
{
	const size_t name_len = strlen(name) + 1;
	struct relay_reset_text *const t = mem_alloc(sizeof *t + name_len +
	    n + 1);

	if (t == NULL)
		return -1;
	relay_state_drop_text(r, name);
	relay_state_make_room(r);
	memcpy(t->text, name, name_len);
	memcpy(t->text + name_len, sql, n);
	t->text[name_len + n] = '\0';
	t->name = name_len;
	t->next = r->texts;
	r->texts = t;
	return 0;
}

void relay_state_fini(struct relay_state *r)
{
	while (r->texts != NULL)
		relay_state_drop_text(r, r->texts->text);
	relay_dealloc_clear(r);
	params_unref(&r->start);
	own_fini(&r->own);
	mem_free(r->text);
}

static void save_text(struct writer *w, const char *s)
{
	writer_u8(w, s != NULL);
	if (s != NULL)
		writer_str(w, s);
}

static void save_64(struct writer *w, uint64_t value)
{
	writer_u32(w, (uint32_t)(value >> 32));
	writer_u32(w, (uint32_t)value);
}

static void save_parse(struct writer *w, const struct own_text *t)
{
	writer_u32(w, t->len);
	writer_bytes(w, t->at, t->len);
	writer_u32(w, t->told.params);
	writer_u32(w, t->told.columns);
}

static void save_own(struct writer *w, const struct own *o)
{
	writer_u8(w, (uint8_t)(o->state | (o->doubt ? OWN_DOUBT : 0)));
	save_64(w, o->serial);
	save_parse(w, &o->text);
	writer_u32(w, o->since);
	save_64(w, o->old_serial);
	save_64(w, o->old_server);
	save_parse(w, &o->old);
}

/* Writes the oldest first, because each is added before the others. */
static void save_texts(const struct relay_reset_text *t, struct writer *w)
{
	const struct relay_reset_text *all[TEXTS_MAX];
	uint8_t n = 0;

	for (; t != NULL; t = t->next)
		all[n++] = t;
	writer_u8(w, n);
	while (n-- > 0) {
		writer_str(w, all[n]->text);
		writer_str(w, all[n]->text + all[n]->name);
	}
}

void relay_state_save(const struct relay_state *r,
    const struct params_table *t, struct writer *w)
{
	writer_u8(w, (uint8_t)((r->hold ? HOLD : 0) |
	    (r->execute_holds ? EXECUTE_HOLDS : 0) |
	    (r->discards ? DISCARDS : 0) | (r->repeats ? REPEATS : 0) |
	    (r->withheld != WITHHELD_NOT ? WITHHOLDS : 0) |
	    (r->dealloc.early ? EARLY : 0)));
	save_text(w, r->dealloc.name);
	save_text(w, r->dealloc.portal);
	params_list_write(t, r->start, w);
	writer_u8(w, r->resetting);
	save_64(w, r->resets);
	save_own(w, &r->own);
	save_texts(r->texts, w);
}

/* Returns false if there is no memory. */
static bool load_text(struct reader *r, char **to)
{
	if (reader_u8(r) == 0)
		return true;
	const char *const s = reader_str(r);

	if (r->failed)
		return true;
	*to = mem_strdup(s);
	return *to != NULL;
}

/*
 * Reads what the client brought, and which of that is being reset. Returns
 * false if there is no memory.
 */
static bool relay_state_load_start(struct relay_state *r,
    struct params_table *t, struct reader *in)
{
	struct reader list;

	params_list_read(in, &list);
	const uint8_t resetting = reader_u8(in);
	const uint64_t high = reader_u32(in), low = reader_u32(in);

	if (in->failed)
		return true;
	r->resetting = resetting <= RESET_READ ? resetting : RESET_NONE;
	if (reader_left(&list) == 0)
		return true;
	r->resets = params_list_bits(t, list, high << 32 | low);
	r->start = params_empty(t);
	return r->start != NULL && params_list_load(t, list, &r->start) == 0;
}

static uint64_t load_64(struct reader *in)
{
	const uint64_t high = reader_u32(in);

	return high << 32 | reader_u32(in);
}

/* Returns false if there is no memory. */
static bool load_parse(struct reader *in, struct own_text *t)
{
	const uint32_t len = reader_u32(in);
	const uint8_t *const at = reader_bytes(in, len);
	const uint32_t params = reader_u32(in), columns = reader_u32(in);

	if (in->failed || len == 0)
		return true;
	if (len > OWN_MAX)
		in->failed = true;
	else if (own_text_reserve(t, len) < 0)
		return false;
	else {
		memcpy(t->at, at, len);
		t->len = len;
		t->told.params = params;
		t->told.columns = columns;
	}
	return true;
}

static bool load_own(struct reader *in, struct own *o)
{
	const uint8_t flags = reader_u8(in);

	o->state = flags & OWN_STATES;
	o->doubt = (flags & OWN_DOUBT) != 0;
	o->serial = load_64(in);
	if (!load_parse(in, &o->text))
		return false;
	o->since = reader_u32(in);
	o->old_serial = load_64(in);
	o->old_server = load_64(in);
	return load_parse(in, &o->old);
}

/* Reads the texts that may reset. Returns false if there is no memory. */
static bool load_texts(struct relay_state *r, struct reader *in)
{
	for (unsigned left = reader_u8(in); left > 0 && !in->failed; left--) {
		const char *const name = reader_str(in);
		const char *const sql = reader_str(in);

		if (!in->failed && relay_state_add_text(r, name, sql,
		    strlen(sql)) < 0)
			return false;
	}
	return true;
}

int relay_state_load(struct relay_state *r, struct params_table *t,
    struct relay_bytes bytes, struct err *e)
{
	struct reader in;

	reader_init(&in, bytes.at, bytes.len);
	const uint8_t flags = reader_u8(&in);

	r->hold = (flags & HOLD) != 0;
	r->execute_holds = (flags & EXECUTE_HOLDS) != 0;
	r->discards = (flags & DISCARDS) != 0;
	r->repeats = (flags & REPEATS) != 0;
	r->dealloc.early = (flags & EARLY) != 0;
	r->withheld = (flags & WITHHOLDS) != 0 ? WITHHELD : WITHHELD_NOT;
	if (!load_text(&in, &r->dealloc.name) ||
	    !load_text(&in, &r->dealloc.portal) ||
	    !relay_state_load_start(r, t, &in) || !load_own(&in, &r->own) ||
	    !load_texts(r, &in))
		return err_nomem(e);
	return in.failed || reader_left(&in) > 0 ? err_set(e,
	    ERRCODE_PROTOCOL_VIOLATION, "state of a session is broken") : 0;
}
