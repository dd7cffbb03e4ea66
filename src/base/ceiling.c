/* ceiling.c - memory_limit: how near the process is to it.
 * SPDX-License-Identifier: ISC */
#include "base/ceiling.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/os.h"

/* Per cent of the limit: a level begins here, and ends 5 lower. */
#define TIGHT_FROM 85
#define FULL_FROM 95
#define STEP_BACK 5

#define LARGE 16384		/* bytes of half a message, where it is tight */
#define TRIM_EVERY USEC
#define FALL (16LL << 20)	/* bytes freed that the heap may still have */
#define FALL_PART 32		/* ... or this part of the limit, if less */

#if defined __SANITIZE_ADDRESS__
#define KNOWS_RESIDENT false	/* it keeps what is freed */
#else
#define KNOWS_RESIDENT true
#endif

static struct {
	atomic_size_t limit;
	atomic_llong counted;		/* bytes that mem.c knows of */
	atomic_llong base;		/* resident, and not counted */
	atomic_int level;		/* enum ceiling_level; see set_level() */
	atomic_size_t bids[CEILING_WORKERS];
	_Atomic usec_t trimmed;
	atomic_bool trims;		/* once more when it is calm */
	long long highest;		/* counted, since the last trim; for
					 * ceiling_tick() alone */
} all;

static long long used(void)
{
	return atomic_load_explicit(&all.counted, memory_order_relaxed) +
	    atomic_load_explicit(&all.base, memory_order_relaxed);
}

/* The one setter. Two threads that meet here agree the next time. */
static void set_level(void)
{
	const size_t limit = atomic_load_explicit(&all.limit,
	    memory_order_relaxed);
	const int was = atomic_load_explicit(&all.level, memory_order_relaxed);
	const long long now = used() * 100;
	const long long size = (long long)limit;
	int level = CEILING_CALM;

	if (size == 0 || now < 0)
		level = CEILING_CALM;
	else if (now >= size * (FULL_FROM - (was == CEILING_FULL ? STEP_BACK : 0)))
		level = CEILING_FULL;
	else if (now >= size *
	    (TIGHT_FROM - (was != CEILING_CALM ? STEP_BACK : 0)))
		level = CEILING_TIGHT;
	if (level != was)
		atomic_store_explicit(&all.level, level, memory_order_relaxed);
}

void ceiling_set(size_t limit)
{
	atomic_store(&all.limit, limit);
	set_level();
}

size_t ceiling_limit(void)
{
	return atomic_load_explicit(&all.limit, memory_order_relaxed);
}

size_t ceiling_used(void)
{
	const long long n = used();

	return n > 0 ? (size_t)n : 0;
}

enum ceiling_level ceiling_level(void)
{
	return (enum ceiling_level)atomic_load_explicit(&all.level,
	    memory_order_relaxed);
}

const char *ceiling_level_name(void)
{
	static const char *const names[] = {
		[CEILING_CALM] = "calm", [CEILING_TIGHT] = "tight",
		[CEILING_FULL] = "full",
	};

	return names[ceiling_level()];
}

void ceiling_grow(long bytes)
{
	atomic_fetch_add_explicit(&all.counted, bytes, memory_order_relaxed);
	set_level();
}

/* Linux: proc(5). 0: not known. */
static long long resident(void)
{
	char buf[128];
	int64_t pages;
	const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof buf - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	buf[n] = '\0';
	char *const second = strchr(buf, ' ');	/* its unit is a page */

	if (second == NULL)
		return 0;
	second[1 + strcspn(second + 1, " ")] = '\0';
	return num_parse_i64(second, &pages) < 0 ? 0 :
	    pages * sysconf(_SC_PAGESIZE);
}

/* Has so much been freed that it is worth the time of a trim? */
static bool has_fallen(void)
{
	const long long part = (long long)ceiling_limit() / FALL_PART;
	const long long now = atomic_load_explicit(&all.counted,
	    memory_order_relaxed);

	if (now > all.highest)
		all.highest = now;
	return all.highest - now >= (part > 0 && part < FALL ? part : FALL);
}

/*
 * What was freed stays with the heap, and would count as resident: it is given
 * back after a large fall, and while memory is short.
 */
static void trim(usec_t now)
{
	const bool calm = ceiling_level() == CEILING_CALM;

	if (!calm)
		atomic_store_explicit(&all.trims, true, memory_order_relaxed);
	if ((!has_fallen() &&
	    !atomic_load_explicit(&all.trims, memory_order_relaxed)) ||
	    now - atomic_load_explicit(&all.trimmed, memory_order_relaxed) <
	    TRIM_EVERY)
		return;
	if (calm)
		atomic_store_explicit(&all.trims, false, memory_order_relaxed);
	atomic_store_explicit(&all.trimmed, now, memory_order_relaxed);
	all.highest = atomic_load_explicit(&all.counted,
	    memory_order_relaxed);
	os_trim();
}

void ceiling_tick(usec_t now)
{
	if (!KNOWS_RESIDENT)
		return;
	trim(now);
	if (ceiling_limit() == 0)
		return;
	/* what was freed since the last trim is resident, and free for use */
	const long long rest = resident() - all.highest;

	atomic_store_explicit(&all.base, rest > 0 ? rest : 0,
	    memory_order_relaxed);
	set_level();
}

/* It may double, and is there twice while it is copied. */
static bool would_fill(size_t bytes)
{
	const size_t limit = ceiling_limit();

	return limit > 0 &&
	    ceiling_used() + 2 * bytes >= limit / 100 * FULL_FROM;
}

bool ceiling_stops(size_t bytes)
{
	switch (ceiling_level()) {
	case CEILING_CALM: return bytes > LARGE && would_fill(bytes);
	case CEILING_TIGHT: return bytes > LARGE;
	case CEILING_FULL: break;
	}
	return bytes > 0;
}

bool ceiling_is_hopeless(void)
{
	const size_t limit = ceiling_limit();
	const long long base = atomic_load_explicit(&all.base,
	    memory_order_relaxed);

	return base * 100 >= (long long)limit * (FULL_FROM - STEP_BACK);
}

bool ceiling_stays_full(size_t bytes)
{
	const long long limit = (long long)ceiling_limit();

	return ceiling_level() == CEILING_FULL &&
	    (used() - (long long)bytes) * 100 >=
	    limit * (FULL_FROM - STEP_BACK);
}

bool ceiling_bid(unsigned worker, size_t bytes)
{
	atomic_store_explicit(&all.bids[worker % CEILING_WORKERS], bytes,
	    memory_order_relaxed);
	for (unsigned i = 0; i < CEILING_WORKERS; i++) {
		if (atomic_load_explicit(&all.bids[i], memory_order_relaxed) >
		    bytes)
			return false;
	}
	return bytes > 0;
}
