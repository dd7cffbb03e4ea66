/* cancel_key.c - the cancel keys we give to clients, and what peers read there.
 * SPDX-License-Identifier: ISC */
#include "proto/cancel_key.h"

#define BUDGET 3	/* hops; the lowest two bits of the last byte */

void cancel_key_stamp(uint8_t *key, int peer_id)
{
	key[0] &= 0x7f;	/* to everybody a process id is positive */
	if (peer_id <= 0)
		return;
	key[1] = (uint8_t)peer_id;
	key[2] = (uint8_t)(peer_id >> 8);
	cancel_key_restore(key);
}

int cancel_key_peer(const uint8_t *key)
{
	return key[1] | key[2] << 8;
}

void cancel_key_set_worker(uint8_t *key, unsigned worker)
{
	key[3] = (uint8_t)worker;
}

unsigned cancel_key_worker(const uint8_t *key)
{
	return key[3];
}

bool cancel_key_spend(uint8_t *key)
{
	if ((key[7] & BUDGET) == 0)
		return false;
	key[7]--;
	return true;
}

void cancel_key_restore(uint8_t *key)
{
	key[7] |= BUDGET;
}
