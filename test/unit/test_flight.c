/* test_flight.c - which requests go with SETs, and in what wrapping.
 * SPDX-License-Identifier: ISC */
#include "relay_test.h"

#include "session/flight.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The first request of these bytes: how many bytes of it fly? */
static size_t flies_of(const char *script, size_t cut)
{
	char bytes[SCRIPT_BYTES];
	const size_t n = script_write(script, bytes);
	struct burst ahead = { (uint8_t *)bytes, n - cut };
	struct flight *f = flight_new(&house.c[0], &house.s[0], &ahead);
	const size_t len = f == NULL ? 0 : f->len;

	if (f != NULL)
		assert_memory_equal(f->bytes, bytes, len);
	flight_free(&f);
	return len;
}

static size_t flies(const char *script)
{
	return flies_of(script, 0);
}

static void lend(void)
{
	(void)pair();
	house.pool.limits.state = STATE_KEEP;
}

static size_t size_of(const char *script)
{
	char bytes[SCRIPT_BYTES];

	return script_write(script, bytes);
}

static void test_one_request_flies_up_to_its_end(void **state)
{
	static const char *const first[] = {
		"Q[select 1|]", "Q[rollback; insert into t values (1)|]",
		"Q[set work_mem = '1MB'|]", "Q[vacuum|]", "S[]",
		"P[|select 1|||]B[||||||||]D[P|]E[||||||]S[]",
		"P[s|insert into t values (1)|||]S[]", "B[|s||||||]E[||||||]S[]",
		"C[Ss|]S[]", "P[|select 1|||]H[]B[||||||||]E[||||||]S[]",
	};
	char more[SCRIPT_BYTES];

	(void)state;
	lend();
	for (size_t i = 0; i < COUNT(first); i++) {
		assert_int_equal(flies(first[i]), size_of(first[i]));
		snprintf(more, sizeof more, "%s%s", first[i], "Q[select 2|]");
		assert_int_equal(flies(more), size_of(first[i]));
		assert_int_equal(flies_of(first[i], 1), 0);
	}
}

static void test_what_cannot_fly(void **state)
{
	static const char *const first[] = {
		"", "H[]", "Q[]", "F[||||||||||]", "X[]", "d[x]", "c[]",
		/* data of a COPY would have the Sync in it */
		"Q[copy t from stdin|]", "Q[select 1; COPY t from stdin|]",
		/* no text, or more than one */
		"Q[select 1]", "Q[select 1|select 2|]", "P[s]S[]", "P[s|select]S[]",
		/* what changes what its client has */
		"Q[reset all|]", "Q[discard all|]", "Q[deallocate s|]",
		"Q[select 1; reset work_mem|]", "Q[set work_mem to default|]",
		"P[|reset all|||]B[||||||||]E[||||||]S[]",
		"P[|select 1|||]P[|discard all|||]S[]",
		"P[|deallocate s|||]B[||||||||]E[||||||]S[]",
		/* without its end */
		"P[|select 1|||]", "P[|select 1|||]B[||||||||]H[]",
		"P[|select 1|||]Q[select 2|]", "P[|select 1|||]F[||||||||||]S[]",
		"P[|select 1|||]X[]S[]",
	};

	(void)state;
	lend();
	for (size_t i = 0; i < COUNT(first); i++)
		assert_int_equal(flies(first[i]), 0);
}

static void test_long_request_does_not_fly(void **state)
{
	static const uint8_t flush[] = { FE_FLUSH, 0, 0, 0, 4 };
	static uint8_t bytes[4 * FLIGHT_MAX];
	struct burst ahead = { bytes, sizeof bytes };
	struct flight *f;

	(void)state;
	lend();
	for (uint32_t size = FLIGHT_MAX / 2; size < sizeof bytes; size *= 2) {
		memset(bytes, ' ', size);
		bytes[0] = FE_QUERY;
		msg_put_u32(bytes + 1, size - 1);
		bytes[size - 1] = '\0';
		f = flight_new(&house.c[0], &house.s[0], &ahead);
		assert_int_equal(f != NULL, size <= FLIGHT_MAX);
		flight_free(&f);
	}
	/* many small messages, with an end that is too far */
	for (size_t i = 0; i + sizeof flush <= sizeof bytes; i += sizeof flush)
		memcpy(bytes + i, flush, sizeof flush);
	bytes[2 * FLIGHT_MAX / sizeof flush * sizeof flush] = FE_SYNC;
	assert_null(flight_new(&house.c[0], &house.s[0], &ahead));
}

static void test_client_that_is_amid_something_waits(void **state)
{
	struct client *const c = &house.c[0];

	(void)state;
	lend();
	assert_true(flies("Q[select 1|]") > 0);
	c->relay.execute_holds = true;
	assert_int_equal(flies("Q[select 1|]"), 0);
	c->relay.execute_holds = false;
	c->relay.repeats = true;
	assert_int_equal(flies("Q[select 1|]"), 0);
	c->relay.repeats = false;
	c->relay.resetting = RESET_DUE;
	assert_int_equal(flies("Q[select 1|]"), 0);
	c->relay.resetting = RESET_NONE;
	c->rest.bytes = 7;
	assert_int_equal(flies("Q[select 1|]"), 0);
	c->rest.bytes = 0;
	c->replication = REPLICATION_LOGICAL;
	assert_int_equal(flies("Q[select 1|]"), 0);
	c->replication = REPLICATION_NONE;
	house.pool.limits.state = STATE_FORGET;
	assert_int_equal(flies("Q[select 1|]"), 0);
	house.pool.limits.state = STATE_CLEAN;
	assert_true(flies("Q[select 1|]") > 0);
}

static void test_sets_are_a_block_that_has_to_succeed(void **state)
{
	static const char sets[] = "SET a=1;SET b=2\0SELECT c";
	char bytes[SCRIPT_BYTES];
	struct burst ahead = { (uint8_t *)bytes,
		script_write("Q[select 1|]", bytes) };
	int ends[2];

	(void)state;
	lend();
	struct flight *f = flight_new(&house.c[0], &house.s[0], &ahead);

	assert_int_equal(flight_load(f, sets, 2), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(send(ends[0], f->sets.at, f->sets.len, 0),
	    f->sets.len);
	assert_string_equal(script_heard(ends[1]),
	    "Q[BEGIN ISOLATION LEVEL READ COMMITTED;SET a=1;SET b=2;SELECT c|]"
	    "P[|SAVEPOINT s|||]B[||||||||]E[|||||]"
	    "P[|COMMIT|||]B[||||||||]E[|||||]H[]");
	close(ends[0]);
	close(ends[1]);
	flight_free(&f);
	assert_null(f);
	flight_free(&f);
}

static void test_want_of_memory_is_told(void **state)
{
	char bytes[SCRIPT_BYTES];
	struct burst ahead = { (uint8_t *)bytes,
		script_write("Q[select 1|]", bytes) };
	unsigned long n = 0, made;
	struct flight *f;

	(void)state;
	lend();
	do {
		mem_fail_at(++n);
		f = flight_new(&house.c[0], &house.s[0], &ahead);
		const int rc = f == NULL ? -1 : flight_load(f, "SET a=1", 1);

		made = mem_fail_at(0);
		assert_int_equal(rc, made >= n ? -1 : 0);
		flight_free(&f);
	} while (made >= n);
	assert_true(n > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_request_flies_up_to_its_end),
		TEST(test_what_cannot_fly),
		TEST(test_long_request_does_not_fly),
		TEST(test_client_that_is_amid_something_waits),
		TEST(test_sets_are_a_block_that_has_to_succeed),
		TEST(test_want_of_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
