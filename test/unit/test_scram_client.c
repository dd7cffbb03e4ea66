/* test_scram_client.c - a client facing a hostile server.
 * SPDX-License-Identifier: ISC */
#include "scram_test.h"

/* The client's side of RFC 7677's example, up to the proof. */
static void begin_rfc_client(struct scram_client *c)
{
	memset(c, 0, sizeof *c);
	c->step = SCRAM_FIRST_SENT;
	snprintf(c->nonce, sizeof c->nonce, "%s", "rOprNGfwEbeRWgbNEkqO");
	c->client_first_bare = mem_strdup(RFC_FIRST_BARE);
	assert_non_null(c->client_first_bare);
}

static void test_client_sends_the_proof_of_rfc_7677(void **state)
{
	struct scram_client c;
	struct scram_keys k;
	struct err e;

	(void)state;
	begin_rfc_client(&c);
	assert_int_equal(scram_client_challenge(&c, RFC_SERVER_FIRST,
			     strlen(RFC_SERVER_FIRST), &e),
	    0);
	assert_int_equal(c.iterations, 4096);
	assert_int_equal(scram_keys_derive(&k, PASSWORD, c.salt, c.salt_len,
			     c.iterations),
	    0);
	char *final = scram_client_final(&c, &k);
	assert_string_equal(final, RFC_FINAL_BARE "," RFC_PROOF);
	assert_int_equal(scram_client_verify(&c, RFC_SERVER_FINAL,
			     strlen(RFC_SERVER_FINAL), &e),
	    0);
	assert_true(scram_client_is_done(&c));
	mem_free(final);
	scram_client_fini(&c);
}

static void begin_client(struct scram_client *c)
{
	memset(c, 0, sizeof *c);
	char *first = scram_client_first(c);
	assert_non_null(first);
	assert_true(strncmp(first, "n,,n=,r=", 8) == 0);
	assert_string_equal(first + 8, c->nonce);
	mem_free(first);
}

/* '@' in fmt stands for our nonce. */
static int challenge(struct scram_client *c, const char *fmt)
{
	struct err e = { 0 };
	char in[512];

	begin_client(c);
	const char *nonce = strchr(fmt, '@');
	if (nonce == NULL)
		snprintf(in, sizeof in, "%s", fmt);
	else
		snprintf(in, sizeof in, "%.*s%s%s", (int)(nonce - fmt), fmt,
		    c->nonce, nonce + 1);
	const int rc = scram_client_challenge(c, in, strlen(in), &e);
	if (rc != 0) {
		expect_error(&e, "08P01");
		assert_int_equal(c->step, SCRAM_FAILED);
	}
	return rc;
}

static void test_malformed_challenge_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"r",
		"r=",
		"r=@",
		"r=@x",
		"r=@x,",
		"r=@x,s",
		"r=@x,s=",
		"r=@x,s=AAAA",
		"r=@x,s=AAAA,",
		"r=@x,s=AAAA,i",
		"r=@x,s=AAAA,i=",
		/* a nonce that is only ours, not ours, not printable */
		"r=@,s=AAAA,i=1",
		"r=x,s=AAAA,i=1",
		"r=x@,s=AAAA,i=1",
		"r=,s=AAAA,i=1",
		"r=@ ,s=AAAA,i=1",
		"r=@\x7f,s=AAAA,i=1",
		"r=@\xc3\xa9,s=AAAA,i=1",
		/* salt */
		"r=@x,s=,i=1",
		"r=@x,s=AAA,i=1",
		"r=@x,s=AA=A,i=1",
		"r=@x,s=====,i=1",
		"r=@x,s=A*AA,i=1",
		"r=@x,s=AAAA\n,i=1",
		/* iterations */
		"r=@x,s=AAAA,i=0",
		"r=@x,s=AAAA,i=-1",
		"r=@x,s=AAAA,i=+1",
		"r=@x,s=AAAA,i= 1",
		"r=@x,s=AAAA,i=1 ",
		"r=@x,s=AAAA,i=01",
		"r=@x,s=AAAA,i=0x1",
		"r=@x,s=AAAA,i=1e3",
		"r=@x,s=AAAA,i=x",
		"r=@x,s=AAAA,i=10000001",
		"r=@x,s=AAAA,i=4294967297",
		"r=@x,s=AAAA,i=99999999999999999999",
		/* order, garbage, extensions, errors */
		"r=@x,i=1,s=AAAA",
		"s=AAAA,r=@x,i=1",
		"r=@x,s=AAAA,i=1,",
		"r=@x,s=AAAA,i=1,x=y",
		"r=@x,s=AAAA,i=1\n",
		"m=x,r=@x,s=AAAA,i=1",
		"e=other-error",
		"v=AAAA",
		"r=@x,,s=AAAA,i=1",
	};
	struct scram_client c;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(challenge(&c, bad[i]), -1);
		assert_null(scram_client_final(&c, &c.keys));
		scram_client_fini(&c);
	}
}

