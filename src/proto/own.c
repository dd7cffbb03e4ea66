/* own.c - the unnamed statement of a client, and which server has it.
 * SPDX-License-Identifier: ISC */
#include "proto/own.h"

#include <string.h>

#include "base/mem.h"
#include "proto/msg.h"
#include "proto/track.h"

/* --- what is sent --- */

bool own_is_sure(const struct track *t, unsigned at)
{
	return at == 0 || track_req(t, at - 1)->type == FE_SYNC;
}

static void swap(struct own *o)
{
	const struct own_text text = o->text;

	o->text = o->old;
	o->old = text;
}

/* The newest one takes effect, unless something is skipped. */
static void set_newest(struct own *o, uint64_t *server, uint64_t serial)
{
	o->state = OWN_OPEN;
	o->serial = serial;
	/* where there may be none, a Query is a change, too */
	o->doubt = serial == OWN_NONE || o->old_serial != o->old_server;
	*server = o->doubt ? OWN_UNKNOWN : serial;
}

/* What there is now is what there is if all that follows is skipped. */
static void begin(struct own *o, const uint64_t *server)
{
	if (o->state == OWN_OPEN)
		return;
	o->old_serial = o->serial;
	o->old_server = o->doubt ? o->serial : *server;
	o->since = 0;
	swap(o);
}

void own_change(struct own *o, uint64_t *server, uint64_t serial, bool sure)
{
	o->other = false;
	if (sure) {
		o->state = OWN_SETTLED;
		o->doubt = false;
		o->serial = *server = serial;
		return;
	}
	const bool repeats = o->state == OWN_REPEATED;

	begin(o, server);
	o->since++;
	set_newest(o, server, serial);
	/* the one that is sent again may be skipped, too */
	if (repeats) {
		o->doubt = true;
		*server = OWN_UNKNOWN;
	}
}

void own_change_several(struct own *o, uint64_t *server,
    const struct own_several *several)
{
	o->other = false;
	begin(o, server);
	o->since += several->count;
	if (several->first != OWN_UNKNOWN) {
		o->old_serial = o->old_server = several->first;
		o->old.len = 0;
		o->since = several->count - 1;
	}
	set_newest(o, server, several->last);
}

void own_again(struct own *o, uint64_t *server)
{
	o->other = false;
	o->state = OWN_REPEATED;
	o->doubt = true;
	*server = OWN_UNKNOWN;
}

void own_settle(struct own *o, uint64_t *server)
{
	if (o->doubt)
		*server = o->serial;
	o->state = OWN_SETTLED;
	o->doubt = o->other = false;
}

/* --- what fails --- */

/* The marks up to the Sync that ends the skipping, and behind it. */
struct marks {
	unsigned changes;	/* that fail or are skipped */
	bool repeats;		/* the same of an OWN_AGAIN */
	unsigned behind;	/* changes behind that may be skipped, too */
	bool over;		/* ... one will not be: what is ahead is past */
};

/* From the first request behind a Sync. */
static void look_behind(const struct track *t, unsigned i, struct marks *m)
{
	for (; i < t->count && !m->over; i++) {
		if (track_req(t, i)->own != OWN_CHANGE)
			continue;
		m->over = own_is_sure(t, i);
		m->behind++;
	}
}

static struct marks find_marks(const struct track *t)
{
	struct marks m = { 0, false, 0, false };
	unsigned i = 0;

	for (; i < t->count && track_req(t, i)->type != FE_SYNC; i++) {
		m.changes += track_req(t, i)->own == OWN_CHANGE;
		m.repeats = m.repeats || track_req(t, i)->own == OWN_AGAIN;
	}
	if (m.changes > 0 || m.repeats)
		look_behind(t, i + 1, &m);
	return m;
}

/* There is no statement: a Parse ends the one before, then it fails. */
static void set_none(struct own *o, uint64_t *server)
{
	o->state = OWN_SETTLED;
	o->doubt = false;
	o->serial = *server = OWN_NONE;
	o->text.len = 0;
}

/* Changes are undone, and none is behind. */
static void undo(struct own *o, uint64_t *server, const struct marks *m)
{
	if (o->state == OWN_OPEN && m->changes == o->since) {
		swap(o);
		o->serial = o->old_serial;
		*server = m->repeats ? OWN_UNKNOWN : o->old_server;
	} else {
		/* one of them has happened: the server has it, nobody else */
		o->text.len = 0;
		*server = o->serial;
	}
	o->state = OWN_SETTLED;
	o->doubt = false;
}

