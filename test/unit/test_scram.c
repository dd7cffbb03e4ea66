/* test_scram.c - our SCRAM-SHA-256 client against our server.
 * SPDX-License-Identifier: ISC */
#include "scram_test.h"

/* Both sides of one exchange and what they said last; heap strings. */
struct exchange {
	struct scram_verifier v;
	struct scram_server s;
	struct scram_client c;
	struct scram_keys k;
	struct err e;
	char *client_first, *server_first, *client_final, *server_final;
};

static void exchange_fini(struct exchange *x)
{
	scram_server_fini(&x->s);
	scram_client_fini(&x->c);
	mem_free(x->client_first);
	mem_free(x->server_first);
	mem_free(x->client_final);
	mem_free(x->server_final);
}

/* As far as it gets; 0 when both sides are done. */
static int exchange_run(struct exchange *x, const char *password)
{
	if ((x->client_first = scram_client_first(&x->c)) == NULL)
		return -1;
	if (scram_server_first(&x->s, &x->v, x->client_first,
		strlen(x->client_first), &x->server_first, &x->e) != 0)
		return -1;
	if (scram_client_challenge(&x->c, x->server_first,
		strlen(x->server_first), &x->e) != 0)
		return -1;
	if (scram_keys_derive(&x->k, password, x->c.salt, x->c.salt_len,
		x->c.iterations) != 0)
		return -1;
	if ((x->client_final = scram_client_final(&x->c, &x->k)) == NULL)
		return -1;
	if (scram_server_final(&x->s, x->client_final, strlen(x->client_final),
		&x->server_final, &x->e) != 0)
		return -1;
	return scram_client_verify(&x->c, x->server_final,
	    strlen(x->server_final), &x->e);
}

static const struct scram_binding certificate = { 32, "of a certificate" };

static void test_both_bind_to_the_same_certificate(void **state)
{
	struct exchange x = { .s.plus = true };

	(void)state;
	make_verifier(&x.v);
	x.s.binding = x.c.binding = certificate;
	assert_int_equal(exchange_run(&x, PASSWORD), 0);
	assert_int_equal(x.s.gs2, 'p');
	assert_memory_equal(x.client_first, "p=tls-server-end-point,,n=,", 27);
	exchange_fini(&x);
}

/* somebody stands between them */
static void test_another_certificate_is_refused(void **state)
{
	struct exchange x = { .s.plus = true };

	(void)state;
	make_verifier(&x.v);
	x.s.binding = x.c.binding = certificate;
	x.c.binding.bytes[31] ^= 1;
	assert_int_equal(exchange_run(&x, PASSWORD), -1);
	assert_string_equal(x.e.text,
	    "SCRAM channel binding does not match the flag");
	exchange_fini(&x);
}

/* RFC 5802 §6: our offer was taken out of the list on its way */
static void test_downgrade_is_noticed(void **state)
{
	struct exchange x = { .c.unbound = true };

	(void)state;
	make_verifier(&x.v);
	x.s.binding = certificate;
	assert_int_equal(exchange_run(&x, PASSWORD), -1);
	assert_memory_equal(x.client_first, "y,,", 3);
	assert_string_equal(x.e.text, "client thinks that we don't support "
	    "SCRAM channel binding, but we do");
	exchange_fini(&x);

	/* fine where nothing was offered */
	x = (struct exchange){ .c.unbound = true };
	make_verifier(&x.v);
	assert_int_equal(exchange_run(&x, PASSWORD), 0);
	exchange_fini(&x);
}

/* the mechanism and the flag must say the same */
static void test_binding_and_mechanism_belong_together(void **state)
{
	struct exchange x = { .s.plus = true };

	(void)state;
	make_verifier(&x.v);
	x.s.binding = certificate;
	assert_int_equal(exchange_run(&x, PASSWORD), -1);
	assert_string_equal(x.e.text,
	    "unsupported SCRAM channel binding type");
	exchange_fini(&x);

	x = (struct exchange){ .c.binding = certificate };
	make_verifier(&x.v);
	x.s.binding = certificate;
	assert_int_equal(exchange_run(&x, PASSWORD), -1);
	assert_string_equal(x.e.text,
	    "client asks for SCRAM channel binding");
	exchange_fini(&x);

	/* who does not bind at all is let in: it is not required */
	x = (struct exchange){ .s.plus = false };
	make_verifier(&x.v);
	x.s.binding = certificate;
	assert_int_equal(exchange_run(&x, PASSWORD), 0);
	exchange_fini(&x);
}

static void test_our_client_and_server_agree_on_the_password(void **state)
{
	struct exchange x = { 0 };

	(void)state;
	make_verifier(&x.v);
	assert_int_equal(exchange_run(&x, PASSWORD), 0);
	assert_int_equal(x.s.step, SCRAM_DONE);
	assert_true(scram_client_is_done(&x.c));
	assert_memory_equal(x.s.client_key, x.k.client_key, SHA256_BYTES);
	exchange_fini(&x);
}

/* spec/authentication.md section 3.3: pass-through */
static void test_keys_learned_by_the_server_log_in_elsewhere(void **state)
{
	struct exchange x = { 0 }, y = { 0 };

	(void)state;
	make_verifier(&x.v);
	assert_int_equal(exchange_run(&x, PASSWORD), 0);
	struct scram_keys k;
	memcpy(k.client_key, x.s.client_key, SHA256_BYTES);
	memcpy(k.server_key, x.v.server_key, SHA256_BYTES);

	y.client_first = scram_client_first(&y.c);
	assert_int_equal(scram_server_first(&y.s, &x.v, y.client_first,
			     strlen(y.client_first), &y.server_first, &y.e),
	    0);
	assert_int_equal(scram_client_challenge(&y.c, y.server_first,
			     strlen(y.server_first), &y.e),
	    0);
	y.client_final = scram_client_final(&y.c, &k);
	assert_int_equal(scram_server_final(&y.s, y.client_final,
			     strlen(y.client_final), &y.server_final, &y.e),
	    0);
	assert_int_equal(scram_client_verify(&y.c, y.server_final,
			     strlen(y.server_final), &y.e),
	    0);
	exchange_fini(&x);
	exchange_fini(&y);
}

