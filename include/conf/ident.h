/* ident.h - which name outside may log in as which user: auth_ident_file.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_IDENT_H
#define CONF_IDENT_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct hba_source;
struct ident;		/* all maps of a file; immutable */
struct ident_map;	/* the lines of one name, in order */

/*
 * Lines that can't be used are reported ("ident line <n>: ..."), and the whole
 * is refused, or they are skipped, see hba_source.
 * Returns NULL with the first problem in e.
 * Source: spec/config-files.md section 10.
 */
struct ident *ident_parse(const struct hba_source *src, struct err *e);
void ident_free(struct ident **i);

/* NULL: no map of that name. Borrowed from i. */
const struct ident_map *ident_find(const struct ident *i, const char *name);

const char *ident_map_name(const struct ident_map *m);

/*
 * May a client with the name system (of the kernel, in a certificate, of a
 * ticket) log in as user? caseless: names that are no regular expressions may
 * differ in the case of ASCII letters.
 */
bool ident_map_allows(const struct ident_map *m, const char *system,
    const char *user, bool caseless);

#endif
