/* fuzz_takeover_talk.c - what a process says that is to hand over to us.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/takeover_talk.h"
#include "base/err.h"
#include "base/mem.h"
#include "io/fdpass.h"
#include "proto/msg.h"

#define SIZE_MAX_HERE 65536	/* what fits into a socket without a reader */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at_values(const struct talk_row *row, const char *body,
    size_t len)
{
	uint8_t some[32], *all;

	for (int c = 0; c < TALK_COLUMNS; c++) {
		const char *const text = talk_value(row, c);
		size_t n = 0;

		if (text != NULL)
			assert(text >= body && text + strlen(text) <=
			    body + len);
		(void)talk_number(row, c);
		const size_t told = talk_bytes(row, c, some, sizeof some);

		all = talk_heap_bytes(row, c, &n);
		/* what is broken further on is not seen in the first bytes */
		assert(told > 0 || all == NULL);
		if (all == NULL)
			continue;
		assert(n == told);
		assert(memcmp(all, some, n < sizeof some ? n :
		    sizeof some) == 0);
		mem_free(all);
	}
}

static void look_at_row(const struct talk *t, const struct talk_message *m)
{
	uint8_t *const body = malloc(m->len + 1);
	struct talk_row row;

	assert(body != NULL);
	memcpy(body, m->body, m->len);
	if (talk_parse_row(t, body, m->len, &row) == 0)
		look_at_values(&row, (char *)body, m->len);
	free(body);
}

static void listen_to(struct talk *t)
{
	struct talk_message m;
	bool learned = false;
	struct err e;

	while (talk_next(t, &m, &e) == 0) {
		if (m.type == BE_ROW_DESCRIPTION)
			learned = talk_learn_columns(t, &m, &e) == 0;
		if (m.type == BE_DATA_ROW && learned)
			look_at_row(t, &m);
	}
	assert(memchr(e.text, '\0', sizeof e.text) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct talk t = { .sock = -1 };
	int pair[2];

	if (size > SIZE_MAX_HERE)
		return 0;
	assert(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	t.sock = pair[0];
	assert(fdpass_ask_sender(t.sock) == 0);
	assert(send(pair[1], data, size, 0) == (ssize_t)size);
	close(pair[1]);
	listen_to(&t);
	talk_fini(&t);
	return 0;
}