static void test_wrong_password_is_refused_and_teaches_no_key(void **state)
{
	static const uint8_t zero[SHA256_BYTES];
	struct exchange x = { 0 };

	(void)state;
	make_verifier(&x.v);
	assert_int_equal(exchange_run(&x, "pencils"), -1);
	expect_error(&x.e, "28P01");
	assert_null(x.server_final);
	assert_int_equal(x.s.step, SCRAM_FAILED);
	assert_memory_equal(x.s.client_key, zero, sizeof zero);
	exchange_fini(&x);
}

static void test_mock_verifier_lets_nobody_in(void **state)
{
	static const uint8_t seed[SHA256_BYTES];
	static const struct scram_shape shape = { ITERATIONS, 16 };
	struct exchange x = { 0 };

	(void)state;
	assert_int_equal(scram_verifier_mock(&x.v, "joe", seed, &shape), 0);
	assert_int_equal(exchange_run(&x, PASSWORD), -1);
	expect_error(&x.e, "28P01");
	exchange_fini(&x);
}

static void test_nonces_differ_in_each_exchange(void **state)
{
	struct exchange x = { 0 }, y = { 0 };

	(void)state;
	make_verifier(&x.v);
	y.v = x.v;
	assert_int_equal(exchange_run(&x, PASSWORD), 0);
	assert_int_equal(exchange_run(&y, PASSWORD), 0);
	assert_string_not_equal(x.c.nonce, y.c.nonce);
	assert_string_not_equal(x.s.nonce + strlen(x.c.nonce),
	    y.s.nonce + strlen(y.c.nonce));
	assert_int_equal(strlen(x.c.nonce), 24);
	assert_int_equal(strlen(x.s.nonce), 48);
	exchange_fini(&x);
	exchange_fini(&y);
}

static void test_longest_salt_and_iterations_pass_through(void **state)
{
	static const uint8_t salt[SCRAM_SALT_MAX] = { 1, 2, 3 };
	struct exchange x = { 0 };

	(void)state;
	assert_int_equal(scram_verifier_derive(&x.v, PASSWORD, salt,
			     sizeof salt, ITERATIONS),
	    0);
	assert_int_equal(exchange_run(&x, PASSWORD), 0);
	assert_int_equal(x.c.salt_len, SCRAM_SALT_MAX);
	assert_memory_equal(x.c.salt, salt, sizeof salt);
	exchange_fini(&x);
}

static void test_fini_wipes_every_byte_and_allows_a_new_start(void **state)
{
	static const struct scram_server zero_server;
	static const struct scram_client zero_client;
	struct exchange x = { 0 };

	(void)state;
	make_verifier(&x.v);
	assert_int_equal(exchange_run(&x, PASSWORD), 0);
	exchange_fini(&x);
	assert_memory_equal(&x.s, &zero_server, sizeof x.s);
	assert_memory_equal(&x.c, &zero_client, sizeof x.c);
	assert_int_equal(exchange_run(&x, PASSWORD), 0);
	exchange_fini(&x);
}

static unsigned long allocations_of_an_exchange(void)
{
	struct exchange x = { 0 };

	make_verifier(&x.v);
	mem_fail_at(0);
	assert_int_equal(exchange_run(&x, PASSWORD), 0);
	const unsigned long n = mem_fail_at(0);
	exchange_fini(&x);
	return n;
}

static void test_every_failed_allocation_ends_the_exchange(void **state)
{
	const unsigned long n = allocations_of_an_exchange();

	(void)state;
	assert_true(n >= 10);
	for (unsigned long nth = 1; nth <= n; nth++) {
		struct exchange x = { 0 };

		make_verifier(&x.v);
		mem_fail_at(nth);
		assert_int_equal(exchange_run(&x, PASSWORD), -1);
		mem_fail_at(0);
		assert_false(scram_client_is_done(&x.c));
		if (x.e.code[0] != '\0')
			expect_error(&x.e, "53200");
		exchange_fini(&x);
	}
}

static void test_errors_may_go_nowhere(void **state)
{
	struct scram_server s = { 0 };
	struct scram_client c = { 0 };
	char *out;

	(void)state;
	assert_int_equal(scram_server_final(&s, "", 0, &out, NULL), -1);
	assert_int_equal(scram_client_verify(&c, "", 0, NULL), -1);
	scram_server_fini(&s);
	scram_client_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_our_client_and_server_agree_on_the_password),
		cmocka_unit_test(test_both_bind_to_the_same_certificate),
		cmocka_unit_test(test_another_certificate_is_refused),
		cmocka_unit_test(test_downgrade_is_noticed),
		cmocka_unit_test(test_binding_and_mechanism_belong_together),
		cmocka_unit_test(
		    test_keys_learned_by_the_server_log_in_elsewhere),
		cmocka_unit_test(
		    test_wrong_password_is_refused_and_teaches_no_key),
		cmocka_unit_test(test_mock_verifier_lets_nobody_in),
		cmocka_unit_test(test_nonces_differ_in_each_exchange),
		cmocka_unit_test(test_longest_salt_and_iterations_pass_through),
		cmocka_unit_test(
		    test_fini_wipes_every_byte_and_allows_a_new_start),
		cmocka_unit_test(
		    test_every_failed_allocation_ends_the_exchange),
		cmocka_unit_test(test_errors_may_go_nowhere),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
