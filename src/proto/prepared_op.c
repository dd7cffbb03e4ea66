/* prepared_op.c - prepared statements at the end of a request, and the settings
 * that they were parsed under.
 * SPDX-License-Identifier: ISC */
#include "proto/prepared_op.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "proto/baggage.h"
#include "proto/params.h"
#include "proto/prepared.h"

struct prepared_op *prepared_op_new(unsigned changes, struct prepared *stmt,
    const char *name)
{
	const size_t n = strnlen(name, PREPARED_NAME_KEPT);
	struct prepared_op *op = mem_alloc(sizeof *op + n + 1);

	if (op == NULL)
		return NULL;
	op->changes = changes;
	op->shape = (struct prepared_shape){ 0 };
	op->stmt = stmt == NULL ? NULL : prepared_ref(stmt);
	memcpy(op->name, name, n);
	op->name[n] = '\0';
	return op;
}

struct prepared_op *prepared_op_of(unsigned changes,
    const struct prepared_name *n)
{
	struct prepared_op *const op = prepared_op_new(changes, n->stmt,
	    n->name);

	if (op != NULL)
		op->shape = n->told;
	return op;
}

/* Does the name stand for the text of stmt, whatever dialect it is read in? */
static bool is_of_text(const struct prepared_name *n,
    const struct prepared *stmt)
{
	return n->stmt == stmt || (n->stmt->len == stmt->len &&
	    memcmp(n->stmt->body, stmt->body, stmt->len) == 0);
}

void prepared_op_tell(const struct prepared_op *op, struct slots *map,
    struct prepared_uses *uses)
{
	if ((op->changes & (PREPARED_TOLD | PREPARED_ASKED)) == 0)
		return;
	struct prepared_use *const use = prepared_uses_touch(uses, op->stmt);
	struct prepared_name *const n = (op->changes & PREPARED_TOLD) == 0 ?
	    NULL : prepared_name_find(map, op->name);

	/* it may have been parsed again behind the request */
	if (use != NULL && use->shape.at == op->shape.at)
		prepared_shape_take(&use->shape, &op->shape);
	if (n != NULL && is_of_text(n, op->stmt))
		prepared_shape_take(&n->told, &op->shape);
}

void prepared_op_free(struct prepared_op *op)
{
	if (op == NULL)
		return;
	prepared_unref(op->stmt);
	mem_free(op);
}

int prepared_op_redo(const struct prepared_op *op, struct slots **map,
    struct prepared_uses *uses)
{
	if (op->stmt == NULL)
		return 0;
	if ((op->changes & PREPARED_UNNAMED) && map != NULL)
		prepared_name_remove(map, op->name);
	if (op->changes & PREPARED_UNUSED)
		prepared_uses_remove(uses, op->stmt);
	if ((op->changes & PREPARED_NAMED) && map != NULL &&
	    prepared_name_find(*map, op->name) == NULL &&
	    prepared_name_add(map, op->name, op->stmt) < 0)
		return -1;
	if ((op->changes & PREPARED_USED) &&
	    prepared_uses_touch(uses, op->stmt) == NULL)
		return prepared_uses_add(uses, op->stmt);
	return 0;
}

/* Without memory the client has lost the name. */
static void add_back(const struct prepared_op *op, struct slots **map)
{
	if (prepared_name_add(map, op->name, op->stmt) == 0)
		prepared_name_find(*map, op->name)->told = op->shape;
}

/* The name stands for what it stood for before. */
static void move_back(const struct prepared_op *op, struct slots **map)
{
	struct prepared_name *const n = prepared_name_find(*map, op->name);

	if (n == NULL) {
		add_back(op, map);
		return;
	}
	prepared_name_move(n, op->stmt);
	n->told = op->shape;
}

void prepared_op_undo(struct prepared_op *op, struct slots **map,
    struct prepared_uses *uses)
{
	if (op->stmt == NULL)
		return;
	if ((op->changes & PREPARED_MOVED) && map != NULL)
		move_back(op, map);
	if ((op->changes & PREPARED_NAMED) && map != NULL)
		prepared_name_remove(map, op->name);
	if ((op->changes & PREPARED_UNNAMED) && map != NULL &&
	    prepared_name_find(*map, op->name) == NULL)
		add_back(op, map);
	if (op->changes & PREPARED_USED)
		prepared_uses_remove(uses, op->stmt);
	/* without memory the server merely holds a statement we forgot */
	if ((op->changes & PREPARED_UNUSED) &&
	    prepared_uses_touch(uses, op->stmt) == NULL &&
	    prepared_uses_add(uses, op->stmt) == 0)
		prepared_uses_touch(uses, op->stmt)->shape = op->shape;
}

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
