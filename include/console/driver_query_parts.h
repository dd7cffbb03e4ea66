/* driver_query_parts.h - between the files of answer: how an answer is put together.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_DRIVER_QUERY_PARTS_H
#define CONSOLE_DRIVER_QUERY_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "console/driver_query.h"

/* A copy of n bytes of s that lives as long as the answer. */
const char *driver_query_keep(struct driver_query *a, const char *s, size_t n);
/* One more column with its value; false: there are too many. */
bool driver_query_add(struct driver_query *a, const char *name, enum column_type type,
    struct cell cell);

/* The list of a SELECT without FROM; false: something else is in it. */
bool driver_query_expressions(struct driver_query *a, const char *list,
    const struct asker *who);
/* Text columns, named as those of a SELECT whose list starts here. */
void driver_query_name_columns(struct driver_query *a, const char *list);

#endif
