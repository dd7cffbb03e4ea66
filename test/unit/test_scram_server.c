/* test_scram_server.c - a server facing a hostile client.
 * SPDX-License-Identifier: ISC */
#include "scram_test.h"

static void test_server_accepts_the_proof_of_rfc_7677(void **state)
{
	uint8_t salt[SCRAM_SALT_BYTES];
	struct scram_server s = { .step = SCRAM_CHALLENGED, .gs2 = 'n' };
	struct scram_keys k;
	struct err e;
	char *out;

	(void)state;
	assert_int_equal(crypto_base64_decode(RFC_SALT, strlen(RFC_SALT), salt,
			     sizeof salt),
	    sizeof salt);
	assert_int_equal(scram_verifier_derive(&s.v, PASSWORD, salt,
			     sizeof salt, 4096),
	    0);
	s.nonce = mem_strdup(RFC_NONCE);
	s.auth_message = mem_strdup(RFC_FIRST_BARE "," RFC_SERVER_FIRST);
	assert_int_equal(scram_server_final(&s, RFC_FINAL_BARE "," RFC_PROOF,
			     strlen(RFC_FINAL_BARE "," RFC_PROOF), &out, &e),
	    0);
	assert_string_equal(out, RFC_SERVER_FINAL);
	assert_int_equal(scram_keys_derive(&k, PASSWORD, salt, sizeof salt,
			     4096),
	    0);
	assert_memory_equal(s.client_key, k.client_key, SHA256_BYTES);
	mem_free(out);
	scram_server_fini(&s);
}

static int server_first(struct scram_server *s, const char *in, size_t len)
{
	struct scram_verifier v;
	struct err e = { 0 };
	char *out;

	make_verifier(&v);
	memset(s, 0, sizeof *s);
	const int rc = scram_server_first(s, &v, in, len, &out, &e);
	if (rc != 0) {
		assert_null(out);
		assert_int_equal(s->step, SCRAM_FAILED);
		expect_error(&e, "08P01");
	}
	mem_free(out);
	return rc;
}

static void test_malformed_client_first_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"n",
		"n,",
		"n,,",
		"n,,n",
		"n,,n=",
		"n,,n=,",
		"n,,n=,r",
		"n,,n=,r=",
		"n,,n=,r=,",
		"n,,n=,r=abc,",
		"n,,n=,r=abc,x",
		"n,,n=,r=abc,xy",
		"n,,n=,r=abc,=",
		"n,,n=,r=abc,1=x",
		"n,,n=,r=abc,x=,",
		"n,,n=,r=abc,,x=y",
		"n,,r=abc",
		"n,,r=abc,n=",
		"n,,n=r=abc",
		"n,,n=,n=,r=abc",
		"n=,r=abc",
		"N,,n=,r=abc",
		"x,,n=,r=abc",
		",,n=,r=abc",
		"nn,n=,r=abc",
		"n;,n=,r=abc",
		"n,;n=,r=abc",
		"n ,,n=,r=abc",
		"n,,n=,r=a b",
		"n,,n=,r=a\tb",
		"n,,n=,r=a\x7f",
		"n,,n=,r=\xc3\xa9",
		"n,,n=,r=abc\n",
		/* channel binding, authorization identity, extension */
		"p=tls-server-end-point,,n=,r=abc",
		"p,,n=,r=abc",
		"n,a=joe,n=,r=abc",
		"y,a=,n=,r=abc",
		"n,,m=x,n=,r=abc",
	};
	struct scram_server s;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(server_first(&s, bad[i], strlen(bad[i])), -1);
		scram_server_fini(&s);
	}
}

static void test_client_first_with_a_nul_is_refused(void **state)
{
	static const char in[] = "n,,n=,r=abc\0def";
	struct scram_server s;

	(void)state;
	assert_int_equal(server_first(&s, in, sizeof in - 1), -1);
	scram_server_fini(&s);
	assert_int_equal(server_first(&s, "n,,n=,r=abc", 12), -1);
	scram_server_fini(&s);
}

