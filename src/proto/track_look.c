/* track_look.c - what may become of a request that is added now.
 * SPDX-License-Identifier: ISC */
#include "proto/track_look.h"

#include "proto/msg.h"

static char type_at(const struct track *t, unsigned i)
{
	return t->ring[(t->head + i) & (t->size - 1)].type;
}

int track_apart(const struct track *t, unsigned *n)
{
	unsigned i = t->count;

	if (i > TRACK_LOOK)
		return -1;
	while (i > 0 && type_at(t, i - 1) != FE_SYNC)
		i--;
	*n = i;
	return 0;
}

bool track_owes_ready(const struct track *t)
{
	if (t->count > TRACK_LOOK)
		return true;
	for (unsigned i = 0; i < t->count; i++) {
		const char type = type_at(t, i);

		if (type == FE_SYNC || type == FE_QUERY ||
		    type == FE_FUNCTION_CALL)
			return true;
	}
	return false;
}

bool track_may_be_failed(const struct track *t)
{
	if (t->status == 'E' || t->count > TRACK_LOOK)
		return true;
	for (unsigned i = 0; i < t->count; i++) {
		const struct track_req *const r = track_req(t, i);

		if (r->type == FE_SYNC || r->type == FE_FUNCTION_CALL ||
		    (r->type == FE_QUERY && r->how != TRACK_SKIP))
			return true;
	}
	return false;
}

bool track_may_be_skipped(const struct track *t)
{
	unsigned i = t->count;

	while (i > 0 && t->count - i < TRACK_LOOK) {
		const char type = type_at(t, i - 1);

		if (type == FE_SYNC)
			return false;
		if (type != FE_QUERY && type != FE_FUNCTION_CALL)
			return true;
		i--;
	}
	return i > 0 || t->aborted;
}

bool track_has_copy_end(const struct track *t)
{
	if (t->odd == 0)
		return false;
	for (unsigned i = 0; i < t->count; i++)
		if (type_at(t, i) == FE_COPY_DONE ||
		    type_at(t, i) == FE_COPY_FAIL)
			return true;
	return false;
}

bool track_wants_data(const struct track *t)
{
	return t->copy_in && !track_has_copy_end(t);
}
