/* ident.h - which name outside may log in as which user: auth_ident_file.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_IDENT_H
#define CONF_IDENT_H

#include <stdbool.h>
#include <stddef.h>

struct ident;		/* all maps of a file; immutable */
struct ident_map;	/* the lines of one name, in order */

typedef void ident_report_fn(void *arg, const char *text);

/*
 * A line that can't be used is reported and skipped. report may be NULL.
 * Returns NULL when out of memory.
 * Source: spec/config-files.md section 10.
 */
struct ident *ident_parse(const char *text, size_t len,
    ident_report_fn *report, void *arg);
void ident_free(struct ident **i);

/* NULL: no map of that name. Borrowed from i. */
const struct ident_map *ident_find(const struct ident *i, const char *name);

const char *ident_map_name(const struct ident_map *m);

/*
 * May who is called system outside (by the kernel, in a certificate) log in
 * as user?
 */
bool ident_map_allows(const struct ident_map *m, const char *system,
    const char *user);

#endif
