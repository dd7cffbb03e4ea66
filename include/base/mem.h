/* mem.h - allocation that tests can make fail; everything may return NULL.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

/* As malloc, calloc(1, n), realloc, strdup, strndup, memdup and free. */
void *mem_alloc(size_t n);
void *mem_zalloc(size_t n);
void *mem_resize(void *p, size_t n);
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);
void *mem_dup(const void *p, size_t n);
void mem_free(void *p);

/*
 * Much memory, zeroed, of whole pages: it gets longer (from n bytes to more) without a
 * copy, and whoever has it next finds zeros.
 */
void *mem_map(size_t n);
void *mem_map_longer(void *p, size_t n, size_t more);
void mem_unmap(void *p, size_t n);

/*
 * Hot: MEM_BLOCK bytes for a short while, not zeroed. Some freed blocks are
 * kept for the next call on the same thread.
 */
#define MEM_BLOCK 512
void *mem_block(void);
void mem_block_free(void *p);

/*
 * Tests only: let the nth allocation from now fail (1 = the next), 0 = never.
 * Returns how many were made since the last call; the first one knows of none.
 */
unsigned long mem_fail_at(unsigned long nth);

/* For other allocators: is this the one that must fail? Counts it. */
bool mem_must_fail(void);

/* Live object counters for SHOW MEM, one per kind, of each thread. */
enum mem_kind {
	MEM_CLIENT,
	MEM_SERVER,
	MEM_POOL,
	MEM_DATABASE,
	MEM_USER,
	MEM_PEER,
	MEM_CREDENTIALS,
	MEM_TRACK,
	MEM_PARAMS,
	MEM_STATEMENT,
	MEM_STATEMENT_USE,
	MEM_OVERFLOW,
	MEM_CARRY,
	MEM_TLS,
	MEM_LOGIN,
	MEM_ANSWER,		/* of auth_query, kept */
	MEM_NOTIFICATION,
	MEM_SETTING,
	MEM_HTTP,
	MEM_LOG,
	MEM_LIBRARY,		/* the TLS library's; of all threads */
	MEM_KINDS
};

struct mem_stat {
	size_t size;	  /* bytes of one; 0 when they differ */
	size_t used;	  /* objects alive */
	size_t bytes;	  /* bytes alive */
};

/* Counted allocation: as mem_zalloc/mem_free, noted under kind. */
void *mem_new(enum mem_kind kind, size_t n);
void mem_delete(enum mem_kind kind, void *p, size_t n);
/* Note a change of n bytes that was allocated otherwise (n may be negative). */
void mem_note(enum mem_kind kind, int objects, long n);
/* Of the thread that asks. */
const struct mem_stat *mem_stat(enum mem_kind kind);
/* MEM_LIBRARY, which is no thread's: what one allocates another frees. */
struct mem_stat mem_library(void);
/* Counts of each kind: another thread adds them up while this one is held. */
const struct mem_stat *mem_account(void);
/* As SHOW MEM prints it. */
const char *mem_name(enum mem_kind kind);

/*
 * malloc(3) and so on for a library that is told its allocator. Between
 * mem_lib_wipe(true) and (false) all that it frees on this thread is
 * overwritten, and so what was a secret only while it was read is gone.
 */
void *mem_lib_alloc(size_t n);
void *mem_lib_realloc(void *p, size_t n);
void mem_lib_free(void *p);
void mem_lib_wipe(bool on);

/* Memory for secrets: wiped when freed, never in a core dump. */

/*
 * As mem_zalloc(), mem_strdup() and mem_free(), in pages of their own that a
 * core dump leaves out and that are never swapped, as far as RLIMIT_MEMLOCK
 * goes. What is freed is wiped first. On any thread.
 */
void *secmem_zalloc(size_t n);
char *secmem_strdup(const char *s);
void secmem_free(void *p);
/* In a child of the process that got the memory: fork(2) keeps no page locked. */
void secmem_lock_again(void);

#endif
