/* toml.h - reads what pgcat.toml is made of.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_TOML_H
#define CTL_TOML_H

struct err;
struct facts;

/*
 * Tables and inline tables become scopes; each item of an array, and of an array
 * in it, is a fact of its own with the array's key. TOML 1.0 but for strings of
 * several lines, arrays of tables and \U escapes, which are refused.
 * Returns: 0, or -1 with e, which begins "line N: ".
 */
int toml_read(const char *text, struct facts *out, struct err *e);

#endif
