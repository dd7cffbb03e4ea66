/* params_list.h - values of parameters as bytes, for another process.
 *
 * By their names, as the other process may track others.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_PARAMS_LIST_H
#define PROTO_PARAMS_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/reader.h"

struct params;
struct params_table;
struct writer;

/* set NULL: an empty list. */
void params_list_write(const struct params_table *t, const struct params *set,
    struct writer *w);

/* The list that comes next in r, which fails if that is none. */
void params_list_read(struct reader *r, struct reader *list);

struct params_pair {
	const char *name, *value;	/* value may be NULL */
};

/* The next pair of the list; false: no more pairs. */
bool params_list_next(struct reader *list, struct params_pair *out);
/* Set what of the list is tracked here. 0, or -1: no memory. */
int params_list_load(const struct params_table *t, struct reader list,
    struct params **out);
/* Which of ours stand where there has a bit? (by their place in the list) */
uint64_t params_list_bits(const struct params_table *t, struct reader list,
    uint64_t there);

#endif