/* The newest change is one behind, which may be undone, too. */
static void undo_ahead(struct own *o, uint64_t *server, const struct marks *m,
    uint64_t old)
{
	/* what there is if all of these are skipped */
	if (old == OWN_NONE || m->changes + m->behind < o->since) {
		o->old_serial = o->old_server = old;
		o->old.len = 0;
	} else if (m->repeats) {
		o->old_server = OWN_UNKNOWN;
	}
	o->since = m->behind;
	set_newest(o, server, o->serial);
}

bool own_failed(struct own *o, uint64_t *server, const struct track *t,
    uint64_t fresh)
{
	const struct track_req *const head = t->count == 0 ? NULL :
	    track_req(t, 0);

	if (head == NULL || head->type == FE_QUERY ||
	    head->type == FE_FUNCTION_CALL || head->type == FE_SYNC ||
	    (o->state == OWN_SETTLED && head->own == OWN_NOTHING))
		return false;
	if (head->own == OWN_ASKED) {
		own_settle(o, server);
		*server = OWN_UNKNOWN;
		return false;
	}
	const struct marks m = find_marks(t);
	const bool failed = head->own == OWN_CHANGE;

	if (m.over || (m.changes == 0 && !m.repeats))
		return false;
	if (m.behind > 0) {
		undo_ahead(o, server, &m, failed ? OWN_NONE : fresh);
	} else if (m.changes == 0) {
		own_settle(o, server);
		*server = OWN_UNKNOWN;
	} else if (failed) {
		set_none(o, server);
	} else {
		undo(o, server, &m);
	}
	return m.changes > 0;
}

/* --- what is met with --- */

static inline bool does_something(const struct track_req *r)
{
	return r->own == OWN_CHANGE || r->own == OWN_AGAIN;
}

/* Is a change, or an OWN_AGAIN, in the batch that is open? Is any owed? */
static bool find_mark(const struct track *t, bool *any)
{
	bool here = true, found = false;

	for (unsigned i = t->count; i-- > 0 && !*any;) {
		here = here && track_req(t, i)->type != FE_SYNC;
		*any = does_something(track_req(t, i));
		found = *any && here;
	}
	return found;
}

enum own_reach own_reach(struct own *o, uint64_t *server,
    const struct track *t)
{
	bool any = false;

	if (t->count == 0)
		own_settle(o, server);
	else if (find_mark(t, &any))
		return OWN_REACHED;	/* or it is skipped itself */
	if (any)
		return OWN_WAITS;
	own_settle(o, server);
	return *server == o->serial ? OWN_REACHED : OWN_AWAY;
}

/* --- what the client knows of it --- */

static unsigned count_changes_behind(const struct track *t)
{
	unsigned n = 0;

	for (unsigned i = 1; i < t->count; i++)
		n += track_req(t, i)->own == OWN_CHANGE;
	return n;
}

void own_tell(struct own *o, const struct track *t,
    const struct prepared_shape *shape)
{
	/* of so many the statement is one that was replaced */
	const unsigned n = t->count > TRACK_LOOK ? TRACK_LOOK :
	    count_changes_behind(t);

	if (n == 0)
		o->text.told = *shape;
	else if (o->state == OWN_OPEN && n == o->since)
		o->old.told = *shape;
}

void own_compare(struct own *o, uint64_t *server)
{
	if (prepared_shape_fits(&o->text.told, &o->has))
		return;
	own_settle(o, server);
	*server = OWN_UNKNOWN;
	o->other = true;
}

/* --- texts --- */

int own_text_reserve(struct own_text *t, size_t n)
{
	const size_t size = (n + 63) & ~(size_t)63;
	uint8_t *const at = mem_alloc(size);

	mem_free(t->at);
	*t = (struct own_text){ .at = at,
		.size = at == NULL ? 0 : (uint32_t)size };
	return at == NULL ? -1 : 0;
}

void own_fini(struct own *o)
{
	mem_free(o->text.at);
	mem_free(o->old.at);
	*o = (struct own){ .state = OWN_SETTLED };
}