static void test_both_flags_names_and_extensions_are_accepted(void **state)
{
	static const char *const good[] = {
		"n,,n=,r=abc",
		"y,,n=,r=abc",
		"n,,n=joe,r=abc",
		"n,,n=a=2Cb,r=!~",
		"n,,n=,r=a=b",
		"n,,n=,r=abc,x=",
		"n,,n=,r=abc,x=1,y=2",
	};
	struct scram_server s;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_int_equal(server_first(&s, good[i], strlen(good[i])), 0);
		assert_int_equal(s.gs2, good[i][0]);
		assert_int_equal(s.step, SCRAM_CHALLENGED);
		scram_server_fini(&s);
	}
}

/* CVE-2026-6664, CVE-2026-6665: lengths that others' buffers did not expect */
static void test_long_client_nonce_passes_and_a_longer_one_fails(void **state)
{
	struct scram_server s;
	size_t n = 0;

	(void)state;
	for (size_t len = 200; len < 2 * SCRAM_MESSAGE_MAX; len += 97) {
		char *nonce = repeat('x', len);
		char *in = format("n,,n=,r=%s", nonce);

		if (server_first(&s, in, strlen(in)) == 0) {
			assert_int_equal(strlen(s.nonce), len + 24);
			assert_true(strlen(in) <= SCRAM_MESSAGE_MAX);
			n = len;
		}
		scram_server_fini(&s);
		mem_free(in);
		mem_free(nonce);
	}
	assert_true(n > SCRAM_MESSAGE_MAX - 200);
	assert_true(n < SCRAM_MESSAGE_MAX);
}

/* Every prefix is refused, unless only the nonce is shorter. */
static void test_cut_client_first_is_refused_at_each_byte(void **state)
{
	static const char in[] = "y,,n=joe,r=abc";
	struct scram_server s;

	(void)state;
	for (size_t len = 0; len < sizeof in - 3; len++) {
		char *exact = mem_alloc(len); /* so ASan sees over-reads */
		memcpy(exact, in, len);
		assert_int_equal(server_first(&s, exact, len), -1);
		scram_server_fini(&s);
		mem_free(exact);
	}
}

/*
 * A client-final whose parts are given, %s in fmt being the nonce, to a server
 * that has sent its challenge; what the proof says is not reached.
 */
static void refuse_final(char gs2, const char *fmt)
{
	struct scram_server s;
	struct err e = { 0 };
	const char first[] = { gs2, ',', ',', 'n', '=', ',', 'r', '=', 'a' };
	char in[512];
	char *out;

	assert_int_equal(server_first(&s, first, sizeof first), 0);
	const char *nonce = strchr(fmt, '@');
	if (nonce == NULL)
		snprintf(in, sizeof in, "%s", fmt);
	else
		snprintf(in, sizeof in, "%.*s%s%s", (int)(nonce - fmt), fmt,
		    s.nonce, nonce + 1);
	assert_int_equal(scram_server_final(&s, in, strlen(in), &out, &e), -1);
	assert_null(out);
	expect_error(&e, "08P01");
	assert_int_equal(s.step, SCRAM_FAILED);
	scram_server_fini(&s);
}

/* '@' stands for the nonce */
static void test_malformed_client_final_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"c",
		"c=",
		"c=biws",
		"c=biws,",
		"c=biws,r=",
		"c=biws,r=@",
		"c=biws,r=@,",
		"c=biws,r=@,p",
		"c=biws,r=@,p=",
		"c=biws,r=@,p=AAAA",
		"c=biws,r=@,p=AAAA" PROOF,
		"c=biws,r=@,p=*AAA",
		"c=biws,r=@,p=" PROOF ",",
		"c=biws,r=@,p=" PROOF "=",
		"c=biws,r=@,p=" PROOF "\n",
		"c=biws,r=@,p=" PROOF ",x=y",
		"c=biws,r=@,p=" PROOF "x",
		"c=biws,r=@x,p=" PROOF,
		"c=biws,r=x@,p=" PROOF,
		"c=biws,r=a,p=" PROOF,
		"c=biws,p=" PROOF,
		"r=@,p=" PROOF,
		"r=@,c=biws,p=" PROOF,
		"c=biws,r=@,m=x,p=" PROOF,
		"c=biws,r=@,x=y",
		"c=biws,r=@,x,p=" PROOF,
		"c=,r=@,p=" PROOF,
		"c=eSws,r=@,p=" PROOF,
		"c=biw,r=@,p=" PROOF,
		"c=biwsAAAA,r=@,p=" PROOF,
		"c=cD10bHM=,r=@,p=" PROOF,
		"n,,n=,r=abc",
		"c=biws,,r=@,p=" PROOF,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		refuse_final('n', bad[i]);
}

