/* secmem.c - memory for secrets: wiped when freed, in no core dump, not swapped.
 *
 * Blocks of one size come from chunks of theirs, which start at a multiple of
 * their size: so the chunk of a block is found from its address.
 * SPDX-License-Identifier: ISC */
#include "base/secmem.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <utlist.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "base/os.h"

#define CHUNK ((size_t)65536)
#define SMALLEST 32
#define CLASSES 9		/* 32 bytes to 8 KiB; more has its own pages */
#define ALIGN 16

struct block {
	struct block *next;	/* free, of the same chunk */
};

struct chunk {
	struct chunk *prev, *next;	/* list of chunks with free blocks */
	struct block *free;
	size_t mapped;		/* bytes, from here on */
	size_t size;		/* of a block; 0: one block fills it */
	unsigned used;
	unsigned fresh;		/* blocks never given out yet, at the end */
};

#define HEADER ((sizeof(struct chunk) + ALIGN - 1) / ALIGN * ALIGN)

/* Helper threads read files with secrets: of all lists and chunks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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

/* Pages that start at a multiple of CHUNK. */
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
	return c;
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
	struct chunk *c = n > SIZE_MAX - 2 * CHUNK ? NULL :
	    map((n + HEADER + CHUNK - 1) / CHUNK * CHUNK);

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
	munmap(c, c->mapped);
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
	munmap(c, c->mapped);
}
