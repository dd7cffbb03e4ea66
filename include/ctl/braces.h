/* braces.h - reads what odyssey.conf is made of.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_BRACES_H
#define CTL_BRACES_H

struct err;
struct facts;

/*
 * `key value` is a fact; `key { }` and `key "name" { }` are scopes of one and of
 * two words. More quoted values of a key are facts of "more of KEY".
 * Returns: 0, or -1 with e, which begins "line N: ".
 */
int braces_read(const char *text, struct facts *out, struct err *e);

#endif
