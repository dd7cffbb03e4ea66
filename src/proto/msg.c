/* msg.c - what is said of bytes that are no message.
 * SPDX-License-Identifier: ISC */
#include "proto/msg.h"

#include "base/text.h"

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
