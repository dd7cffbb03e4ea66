/* secmem.h - memory for secrets: wiped when freed, never in a core dump.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_SECMEM_H
#define BASE_SECMEM_H

#include <stddef.h>

/*
 * As mem_zalloc(), mem_strdup() and mem_free(), in pages of their own that a
 * core dump leaves out and that are never swapped, as far as RLIMIT_MEMLOCK
 * goes. What is freed is wiped first. On any thread.
 */
void *secmem_zalloc(size_t n);
char *secmem_strdup(const char *s);
void secmem_free(void *p);

#endif
