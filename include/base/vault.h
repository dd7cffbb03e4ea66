/* vault.h - memory for secrets: wiped when freed, never in a core dump.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_VAULT_H
#define BASE_VAULT_H

#include <stddef.h>

/*
 * As mem_zalloc(), mem_strdup() and mem_free(), in pages of their own that a
 * core dump leaves out. What is freed is wiped first. On any thread.
 */
void *vault_zalloc(size_t n);
char *vault_strdup(const char *s);
void vault_free(void *p);

#endif
