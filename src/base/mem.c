/* mem.c - allocation that tests can make fail; everything may return NULL.
 * SPDX-License-Identifier: ISC */
#include "base/mem.h"

#include <assert.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <utlist.h>

#include "base/ceiling.h"
#include "base/crypto.h"
#include "base/os.h"

/*
 * Atomic because helper threads allocate, too. All threads would write to one
 * cache line: so nothing is counted before mem_fail_at(), and only tests call
 * that.
 */
static atomic_bool counting; /* mem_fail_at() was called */
static atomic_ulong made;    /* allocations since the last mem_fail_at() */
static atomic_ulong fail_at; /* number of the allocation that fails; 0 = none */

#define CACHED_MAX 256	/* blocks kept */
#define SMALL 1024	/* bytes */

#if defined __SANITIZE_ADDRESS__
#define KEEPS_CACHED false	/* a use of what was given back shall be caught */
#else
#define KEEPS_CACHED true
#endif

/* Blocks that came back to this thread. */
static _Thread_local struct cached {
	struct cached *next;
} *cached;
static _Thread_local unsigned cached_count;

static const char *const names[MEM_KINDS] = {
	[MEM_CLIENT] = "client_cache",
	[MEM_SERVER] = "server_cache",
	[MEM_POOL] = "pool_cache",
	[MEM_DATABASE] = "db_cache",
	[MEM_USER] = "user_cache",
	[MEM_PEER] = "peer_cache",
	[MEM_CREDENTIALS] = "credentials_cache",
	[MEM_TRACK] = "outstanding_request_cache",
	[MEM_PARAMS] = "var_list_cache",
	[MEM_STATEMENT] = "prepared_statement_cache",
	[MEM_STATEMENT_USE] = "server_prepared_statement_cache",
	[MEM_OVERFLOW] = "iobuf_cache",
	[MEM_CARRY] = "carry_cache",
	[MEM_TLS] = "tls_cache",
	[MEM_LOGIN] = "login_cache",
	[MEM_ANSWER] = "auth_query_cache",
	[MEM_NOTIFICATION] = "notification_cache",
	[MEM_SETTING] = "setting_cache",
	[MEM_HTTP] = "http_cache",
	[MEM_LOG] = "log_queue",
	[MEM_LIBRARY] = "tls_library",
};

/* Counts of this thread. */
static _Thread_local struct mem_stat stats[MEM_KINDS];

/*
 * What this thread has not told the ceiling, and the library's account, yet: the
 * counts of all threads would be a cache line that all write to.
 */
#define UNTOLD_MAX 65536
static _Thread_local long untold;
static _Thread_local struct { long objects, bytes; } untold_library;
static atomic_long library_objects, library_bytes;

bool mem_must_fail(void)
{
	if (!atomic_load_explicit(&counting, memory_order_relaxed))
		return false;
	const unsigned long nth =
	    atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) + 1;

	return nth == atomic_load_explicit(&fail_at, memory_order_relaxed);
}

unsigned long mem_fail_at(unsigned long nth)
{
	atomic_store(&fail_at, nth);
	atomic_store(&counting, true);
	return atomic_exchange(&made, 0);
}

void *mem_alloc(size_t n)
{
	return mem_must_fail() ? NULL : malloc(n > 0 ? n : 1);
}

/* glibc's calloc() passes by what the thread has at hand for small ones. */
void *mem_zalloc(size_t n)
{
	void *p = mem_must_fail() ? NULL :
	    n > SMALL ? calloc(1, n) : malloc(n > 0 ? n : 1);

	if (p != NULL && n <= SMALL)
		memset(p, 0, n);
	return p;
}

void *mem_resize(void *p, size_t n)
{
	return mem_must_fail() ? NULL : realloc(p, n > 0 ? n : 1);
}

