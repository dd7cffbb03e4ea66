/* prepared_op.c - what the end of a request means for prepared statements.
 * SPDX-License-Identifier: ISC */
#include "proto/prepared_op.h"

#include <string.h>

#include "base/mem.h"
#include "proto/prepared.h"

struct prepared_op *prepared_op_new(unsigned changes, struct prepared *stmt,
    const char *name)
{
	const size_t n = strnlen(name, PREPARED_NAME_KEPT);
	struct prepared_op *op = mem_alloc(sizeof *op + n + 1);

	if (op == NULL)
		return NULL;
	op->changes = changes;
	op->stmt = stmt == NULL ? NULL : prepared_ref(stmt);
	memcpy(op->name, name, n);
	op->name[n] = '\0';
	return op;
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

/* The name stands for what it stood for before. */
static void move_back(const struct prepared_op *op, struct slots **map)
{
	struct prepared_name *const n = prepared_name_find(*map, op->name);

	if (n != NULL)
		prepared_name_move(n, op->stmt);
	else
		(void)prepared_name_add(map, op->name, op->stmt);
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
		(void)prepared_name_add(map, op->name, op->stmt);
	if (op->changes & PREPARED_USED)
		prepared_uses_remove(uses, op->stmt);
	/* without memory the server merely holds a statement we forgot */
	if ((op->changes & PREPARED_UNUSED) &&
	    prepared_uses_touch(uses, op->stmt) == NULL)
		(void)prepared_uses_add(uses, op->stmt);
}
