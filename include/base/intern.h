/* intern.h - one copy of each string, counted: equal means same pointer.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

struct intern;

/* NULL: no memory. */
struct intern *intern_new(void);

/* Frees also what is still referenced; nulls the caller's pointer. */
void intern_free(struct intern **t);

/* The table's copy of s, with a reference for the caller. NULL: no memory. */
const char *intern_get(struct intern *t, const char *s);

/* One more reference to what intern_get() returned; returns s. */
const char *intern_ref(const char *s);

/* Give a reference back; s must be of t, NULL is fine. */
void intern_put(struct intern *t, const char *s);

#endif