static void test_channel_binding_must_repeat_the_flag(void **state)
{
	(void)state;
	refuse_final('y', "c=biws,r=@,p=" PROOF);
	refuse_final('n', "c=eSws,r=@,p=" PROOF);
}

/* What a client would send after server_first for that password. */
static char *final_for(const struct scram_server *s, const char *bare_first,
    const char *binding, const char *extension)
{
	struct scram_client c = { .step = SCRAM_CHALLENGED };
	char text[CRYPTO_BASE64_SIZE(SHA256_BYTES)];
	uint8_t stored[SHA256_BYTES], proof[SHA256_BYTES];
	struct scram_keys k;

	assert_non_null(strstr(s->auth_message, bare_first));
	assert_int_equal(scram_keys_derive(&k, PASSWORD, s->v.salt,
			     s->v.salt_len, s->v.iterations),
	    0);
	char *bare = format("c=%s,r=%s%s", binding, s->nonce, extension);
	char *message = format("%s,%s", s->auth_message, bare);
	assert_int_equal(crypto_sha256(k.client_key, SHA256_BYTES, stored), 0);
	assert_int_equal(crypto_hmac_sha256(stored, sizeof stored, message,
			     strlen(message), proof),
	    0);
	for (size_t i = 0; i < sizeof proof; i++)
		proof[i] ^= k.client_key[i];
	crypto_base64_encode(proof, sizeof proof, text);
	char *final = format("%s,p=%s", bare, text);
	mem_free(bare);
	mem_free(message);
	scram_client_fini(&c);
	return final;
}

static void accept_final(const char *first, const char *binding,
    const char *extension)
{
	struct scram_server s;
	struct err e = { 0 };
	char *out;

	assert_int_equal(server_first(&s, first, strlen(first)), 0);
	char *in = final_for(&s, first + 3, binding, extension);
	assert_int_equal(scram_server_final(&s, in, strlen(in), &out, &e), 0);
	assert_int_equal(s.step, SCRAM_DONE);
	mem_free(out);
	mem_free(in);
	scram_server_fini(&s);
}

static void test_right_proof_is_accepted_with_each_flag(void **state)
{
	(void)state;
	accept_final("n,,n=,r=abc", "biws", "");
	accept_final("y,,n=,r=abc", "eSws", "");
}

static void test_right_proof_over_extensions_is_accepted(void **state)
{
	(void)state;
	accept_final("n,,n=joe,r=abc,x=1", "biws", ",y=2,z=");
}

static void test_every_changed_byte_of_client_final_is_refused(void **state)
{
	static const char first[] = "n,,n=,r=abc";
	struct scram_server s;
	struct err e;
	char *out;
	size_t n = 1;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(server_first(&s, first, strlen(first)), 0);
		char *in = final_for(&s, first + 3, "biws", "");
		n = strlen(in);
		in[i] = in[i] == 'A' ? 'B' : 'A';
		assert_int_equal(scram_server_final(&s, in, n, &out, &e), -1);
		assert_null(out);
		mem_free(in);
		scram_server_fini(&s);
	}
	assert_true(n > 80);
}

