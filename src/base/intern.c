/* intern.c - one copy of each string, counted: equal means same pointer.
 * SPDX-License-Identifier: ISC */
#include "base/intern.h"

#include <assert.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/container.h"
#include "base/hash.h"
#include "base/mem.h"

struct istr {
	UT_hash_handle hh;
	unsigned refs;
	char s[];
};

struct intern {
	struct istr *strings; /* uthash, by s */
};

static struct istr *istr_of(const char *s)
{
	return container_of(s, struct istr, s[0]);
}

struct intern *intern_new(void)
{
	return mem_zalloc(sizeof(struct intern));
}

void intern_free(struct intern **t)
{
	struct istr *i, *next;

	if (*t == NULL)
		return;
	HASH_ITER (hh, (*t)->strings, i, next) {
		HASH_DEL((*t)->strings, i);
		mem_free(i);
	}
	mem_free(*t);
	*t = NULL;
}

const char *intern_get(struct intern *t, const char *s)
{
	const size_t len = strlen(s);
	struct istr *i;

	HASH_FIND(hh, t->strings, s, len, i);
	if (i != NULL)
		return intern_ref(i->s);

	i = mem_alloc(sizeof *i + len + 1);
	if (i == NULL)
		return NULL;
	i->refs = 1;
	memcpy(i->s, s, len + 1);
	HASH_ADD_KEYPTR(hh, t->strings, i->s, len, i);
	if (i->hh.tbl == NULL) {
		mem_free(i);
		return NULL;
	}
	return i->s;
}

const char *intern_ref(const char *s)
{
	struct istr *const i = istr_of(s);

	assert(i->refs > 0 && i->refs < UINT_MAX);
	i->refs++;
	return s;
}

void intern_put(struct intern *t, const char *s)
{
	if (s == NULL)
		return;

	struct istr *const i = istr_of(s);

	assert(i->refs > 0);
	if (--i->refs > 0)
		return;
	HASH_DEL(t->strings, i);
	mem_free(i);
}
