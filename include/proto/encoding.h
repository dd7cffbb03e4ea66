/* encoding.h - the names of PostgreSQL's character sets.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_ENCODING_H
#define PROTO_ENCODING_H

/*
 * The name by which PostgreSQL reports the client_encoding that it was asked
 * for by this one: "UTF8" for "utf-8" and for "Unicode". NULL: none is known.
 */
const char *encoding_name(const char *alias);

#endif
