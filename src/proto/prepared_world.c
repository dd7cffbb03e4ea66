/* prepared_world.c - what a statement was parsed under.
 * SPDX-License-Identifier: ISC */
#include "proto/prepared_world.h"

#include <stddef.h>

#include "base/mem.h"
#include "proto/baggage.h"
#include "proto/params.h"

struct prepared_world *prepared_world_new(const struct prepared_world *w)
{
	struct prepared_world *const new = mem_alloc(sizeof *new);

	if (new == NULL)
		return NULL;
	*new = *w;
	params_ref(new->params);
	if (new->baggage != NULL)
		baggage_ref(new->baggage);
	return new;
}

void prepared_world_free(struct prepared_world **w)
{
	if (*w == NULL)
		return;
	params_unref(&(*w)->params);
	baggage_unref(&(*w)->baggage);
	mem_free(*w);
	*w = NULL;
}

/* Equal values are one pointer. */
bool prepared_world_params(const struct params *a, const struct params *b)
{
	if (a == b)
		return true;
	const int n = params_count(params_table_of(a));

	for (int i = 0; i < n; i++)
		if (i != PARAMS_APPLICATION_NAME &&
		    params_get(a, i) != params_get(b, i))
			return false;
	return true;
}

bool prepared_world_is(struct prepared_world *w,
    const struct prepared_world *now)
{
	if (w->changes != now->changes || w->baggage != now->baggage)
		return false;
	if (w->params == now->params)
		return true;
	if (!prepared_world_params(w->params, now->params))
		return false;
	params_unref(&w->params);
	w->params = params_ref(now->params);
	return true;
}