void *mem_map(size_t n)
{
	void *const p = mem_must_fail() ? MAP_FAILED : mmap(NULL, n,
	    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void *mem_map_longer(void *p, size_t n, size_t more)
{
	return mem_must_fail() ? NULL : os_map_longer(p, n, more);
}

void mem_unmap(void *p, size_t n)
{
	(void)munmap(p, n);
}

void *mem_dup(const void *p, size_t n)
{
	void *copy = mem_alloc(n);

	if (copy != NULL && n > 0)
		memcpy(copy, p, n);
	return copy;
}

char *mem_strdup(const char *s)
{
	return mem_dup(s, strlen(s) + 1);
}

char *mem_strndup(const char *s, size_t n)
{
	const size_t len = strnlen(s, n);
	char *copy = mem_alloc(len + 1);

	if (copy == NULL)
		return NULL;
	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

void mem_free(void *p)
{
	free(p);
}

void *mem_block(void)
{
	struct cached *const s = cached;

	if (s == NULL)
		return mem_alloc(MEM_BLOCK);
	if (mem_must_fail())
		return NULL;
	cached = s->next;
	cached_count--;
	return s;
}

void mem_block_free(void *p)
{
	struct cached *const s = p;

	if (!KEEPS_CACHED || cached_count == CACHED_MAX) {
		mem_free(p);
		return;
	}
	s->next = cached;
	cached = s;
	cached_count++;
}

void *mem_new(enum mem_kind kind, size_t n)
{
	struct mem_stat *const s = &stats[kind];
	void *p = mem_zalloc(n);

	if (p == NULL)
		return NULL;
	if (s->used == 0)
		s->size = n;
	else if (s->size != n)
		s->size = 0;
	mem_note(kind, 1, (long)n);
	return p;
}

void mem_delete(enum mem_kind kind, void *p, size_t n)
{
	if (p == NULL)
		return;
	mem_note(kind, -1, -(long)n);
	mem_free(p);
}

/* Hot: most changes are told later, together. */
static inline void tell(long n)
{
	untold += n;
	if (untold <= UNTOLD_MAX && untold >= -UNTOLD_MAX)
		return;
	ceiling_grow(untold);
	untold = 0;
}

void mem_note(enum mem_kind kind, int objects, long n)
{
	struct mem_stat *const s = &stats[kind];

	/* Unsigned arithmetic wraps, so a negative value subtracts. */
	s->used += (size_t)objects;
	s->bytes += (size_t)n;
	tell(n);
}

const struct mem_stat *mem_stat(enum mem_kind kind)
{
	return &stats[kind];
}

const struct mem_stat *mem_account(void)
{
	return stats;
}

const char *mem_name(enum mem_kind kind)
{
	return names[kind];
}

/* --- for libraries --- */

static _Thread_local bool wiping;	/* a key is read, and let go, on one */

void mem_lib_wipe(bool on)
{
	wiping = on;
}

/* Out of line: a login by TLS allocates and frees a thousand times. */
static __attribute__((noinline, cold)) void tell_library(void)
{
	atomic_fetch_add_explicit(&library_objects, untold_library.objects,
	    memory_order_relaxed);
	atomic_fetch_add_explicit(&library_bytes, untold_library.bytes,
	    memory_order_relaxed);
	ceiling_grow(untold_library.bytes);
	untold_library.objects = untold_library.bytes = 0;
}

static inline void note_library(long objects, void *p)
{
	const long n = (long)malloc_usable_size(p);

	untold_library.objects += objects;
	untold_library.bytes += objects * n;
	if (untold_library.bytes > UNTOLD_MAX ||
	    untold_library.bytes < -UNTOLD_MAX)
		tell_library();
}

struct mem_stat mem_library(void)
{
	const long objects = atomic_load_explicit(&library_objects,
	    memory_order_relaxed) + untold_library.objects;
	const long bytes = atomic_load_explicit(&library_bytes,
	    memory_order_relaxed) + untold_library.bytes;

	return (struct mem_stat){
		.used = objects > 0 ? (size_t)objects : 0,
		.bytes = bytes > 0 ? (size_t)bytes : 0,
	};
}

void *mem_lib_alloc(size_t n)
{
	void *const p = malloc(n);

	if (p != NULL)
		note_library(1, p);
	return p;
}

void mem_lib_free(void *p)
{
	if (p == NULL)
		return;
	note_library(-1, p);
	if (wiping)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

/* OpenSSL source: CRYPTO_realloc() hands on n = 0 as a free. */
void *mem_lib_realloc(void *p, size_t n)
{
	if (p == NULL)
		return mem_lib_alloc(n);
	if (n == 0) {
		mem_lib_free(p);
		return NULL;
	}
	const size_t had = malloc_usable_size(p);

	if (!wiping) {
		note_library(-1, p);
		void *const q = realloc(p, n);

		note_library(1, q != NULL ? q : p);
		return q;
	}
	void *const q = mem_lib_alloc(n);

	if (q == NULL)
		return NULL;
	memcpy(q, p, had < n ? had : n);
	mem_lib_free(p);
	return q;
}

/*
 * Blocks of one size come from chunks of theirs, which start at a multiple of
 * their size: so the chunk of a block is found from its address.
 */

#define CHUNK ((size_t)65536)
#define SMALLEST 32
#define CLASSES 9		/* 32 bytes to 8 KiB; more has its own pages */
#define ALIGN 16

struct block {
	struct block *next;	/* free, of the same chunk */
};

struct chunk {
	struct chunk *prev, *next;	/* list of chunks with free blocks */
	struct chunk *all_prev, *all_next;	/* in all_chunks */
	struct block *free;
	size_t mapped;		/* bytes, from here on */
	size_t size;		/* of a block; 0: one block fills it */
	unsigned used;
	unsigned fresh;		/* blocks never given out yet, at the end */
};

#define HEADER ((sizeof(struct chunk) + ALIGN - 1) / ALIGN * ALIGN)

/* Helper threads read files with secrets: of all lists and chunks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct chunk *all_chunks;	/* DL list by all_next */
/* Per class, chunks with room; the first stays when it is empty. */
static struct chunk *with_room[CLASSES];

static size_t class_size(int class)
{
	return (size_t)SMALLEST << class;
}

/* The class for n bytes; CLASSES: larger than all. */
static int class_of(size_t n)
{
	int class = 0;

	while (class < CLASSES && class_size(class) < n)
		class++;
	return class;
}

/* Pages that start at a multiple of CHUNK. Called with the lock. */
static struct chunk *map(size_t size)
{
	uint8_t *at = mmap(NULL, size + CHUNK, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	const size_t before = (CHUNK - (uintptr_t)at % CHUNK) % CHUNK;

	if (before > 0)
		munmap(at, before);
	if (before < CHUNK)
		munmap(at + before + size, CHUNK - before);
	/* where that is not known dumps are no safer than they were */
	(void)madvise(at + before, size, MADV_DONTDUMP);
	/* nor on a disk for swap, as far as RLIMIT_MEMLOCK goes */
	os_lock_pages(at + before, size);

	struct chunk *c = (struct chunk *)(at + before);

	c->mapped = size;
	DL_APPEND2(all_chunks, c, all_prev, all_next);
	return c;
}

/* Called with the lock. */
static void unmap(struct chunk *c)
{
	DL_DELETE2(all_chunks, c, all_prev, all_next);
	munmap(c, c->mapped);
}

void secmem_lock_again(void)
{
	struct chunk *c;

	pthread_mutex_lock(&lock);
	DL_FOREACH2(all_chunks, c, all_next)
		os_lock_pages(c, c->mapped);
	pthread_mutex_unlock(&lock);
}

static struct chunk *chunk_new(int class)
{
	struct chunk *c = map(CHUNK);

	if (c == NULL)
		return NULL;
	c->size = class_size(class);
	c->fresh = (unsigned)((CHUNK - HEADER) / c->size);
	DL_PREPEND(with_room[class], c);
	return c;
}

/* Called with the lock. */
static void *take(int class)
{
	struct chunk *c = with_room[class];

	if (c == NULL)
		c = chunk_new(class);
	if (c == NULL)
		return NULL;
	struct block *b = c->free;

	if (b != NULL)
		c->free = b->next;
	else
		b = (struct block *)((uint8_t *)c + HEADER +
		    --c->fresh * c->size);
	c->used++;
	if (c->free == NULL && c->fresh == 0)
		DL_DELETE(with_room[class], c);
	return b;
}

static void *take_large(size_t n)
{
	struct chunk *c = NULL;

	pthread_mutex_lock(&lock);
	if (n <= SIZE_MAX - 2 * CHUNK)
		c = map((n + HEADER + CHUNK - 1) / CHUNK * CHUNK);
	pthread_mutex_unlock(&lock);
	return c == NULL ? NULL : (uint8_t *)c + HEADER;
}

void *secmem_zalloc(size_t n)
{
	const int class = class_of(n);

	if (mem_must_fail())
		return NULL;
	if (class == CLASSES)
		return take_large(n);
	pthread_mutex_lock(&lock);
	struct block *b = take(class);

	pthread_mutex_unlock(&lock);
	if (b != NULL)
		b->next = NULL;	/* the rest was wiped, or never used */
	return b;
}

char *secmem_strdup(const char *s)
{
	const size_t size = strlen(s) + 1;
	char *copy = secmem_zalloc(size);

	if (copy != NULL)
		memcpy(copy, s, size);
	return copy;
}

/* Called with the lock. */
static void give_back(struct chunk *c, struct block *b)
{
	const int class = class_of(c->size);
	const bool was_full = c->free == NULL && c->fresh == 0;

	b->next = c->free;
	c->free = b;
	c->used--;
	if (was_full)
		DL_PREPEND(with_room[class], c);
	if (c->used > 0 || with_room[class]->next == NULL)
		return;
	DL_DELETE(with_room[class], c);
	unmap(c);
}

void secmem_free(void *p)
{
	if (p == NULL)
		return;
	struct chunk *c = (struct chunk *)((uintptr_t)p & ~(CHUNK - 1));

	if (c->size > 0) {
		secret_wipe(p, c->size);
		pthread_mutex_lock(&lock);
		assert(c->used > 0);
		give_back(c, p);
		pthread_mutex_unlock(&lock);
		return;
	}
	secret_wipe(p, c->mapped - HEADER);
	pthread_mutex_lock(&lock);
	unmap(c);
	pthread_mutex_unlock(&lock);
}
