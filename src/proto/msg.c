/* msg.c - runs of messages, and what is said of bytes that are none.
 * SPDX-License-Identifier: ISC */
#include "proto/msg.h"

#include "base/text.h"

size_t msg_run(const uint8_t *p, size_t n, uint32_t max)
{
	size_t at = 0;

	while (n - at >= MSG_HEADER && p[at] == p[0]) {
		const size_t size = msg_size(p + at, max);

		/* where one begins is known by the one before: look ahead */
		__builtin_prefetch(p + at + 5 * size);
		if (size == 0 || size > n - at)
			break;
		at += size;
	}
	return at;
}

const char *msg_bad_header(const uint8_t *p, size_t n, char buf[MSG_BAD_TEXT])
{
	struct text t;

	text_init(&t, buf, MSG_BAD_TEXT);
	text_add(&t, "bad packet header: '");
	for (size_t i = 0; i < n && i < 8; i++)
		text_addf(&t, "%02x", p[i]);
	text_add(&t, "'");
	return buf;
}
