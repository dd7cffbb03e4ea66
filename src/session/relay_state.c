/* relay_state.c - what the relay knows of a client from burst to burst.
 * SPDX-License-Identifier: ISC */
#include "session/relay_state.h"

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "proto/reader.h"
#include "proto/writer.h"

enum { HOLD = 1, PARSE_TRIED = 2, EXECUTE_HOLDS = 4, DISCARDS = 8 };

void relay_dealloc_clear(struct relay_state *r)
{
	mem_free(r->dealloc.name);
	mem_free(r->dealloc.portal);
	r->dealloc.name = r->dealloc.portal = NULL;
}

void relay_state_fini(struct relay_state *r)
{
	relay_dealloc_clear(r);
}

static void save_text(struct writer *w, const char *s)
{
	writer_u8(w, s != NULL);
	if (s != NULL)
		writer_str(w, s);
}

void relay_state_save(const struct relay_state *r, struct writer *w)
{
	writer_u8(w, (uint8_t)((r->hold ? HOLD : 0) |
	    (r->parse_tried ? PARSE_TRIED : 0) |
	    (r->execute_holds ? EXECUTE_HOLDS : 0) |
	    (r->discards ? DISCARDS : 0)));
	save_text(w, r->dealloc.name);
	save_text(w, r->dealloc.portal);
}

/* Returns false when there is no memory. */
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

int relay_state_load(struct relay_state *r, const void *p, size_t n,
    struct err *e)
{
	struct reader in;

	reader_init(&in, p, n);
	const uint8_t flags = reader_u8(&in);

	r->hold = (flags & HOLD) != 0;
	r->parse_tried = (flags & PARSE_TRIED) != 0;
	r->execute_holds = (flags & EXECUTE_HOLDS) != 0;
	r->discards = (flags & DISCARDS) != 0;
	if (!load_text(&in, &r->dealloc.name) ||
	    !load_text(&in, &r->dealloc.portal))
		return err_nomem(e);
	return in.failed || reader_left(&in) > 0 ? err_set(e,
	    ERRCODE_PROTOCOL_VIOLATION, "state of a session is broken") : 0;
}