static void test_smallest_and_largest_challenge_are_accepted(void **state)
{
	struct scram_client c;

	(void)state;
	assert_int_equal(challenge(&c, "r=@x,s=AA==,i=1"), 0);
	assert_int_equal(c.salt_len, 1);
	assert_int_equal(c.iterations, 1);
	scram_client_fini(&c);
	assert_int_equal(challenge(&c, "r=@x,s=AAAA,i=1000000"), 0);
	assert_int_equal(c.iterations, SCRAM_ITERATIONS_MAX);
	scram_client_fini(&c);
}

static void test_challenge_with_a_nul_is_refused(void **state)
{
	struct scram_client c;
	struct err e;

	(void)state;
	begin_client(&c);
	char *in = format("r=%sx,s=AAAA,i=1", c.nonce);
	assert_int_equal(scram_client_challenge(&c, in, strlen(in) + 1, &e),
	    -1);
	expect_error(&e, "08P01");
	mem_free(in);
	scram_client_fini(&c);
}

/* CVE-2026-6665: a server's nonce may be as long as a message. */
static void test_long_server_nonce_passes_and_a_longer_one_fails(void **state)
{
	struct scram_client c;
	struct err e;
	size_t passed = 0;

	(void)state;
	for (size_t n = 1; n < 2 * SCRAM_MESSAGE_MAX; n += 101) {
		begin_client(&c);
		char *tail = repeat('x', n);
		char *in = format("r=%s%s,s=AAAA,i=1", c.nonce, tail);
		if (scram_client_challenge(&c, in, strlen(in), &e) == 0) {
			struct scram_keys k = { 0 };
			char *final = scram_client_final(&c, &k);
			assert_non_null(final);
			assert_non_null(strstr(final, tail));
			mem_free(final);
			passed = n;
		}
		mem_free(in);
		mem_free(tail);
		scram_client_fini(&c);
	}
	assert_true(passed > SCRAM_MESSAGE_MAX - 200);
	assert_true(passed < SCRAM_MESSAGE_MAX);
}

static void test_salt_of_a_challenge_is_bounded(void **state)
{
	static const uint8_t salt[SCRAM_SALT_MAX + 1];
	char text[CRYPTO_BASE64_SIZE(sizeof salt)];
	struct scram_client c;
	struct err e;

	(void)state;
	for (size_t n = SCRAM_SALT_MAX; n <= sizeof salt; n++) {
		crypto_base64_encode(salt, n, text);
		begin_client(&c);
		char *in = format("r=%sx,s=%s,i=1", c.nonce, text);
		assert_int_equal(scram_client_challenge(&c, in, strlen(in), &e),
		    n == SCRAM_SALT_MAX ? 0 : -1);
		mem_free(in);
		scram_client_fini(&c);
	}
}

/* A client that has sent its proof. */
static void begin_client_final(struct scram_client *c)
{
	begin_rfc_client(c);
	struct scram_keys k;
	struct err e;

	assert_int_equal(scram_client_challenge(c, RFC_SERVER_FIRST,
			     strlen(RFC_SERVER_FIRST), &e),
	    0);
	assert_int_equal(scram_keys_derive(&k, PASSWORD, c->salt, c->salt_len,
			     c->iterations),
	    0);
	char *final = scram_client_final(c, &k);
	assert_non_null(final);
	mem_free(final);
}

