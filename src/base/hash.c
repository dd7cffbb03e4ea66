/* hash.c - the hash of all maps: a multiplication for each eight bytes.
 * SPDX-License-Identifier: ISC */
#include "base/hash.h"

#include <stdint.h>
#include <string.h>

#include "base/crypto.h"

/* Without hash_seed(), as in tests: the same from run to run. */
static struct {
	uint64_t start;
	uint32_t low, high;
} seed = { 0x9e3779b97f4a7c15, 0x85ebca6b, 0xc2b2ae35 };

void hash_seed(void)
{
	crypto_random(&seed, sizeof seed);
}

/*
 * Both factors depend on key and seed: without the seed, there is no telling
 * which keys have the same product.
 */
static uint64_t mix(uint64_t h)
{
	return (uint64_t)((uint32_t)h ^ seed.low) *
	    ((uint32_t)(h >> 32) ^ seed.high);
}

static uint32_t read_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

/* The last 0 to 8 bytes: every one counts, some of them twice. */
static uint64_t read_rest(const uint8_t *p, size_t n)
{
	if (n >= 4)
		return read_u32(p) | (uint64_t)read_u32(p + n - 4) << 32;
	if (n == 0)
		return 0;
	return p[0] | (uint64_t)p[n / 2] << 8 | (uint64_t)p[n - 1] << 16;
}

unsigned hash_bytes(const void *key, size_t len)
{
	const uint8_t *p = key;
	uint64_t h = seed.start ^ len;
	size_t left = len;

	for (; left > 8; p += 8, left -= 8)
		h = mix(h ^ read_rest(p, 8));
	h = mix(h ^ read_rest(p, left));
	/* the low bits of a product depend on few of its factors' */
	h = mix(mix(h));
	return (unsigned)(h ^ h >> 32);
}
