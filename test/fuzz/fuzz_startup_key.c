/* fuzz_startup_key.c - any bytes as the cancel key of a client, on its way.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/startup.h"

#define HOPS 3

/* Only the budget changes on the way, and each key comes to an end. */
static void pass_on(const uint8_t *given)
{
	uint8_t key[CANCEL_KEY_BYTES], owned[CANCEL_KEY_BYTES];
	const int peer = cancel_key_peer(given);
	int hops = 0;

	assert(peer >= 0 && peer <= 65535);
	memcpy(key, given, sizeof key);
	memcpy(owned, given, sizeof owned);
	cancel_key_restore(owned);
	while (cancel_key_spend(key)) {
		uint8_t back[CANCEL_KEY_BYTES];

		hops++;
		assert(cancel_key_peer(key) == peer);
		memcpy(back, key, sizeof back);
		cancel_key_restore(back);
		assert(memcmp(back, owned, sizeof back) == 0);
	}
	assert(hops == (given[7] & HOPS));
}

/* As its owner makes one of random bytes. */
static void make(const uint8_t *random, int peer)
{
	uint8_t key[CANCEL_KEY_BYTES], again[CANCEL_KEY_BYTES];

	memcpy(key, random, sizeof key);
	cancel_key_stamp(key, peer);
	assert((key[0] & 0x80) == 0 && key[0] == (random[0] & 0x7f));
	assert(memcmp(key + 3, random + 3, 4) == 0);
	memcpy(again, key, sizeof again);
	cancel_key_stamp(again, peer);
	assert(memcmp(again, key, sizeof key) == 0);
	if (peer == 0) {
		assert(memcmp(key + 1, random + 1, 7) == 0);
		return;
	}
	assert(cancel_key_peer(key) == peer);
	/* its owner knows it again, whatever budget is left */
	cancel_key_restore(again);
	assert(memcmp(again, key, sizeof key) == 0);
	pass_on(key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < CANCEL_KEY_BYTES + 2)
		return 0;
	pass_on(data + 2);
	make(data + 2, data[0] | data[1] << 8);
	return 0;
}