static void test_client_final_with_a_nul_or_too_long_is_refused(void **state)
{
	static const char first[] = "n,,n=,r=abc";
	struct scram_server s;
	struct err e;
	char *out;

	(void)state;
	assert_int_equal(server_first(&s, first, strlen(first)), 0);
	char *in = final_for(&s, first + 3, "biws", "");
	assert_int_equal(scram_server_final(&s, in, strlen(in) + 1, &out, &e),
	    -1);
	expect_error(&e, "08P01");
	mem_free(in);
	scram_server_fini(&s);

	char *padding = repeat('x', SCRAM_MESSAGE_MAX);
	char *extension = format(",x=%s", padding);
	assert_int_equal(server_first(&s, first, strlen(first)), 0);
	in = final_for(&s, first + 3, "biws", extension);
	assert_int_equal(scram_server_final(&s, in, strlen(in), &out, &e), -1);
	expect_error(&e, "08P01");
	mem_free(in);
	mem_free(extension);
	mem_free(padding);
	scram_server_fini(&s);
}

static void test_server_refuses_messages_out_of_order(void **state)
{
	static const char first[] = "n,,n=,r=abc";
	struct scram_server s = { 0 };
	struct scram_verifier v;
	struct err e;
	char *out;

	(void)state;
	make_verifier(&v);
	/* final before first */
	assert_int_equal(scram_server_final(&s, "c=biws", 6, &out, &e), -1);
	assert_int_equal(s.step, SCRAM_FAILED);
	/* and no way back */
	assert_int_equal(scram_server_first(&s, &v, first, strlen(first), &out,
			     &e),
	    -1);
	expect_error(&e, "08P01");
	scram_server_fini(&s);

	/* first twice: not even the right proof helps then */
	assert_int_equal(server_first(&s, first, strlen(first)), 0);
	char *in = final_for(&s, first + 3, "biws", "");
	assert_int_equal(scram_server_first(&s, &v, first, strlen(first), &out,
			     &e),
	    -1);
	assert_null(out);
	assert_int_equal(scram_server_final(&s, in, strlen(in), &out, &e), -1);
	assert_null(out);
	mem_free(in);
	scram_server_fini(&s);
}

static void test_server_refuses_a_second_client_final(void **state)
{
	static const char first[] = "n,,n=,r=abc";
	struct scram_server s;
	struct err e;
	char *out;

	(void)state;
	assert_int_equal(server_first(&s, first, strlen(first)), 0);
	char *in = final_for(&s, first + 3, "biws", "");
	assert_int_equal(scram_server_final(&s, in, strlen(in), &out, &e), 0);
	mem_free(out);
	assert_int_equal(scram_server_final(&s, in, strlen(in), &out, &e), -1);
	assert_null(out);
	assert_int_equal(s.step, SCRAM_FAILED);
	mem_free(in);
	scram_server_fini(&s);

	/* a wrong proof is not forgiven either */
	assert_int_equal(server_first(&s, first, strlen(first)), 0);
	in = final_for(&s, first + 3, "biws", "");
	assert_int_equal(scram_server_final(&s, "c=biws", 6, &out, &e), -1);
	assert_int_equal(scram_server_final(&s, in, strlen(in), &out, &e), -1);
	mem_free(in);
	scram_server_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_server_accepts_the_proof_of_rfc_7677),
		cmocka_unit_test(test_malformed_client_first_is_refused),
		cmocka_unit_test(test_client_first_with_a_nul_is_refused),
		cmocka_unit_test(
		    test_both_flags_names_and_extensions_are_accepted),
		cmocka_unit_test(
		    test_long_client_nonce_passes_and_a_longer_one_fails),
		cmocka_unit_test(test_cut_client_first_is_refused_at_each_byte),
		cmocka_unit_test(test_malformed_client_final_is_refused),
		cmocka_unit_test(test_channel_binding_must_repeat_the_flag),
		cmocka_unit_test(test_right_proof_is_accepted_with_each_flag),
		cmocka_unit_test(test_right_proof_over_extensions_is_accepted),
		cmocka_unit_test(
		    test_every_changed_byte_of_client_final_is_refused),
		cmocka_unit_test(
		    test_client_final_with_a_nul_or_too_long_is_refused),
		cmocka_unit_test(test_server_refuses_messages_out_of_order),
		cmocka_unit_test(test_server_refuses_a_second_client_final),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
