/* answer_parts.h - between the files of answer: how an answer is put together.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_ANSWER_PARTS_H
#define CONSOLE_ANSWER_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "console/answer.h"

/* A copy of n bytes of s that lives as long as the answer. */
const char *answer_keep(struct answer *a, const char *s, size_t n);
/* One more column with its value; false: there are too many. */
bool answer_add(struct answer *a, const char *name, enum column_type type,
    struct cell cell);

/* The list of a SELECT without FROM; false: something else is in it. */
bool answer_expressions(struct answer *a, const char *list,
    const struct asker *who);
/* Text columns, named as those of a SELECT whose list starts here. */
void answer_name_columns(struct answer *a, const char *list);

#endif
