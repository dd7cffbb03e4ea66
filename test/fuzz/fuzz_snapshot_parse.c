/* fuzz_snapshot_parse.c - the state of a session, as another process sends it.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "proto/params.h"
#include "transfer/snapshot_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk_pairs(struct reader *list)
{
	struct params_pair pair;

	while (params_list_next(list, &pair))
		assert(strlen(pair.name) < 1u << 30);
	assert(!list->failed && reader_left(list) == 0);
}

/* Sums all bytes, so that a wrong length is seen. */
static size_t touch(const uint8_t *p, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += p[i];
	return sum;
}

static void walk_statements(struct reader *list)
{
	struct snapshot_statement in;

	while (snapshot_next_statement(list, &in))
		assert(touch(in.body, in.len) <= 255 * (size_t)in.len);
	assert(!list->failed && reader_left(list) == 0);
}

static void walk_owed(struct reader *list)
{
	struct snapshot_owed in;

	while (snapshot_next_owed(list, &in)) {
		if (in.has_op)
			assert(strlen(in.of.name) < 1u << 30);
		if (in.has_statement)
			assert(touch(in.of.body, in.of.len) <=
			    255 * (size_t)in.of.len);
	}
	assert(!list->failed && reader_left(list) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct snapshot_client c;
	struct snapshot_server s;
	struct err e;

	if (snapshot_parse_client(data, size, &c, &e) == 0) {
		walk_pairs(&c.params);
		walk_statements(&c.statements);
		(void)touch(c.key, c.key_len);
		(void)touch(c.carry, c.carry_len);
		(void)touch(c.queued, c.queued_len);
		(void)touch(c.channels.at, reader_left(&c.channels));
		(void)touch(c.heard, c.heard_len);
	}
	if (snapshot_parse_server(data, size, &s, &e) == 0) {
		walk_pairs(&s.params);
		walk_statements(&s.statements);
		walk_pairs(&s.welcome_params);
		walk_pairs(&s.origin);
		(void)touch(s.key, s.key_len);
		(void)touch(s.welcome, s.welcome_len);
		(void)touch(s.carry, s.carry_len);
		(void)touch(s.queued, s.queued_len);
		walk_owed(&s.owed);
		assert(strlen(s.address) < size);
	}
	return 0;
}
