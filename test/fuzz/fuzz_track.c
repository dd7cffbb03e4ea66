/* fuzz_track.c - requests and replies in any order keep the track sound.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/msg.h"
#include "proto/track.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OPS 4096

struct ops_seen {
	unsigned char ended[OPS];
};

static void on_end(void *op, void *arg)
{
	unsigned char *const ended = op;

	(void)arg;
	assert(*ended == 0);	/* once only */
	*ended = 1;
}

/* Requests are ^, ? or ! (forward, skip, fake) and a type; else a reply. */
static bool is_request(uint8_t c, enum track_how *how)
{
	*how = c == '^' ? TRACK_FORWARD : c == '?' ? TRACK_SKIP : TRACK_FAKE;
	return c == '^' || c == '?' || c == '!';
}

static void check(struct track *t)
{
	const bool ends = track_awaits_ready(t);

	while (track_fake(t) != 0)
		;
	assert(!ends || !track_is_empty(t));
	assert(t->count <= t->size);
	assert(!track_is_done(t) || (track_is_empty(t) && t->ready));
	assert(!t->aborted || track_is_empty(t) || t->uncertain);
	assert(!t->uncertain || t->lost || !track_is_empty(t));
}

/* A reply, as the relay gives it to the track. */
static void play(struct track *t, char type, char status)
{
	if (t->uncertain)
		track_settle(t, type);
	(void)track_reply(t, type, status);
	if (!track_wants_probe(t))
		return;
	assert(t->uncertain && !t->aborted && !track_wants_probe(t));
	assert(track_add(t, FE_CLOSE, TRACK_SKIP, NULL) == 0);
	assert(track_add(t, FE_SYNC, TRACK_SKIP, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct track_ops ops = { on_end, on_end };
	struct ops_seen seen = { { 0 } };
	struct track t;
	unsigned used = 0;
	enum track_how how;

	track_init(&t, &ops, NULL);
	for (size_t i = 0; i + 1 < size && used < OPS; i += 2) {
		char type = (char)data[i + 1];
		const bool request = is_request(data[i], &how);

		if (request && how == TRACK_FAKE && type != FE_CLOSE)
			type = FE_PARSE;	/* there are two kinds */
		if (request)
			assert(track_add(&t, type, how,
			    &seen.ended[used++]) == 0);
		else
			play(&t, (char)data[i], type);
		check(&t);
	}
	track_fini(&t);
	assert(track_is_empty(&t) && track_bytes(&t) == 0);
	/* ops end once each, but for those of ignored CopyDone, CopyFail */
	for (unsigned i = 0, n = 0; i < used; n++)
		if (n * 2 + 1 < size && is_request(data[n * 2], &how)) {
			const char type = (char)data[n * 2 + 1];

			assert(seen.ended[i++] == 1 || type == FE_COPY_DONE ||
			    type == FE_COPY_FAIL);
		}
	return 0;
}
