/* encoding.h - the names of PostgreSQL's character sets.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_ENCODING_H
#define PROTO_ENCODING_H

#include <stdbool.h>

/*
 * The name by which PostgreSQL reports the client_encoding that it was asked
 * for by this one: "UTF8" for "utf-8" and for "Unicode". NULL: none is known.
 */
const char *encoding_name(const char *alias);

/*
 * Is the second half of its characters a letter or a backslash of ASCII at
 * times? Of no encoding is it a blank, a quote or any other byte below '0'.
 */
bool encoding_has_pairs(const char *alias);

#endif