static void test_wrong_server_final_is_refused(void **state)
{
	static const struct {
		const char *in, *code;
	} bad[] = {
		{ "", "08P01" },
		{ "v", "08P01" },
		{ "v=", "08P01" },
		{ "v=AAAA", "08P01" },
		{ "v=" PROOF, "28P01" },
		{ "v=" PROOF "AAAA", "08P01" },
		{ RFC_SERVER_FINAL ",", "08P01" },
		{ RFC_SERVER_FINAL ",x=y", "08P01" },
		{ RFC_SERVER_FINAL "\n", "08P01" },
		{ "x=y," RFC_SERVER_FINAL, "08P01" },
		{ "e=invalid-proof", "08P01" },
		{ "e=other-error," RFC_SERVER_FINAL, "08P01" },
		{ "e=", "08P01" },
		{ "e", "08P01" },
		{ RFC_SERVER_FIRST, "08P01" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct scram_client c;
		struct err e = { 0 };

		begin_client_final(&c);
		assert_int_equal(scram_client_verify(&c, bad[i].in,
				     strlen(bad[i].in), &e),
		    -1);
		expect_error(&e, bad[i].code);
		assert_false(scram_client_is_done(&c));
		/* the right one comes too late */
		assert_int_equal(scram_client_verify(&c, RFC_SERVER_FINAL,
				     strlen(RFC_SERVER_FINAL), &e),
		    -1);
		scram_client_fini(&c);
	}
}

static void test_server_error_is_named_only_when_printable(void **state)
{
	struct scram_client c;
	struct err e;

	(void)state;
	begin_client_final(&c);
	assert_int_equal(scram_client_verify(&c, "e=invalid-proof", 15, &e),
	    -1);
	assert_non_null(strstr(e.text, ": invalid-proof"));
	scram_client_fini(&c);

	begin_client_final(&c);
	assert_int_equal(scram_client_verify(&c, "e=a\nFATAL: b", 12, &e), -1);
	assert_null(strstr(e.text, "FATAL"));
	scram_client_fini(&c);
}

static void test_server_final_with_a_nul_or_too_long_is_refused(void **state)
{
	struct scram_client c;
	struct err e;

	(void)state;
	begin_client_final(&c);
	assert_int_equal(scram_client_verify(&c, RFC_SERVER_FINAL,
			     sizeof RFC_SERVER_FINAL, &e),
	    -1);
	expect_error(&e, "08P01");
	scram_client_fini(&c);

	char *in = repeat('e', SCRAM_MESSAGE_MAX + 1);
	in[1] = '=';
	begin_client_final(&c);
	assert_int_equal(scram_client_verify(&c, in, strlen(in), &e), -1);
	assert_string_equal(e.text, "SCRAM message too long");
	scram_client_fini(&c);
	mem_free(in);
}

static void test_client_refuses_messages_out_of_order(void **state)
{
	struct scram_client c = { 0 };
	struct scram_keys k = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(scram_client_challenge(&c, RFC_SERVER_FIRST,
			     strlen(RFC_SERVER_FIRST), &e),
	    -1);
	expect_error(&e, "08P01");
	assert_null(scram_client_first(&c));
	scram_client_fini(&c);

	assert_null(scram_client_final(&c, &k));
	scram_client_fini(&c);

	assert_int_equal(scram_client_verify(&c, RFC_SERVER_FINAL,
			     strlen(RFC_SERVER_FINAL), &e),
	    -1);
	scram_client_fini(&c);

	/* AuthenticationSASLFinal right after the challenge */
	begin_rfc_client(&c);
	assert_int_equal(scram_client_challenge(&c, RFC_SERVER_FIRST,
			     strlen(RFC_SERVER_FIRST), &e),
	    0);
	assert_int_equal(scram_client_verify(&c, RFC_SERVER_FINAL,
			     strlen(RFC_SERVER_FINAL), &e),
	    -1);
	assert_null(scram_client_final(&c, &k));
	scram_client_fini(&c);
}

static void test_client_refuses_repeated_messages(void **state)
{
	struct scram_client c;
	struct scram_keys k = { 0 };
	struct err e;

	(void)state;
	begin_client(&c);
	assert_null(scram_client_first(&c));
	scram_client_fini(&c);

	begin_rfc_client(&c);
	assert_int_equal(scram_client_challenge(&c, RFC_SERVER_FIRST,
			     strlen(RFC_SERVER_FIRST), &e),
	    0);
	assert_int_equal(scram_client_challenge(&c, RFC_SERVER_FIRST,
			     strlen(RFC_SERVER_FIRST), &e),
	    -1);
	assert_null(scram_client_final(&c, &k));
	scram_client_fini(&c);

	begin_client_final(&c);
	assert_null(scram_client_final(&c, &k));
	scram_client_fini(&c);

	begin_client_final(&c);
	assert_int_equal(scram_client_verify(&c, RFC_SERVER_FINAL,
			     strlen(RFC_SERVER_FINAL), &e),
	    0);
	assert_int_equal(scram_client_verify(&c, RFC_SERVER_FINAL,
			     strlen(RFC_SERVER_FINAL), &e),
	    -1);
	assert_false(scram_client_is_done(&c));
	scram_client_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client_sends_the_proof_of_rfc_7677),
		cmocka_unit_test(test_malformed_challenge_is_refused),
		cmocka_unit_test(
		    test_smallest_and_largest_challenge_are_accepted),
		cmocka_unit_test(test_challenge_with_a_nul_is_refused),
		cmocka_unit_test(
		    test_long_server_nonce_passes_and_a_longer_one_fails),
		cmocka_unit_test(test_salt_of_a_challenge_is_bounded),
		cmocka_unit_test(test_wrong_server_final_is_refused),
		cmocka_unit_test(
		    test_server_error_is_named_only_when_printable),
		cmocka_unit_test(
		    test_server_final_with_a_nul_or_too_long_is_refused),
		cmocka_unit_test(test_client_refuses_messages_out_of_order),
		cmocka_unit_test(test_client_refuses_repeated_messages),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
