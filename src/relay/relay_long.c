/* relay_long.c - long texts are looked at while they pass.
 * SPDX-License-Identifier: ISC */
#include "relay/relay_long.h"

#include "base/mem.h"
#include "relay/relay_watch.h"
#include "sql/sql_leave.h"

struct relay_long {
	struct sql_long text;
	enum relay_text kind;
};

/* It is not looked at any more. */
static void end(struct relay_state *r)
{
	mem_free(r->text);
	r->text = NULL;
}

void relay_long_begin(const struct relay_up *up, enum relay_text kind)
{
	const bool whole = up->have >= up->size;
	struct relay_long *const l = mem_zalloc(sizeof *l);

	if (l == NULL) {
		relay_watch_words(up->s, SQL_LEAVES | SQL_HIDES | SQL_MAKES |
		    SQL_MAY_OPEN, kind);
		return;
	}
	end(&up->c->relay);
	up->c->relay.text = l;
	l->kind = kind;
	relay_long_take(up, up->m + MSG_HEADER, (whole ? up->size : up->have) -
	    MSG_HEADER, whole);
}

void relay_long_take(const struct relay_up *up, const void *bytes, size_t n,
    bool last)
{
	struct relay_long *const l = up->c->relay.text;

	sql_long_take(&l->text, bytes, n);
	if (last)
		sql_long_end(&l->text);
	relay_watch_words(up->s, l->text.what, l->kind);
	if (last)
		end(&up->c->relay);
}
