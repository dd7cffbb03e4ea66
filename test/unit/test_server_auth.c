/* test_server_auth.c - each request of a server, each kind of secret, order.
 * SPDX-License-Identifier: ISC */
#include "upstream/server_auth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "pool/credentials.h"
#include "proto/msg.h"
#include "proto/password.h"
#include "proto/scram.h"
#include "session/server.h"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))
#define USER "ann"
#define OUT_CAP 16384

/* "pencil": RFC 7677's, and md5("pencil" "ann") */
#define SCRAM_SECRET "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==" \
	"$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=" \
	":wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
static char md5_of_pencil[MD5_SECRET_LEN + 1];

#define KIND "server login failed: wrong password type"
#define ORDER "server login failed: authentication message out of order"
#define MALFORMED "server login failed: malformed authentication message"
#define UNVERIFIED "server login failed: failed to verify server signature"
#define MECHANISMS SCRAM_MECHANISM "-PLUS\0" SCRAM_MECHANISM "\0"

/* A login to a server. */
struct login {
	struct server_auth auth;
	struct credentials *credentials;	/* owned; NULL: none */
	struct writer out;
	struct scram_server server;	/* the other side, when it does SCRAM */
};

static void start(struct login *l, const char *secret)
{
	memset(l, 0, sizeof *l);
	writer_init(&l->out, OUT_CAP);
	if (secret == NULL)
		return;
	l->credentials = credentials_new(secret);
	assert_non_null(l->credentials);
}

static void finish(struct login *l)
{
	server_auth_end(&l->auth);
	assert_null(l->auth.scram);
	server_auth_end(&l->auth);
	scram_server_fini(&l->server);
	credentials_unref(&l->credentials);
	writer_fini(&l->out);
}

/* A body of exactly that size: the sanitizer sees any byte too far. */
static enum server_auth_result raw(struct login *l, const void *body,
    size_t len)
{
	uint8_t *copy = mem_dup(body, len);

	assert_non_null(copy);
	writer_fini(&l->out);
	const enum server_auth_result r = server_auth_step(&l->auth, USER,
	    l->credentials, copy, len, &l->out);

	mem_free(copy);
	return r;
}

/* The server says this; fail: which allocation of the answer fails, or 0. */
static enum server_auth_result hear_failing(struct login *l, uint32_t code,
    const void *data, size_t len, unsigned long fail)
{
	uint8_t *body = mem_alloc(4 + len);

	assert_non_null(body);
	msg_put_u32(body, code);
	if (len > 0)
		memcpy(body + 4, data, len);
	writer_fini(&l->out);
	mem_fail_at(fail);
	const enum server_auth_result r = server_auth_step(&l->auth, USER,
	    l->credentials, body, 4 + len, &l->out);

	mem_fail_at(0);
	mem_free(body);
	return r;
}

static enum server_auth_result hear(struct login *l, uint32_t code,
    const void *data, size_t len)
{
	return hear_failing(l, code, data, len, 0);
}

static enum server_auth_result hear_text(struct login *l, uint32_t code,
    const char *text)
{
	return hear(l, code, text, strlen(text));
}

static enum server_auth_result offer(struct login *l)
{
	return hear(l, MSG_AUTH_SASL, MECHANISMS, sizeof MECHANISMS);
}

static void assert_failed(const struct login *l, enum server_auth_result r,
    const char *text)
{
	assert_int_equal(r, SERVER_AUTH_FAILED);
	assert_string_equal(l->auth.error.code, "08P01");
	assert_string_equal(l->auth.error.text, text);
	assert_int_equal(l->out.len, 0);
}

/* The one message that was sent; returns its body. */
static const uint8_t *sent(const struct login *l, size_t *len)
{
	assert_false(l->out.failed);
	assert_true(l->out.len >= MSG_HEADER);
	assert_int_equal(l->out.at[0], 'p');
	assert_int_equal(msg_u32(l->out.at + 1), l->out.len - 1);
	*len = l->out.len - MSG_HEADER;
	return l->out.at + MSG_HEADER;
}

static void assert_sent(const struct login *l, const char *password)
{
	size_t len;
	const uint8_t *body = sent(l, &len);

	assert_int_equal(len, strlen(password) + 1);
	assert_memory_equal(body, password, len);
}

/* --- without SASL --- */

static void test_trusted_login_needs_nothing(void **state)
{
	struct login l;

	(void)state;
	start(&l, NULL);
	assert_int_equal(hear_text(&l, MSG_AUTH_OK, ""), SERVER_AUTH_OK);
	assert_int_equal(l.out.len, 0);
	assert_failed(&l, hear_text(&l, MSG_AUTH_OK, ""), ORDER);
	finish(&l);
}

static void test_cleartext_sends_what_is_stored(void **state)
{
	const char *const rows[] = { "pencil", md5_of_pencil, SCRAM_SECRET,
	    "", NULL };
	struct login l;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		start(&l, rows[i]);
		assert_int_equal(hear_text(&l, MSG_AUTH_CLEARTEXT, ""),
		    SERVER_AUTH_MORE);
		assert_sent(&l, rows[i] != NULL ? rows[i] : "");
		assert_int_equal(hear_text(&l, MSG_AUTH_OK, ""),
		    SERVER_AUTH_OK);
		finish(&l);
	}
}

static void test_md5_answers_the_salt(void **state)
{
	char empty[MD5_SECRET_LEN + 1], want[MD5_SECRET_LEN + 1];
	const struct {
		const char *secret, *stored;
	} rows[] = {
		{ "pencil", md5_of_pencil }, { md5_of_pencil, md5_of_pencil },
		{ "", empty }, { NULL, empty },
	};
	struct login l;

	(void)state;
	assert_int_equal(md5_secret("", USER, empty), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		start(&l, rows[i].secret);
		assert_int_equal(hear_text(&l, MSG_AUTH_MD5, "salt"),
		    SERVER_AUTH_MORE);
		assert_int_equal(md5_response(rows[i].stored,
		    (const uint8_t *)"salt", want), 0);
		assert_sent(&l, want);
		assert_int_equal(hear_text(&l, MSG_AUTH_OK, ""),
		    SERVER_AUTH_OK);
		finish(&l);
	}
}

static void test_md5_with_scram_secret_fails(void **state)
{
	struct login l;

	(void)state;
	start(&l, SCRAM_SECRET);
	assert_failed(&l, hear_text(&l, MSG_AUTH_MD5, "salt"), KIND);
	assert_string_equal(l.auth.detail,
	    "cannot do MD5 authentication: wrong password type");
	finish(&l);
}

static void test_other_methods_are_unsupported(void **state)
{
	static const uint32_t codes[] = { 1, 2, 4, 6, 7, 9, 13,
	    UINT32_MAX };
	char want[64];
	struct login l;

	(void)state;
	for (size_t i = 0; i < COUNT(codes); i++) {
		start(&l, "pencil");
		assert_failed(&l, hear_text(&l, codes[i], ""), KIND);
		snprintf(want, sizeof want,
		    "unknown/unsupported auth method: %u",
		    (unsigned)codes[i]);
		assert_string_equal(l.auth.detail, want);
		assert_failed(&l, hear_text(&l, MSG_AUTH_OK, ""), ORDER);
		finish(&l);
	}
}

static void test_malformed_requests_fail(void **state)
{
	static const struct {
		uint32_t code;
		const char *data;
		size_t len;
	} rows[] = {
		{ MSG_AUTH_OK, "x", 1 },
		{ MSG_AUTH_CLEARTEXT, "x", 1 },
		{ MSG_AUTH_MD5, "", 0 },
		{ MSG_AUTH_MD5, "sal", 3 },
		{ MSG_AUTH_MD5, "salt1", 5 },
		{ MSG_AUTH_SASL, "", 0 },
		{ MSG_AUTH_SASL, SCRAM_MECHANISM, sizeof SCRAM_MECHANISM - 1 },
		{ MSG_AUTH_SASL, SCRAM_MECHANISM, sizeof SCRAM_MECHANISM },
		{ MSG_AUTH_SASL, MECHANISMS "\0x", sizeof MECHANISMS + 2 },
	};
	struct login l;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		start(&l, "pencil");
		assert_failed(&l, hear(&l, rows[i].code, rows[i].data,
		    rows[i].len), MALFORMED);
		finish(&l);
	}
	for (size_t len = 0; len < 4; len++) {
		start(&l, "pencil");
		assert_failed(&l, raw(&l, "\0\0\0", len), MALFORMED);
		finish(&l);
	}
}

/* --- SASL --- */

static void test_sasl_needs_scram_on_the_list(void **state)
{
	static const char text[] =
	    "none of the server's SASL authentication mechanisms are supported";
	static const struct {
		const char *list;
		size_t len;
	} rows[] = {
		{ "", 1 }, { "SCRAM-SHA-256-PLUS\0", 20 },
		{ "SCRAM-SHA-1\0OAUTHBEARER\0", 25 },
	};
	const char *const secrets[] = { "pencil", md5_of_pencil, NULL };
	char want[128];
	struct login l;

	(void)state;
	snprintf(want, sizeof want, "server login failed: %s", text);
	for (size_t i = 0; i < COUNT(rows); i++) {
		for (size_t s = 0; s < COUNT(secrets); s++) {
			start(&l, secrets[s]);
			assert_failed(&l, hear(&l, MSG_AUTH_SASL,
			    rows[i].list, rows[i].len), want);
			assert_string_equal(l.auth.detail, text);
			finish(&l);
		}
	}
}

static void test_sasl_fails_with_unfit_secrets(void **state)
{
	const struct {
		const char *secret, *detail, *hint;
	} rows[] = {
		{ md5_of_pencil,
		    "cannot do SCRAM authentication: wrong password type",
		    SERVER_HINT_SECRET },
		{ SCRAM_SECRET, "cannot do SCRAM authentication: password is "
		    "SCRAM secret but client authentication did not provide "
		    "SCRAM keys", SERVER_HINT_KEYS },
	};
	struct login l;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		start(&l, rows[i].secret);
		assert_failed(&l, offer(&l), KIND);
		assert_string_equal(l.auth.detail, rows[i].detail);
		assert_string_equal(l.auth.hint, rows[i].hint);
		finish(&l);
	}
}

/* Keys as a client's SCRAM login leaves them. */
static void learn(struct login *l)
{
	const struct scram_verifier *v = credentials_verifier(l->credentials,
	    4096);
	struct scram_keys k;

	assert_non_null(v);
	assert_int_equal(scram_keys_derive(&k, "pencil", v->salt, v->salt_len,
	    v->iterations), 0);
	credentials_learn(l->credentials, k.client_key);
	assert_non_null(l->credentials->learned);
}

/* What we sent as SASLInitialResponse. */
static const char *initial_data(const struct login *l, size_t *len)
{
	struct reader r;
	size_t n;
	const uint8_t *body = sent(l, &n);

	reader_init(&r, body, n);
	assert_string_equal(reader_str(&r), SCRAM_MECHANISM);
	*len = reader_u32(&r);
	assert_int_equal(*len, reader_left(&r));
	return (const char *)reader_bytes(&r, *len);
}

static void verifier_of(const char *password, struct scram_verifier *v)
{
	/* the salt of SCRAM_SECRET: pass-through wants the same one */
	assert_int_equal(scram_verifier_parse(v, SCRAM_SECRET), 0);
	if (strcmp(password, "pencil") != 0)
		assert_int_equal(scram_verifier_derive(v, password, v->salt,
		    v->salt_len, 16), 0);
}

/* Up to the challenge of a server that knows password; heap. */
static char *make_challenge(struct login *l, const char *password)
{
	struct scram_verifier v;
	struct err e;
	size_t len;
	char *challenge;
	const char *data;

	verifier_of(password, &v);
	assert_int_equal(offer(l), SERVER_AUTH_MORE);
	data = initial_data(l, &len);
	assert_true(len > 8 && memcmp(data, "n,,n=,r=", 8) == 0);
	assert_int_equal(scram_server_first(&l->server, &v, data, len,
	    &challenge, &e), 0);
	return challenge;
}

/* Up to the server's verdict; *final is its answer, or NULL. */
static int prove(struct login *l, const char *password, char **final)
{
	char *challenge = make_challenge(l, password);
	struct err e;
	size_t len;

	assert_int_equal(hear_text(l, MSG_AUTH_SASL_CONTINUE, challenge),
	    SERVER_AUTH_MORE);
	mem_free(challenge);
	const char *data = (const char *)sent(l, &len);

	return scram_server_final(&l->server, data, len, final, &e);
}

static void test_scram_logs_in(void **state)
{
	static const char *const rows[] = { "pencil", SCRAM_SECRET };
	struct login l;
	char *final;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		start(&l, rows[i]);
		if (l.credentials->kind == SECRET_SCRAM)
			learn(&l);
		assert_int_equal(prove(&l, "pencil", &final), 0);
		assert_int_equal(hear_text(&l, MSG_AUTH_SASL_FINAL, final),
		    SERVER_AUTH_MORE);
		assert_int_equal(l.out.len, 0);
		assert_int_equal(hear_text(&l, MSG_AUTH_OK, ""),
		    SERVER_AUTH_OK);
		mem_free(final);
		finish(&l);
	}
}

/* The exchange goes on with no password; the server will say no. */
static void test_scram_without_a_secret_is_tried(void **state)
{
	static const char *const rows[] = { "", NULL };
	struct login l;
	char *final;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		start(&l, rows[i]);
		assert_int_equal(prove(&l, "pencil", &final), -1);
		assert_null(final);
		finish(&l);
	}
}

static void test_scram_with_the_wrong_password_is_refused(void **state)
{
	struct login l;
	char *final;

	(void)state;
	start(&l, "paper");
	assert_int_equal(prove(&l, "pencil", &final), -1);
	assert_null(final);
	finish(&l);
}

static void test_scram_wants_the_server_to_prove_itself(void **state)
{
	static const struct {
		const char *final, *text, *detail;
	} rows[] = {
		{ "v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
		    "server login failed: invalid server signature",
		    "invalid server signature" },
		{ "v=AAAA", UNVERIFIED, "malformed server signature" },
		{ "", UNVERIFIED, "empty SCRAM message" },
		{ "e=other-error", UNVERIFIED, "server reports an error in "
		    "SCRAM authentication: other-error" },
	};
	struct login l;
	char *final;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		start(&l, "pencil");
		assert_int_equal(prove(&l, "pencil", &final), 0);
		mem_free(final);
		assert_failed(&l, hear_text(&l, MSG_AUTH_SASL_FINAL,
		    rows[i].final), rows[i].text);
		assert_string_equal(l.auth.detail, rows[i].detail);
		assert_failed(&l, hear_text(&l, MSG_AUTH_OK, ""), ORDER);
		finish(&l);
	}
}

/* Whoever doesn't know the secret can say Ok, too. */
static void test_ok_before_the_proof_is_refused(void **state)
{
	struct login l;
	char *text;

	(void)state;
	start(&l, "pencil");
	assert_int_equal(offer(&l), SERVER_AUTH_MORE);
	assert_failed(&l, hear_text(&l, MSG_AUTH_OK, ""), UNVERIFIED);
	finish(&l);

	start(&l, "pencil");
	assert_int_equal(prove(&l, "pencil", &text), 0);
	mem_free(text);
	assert_failed(&l, hear_text(&l, MSG_AUTH_OK, ""), UNVERIFIED);
	assert_string_equal(l.auth.detail,
	    "AuthenticationOk before the server proved itself");
	finish(&l);
}

static void test_bad_challenges_fail(void **state)
{
	static const char *const rows[] = {
		"", "r=abc,s=AAAA,i=4096", "m=x", "e=no",
	};
	struct login l;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		start(&l, "pencil");
		assert_int_equal(offer(&l), SERVER_AUTH_MORE);
		assert_int_equal(hear_text(&l, MSG_AUTH_SASL_CONTINUE,
		    rows[i]), SERVER_AUTH_FAILED);
		assert_string_equal(l.auth.error.code, "08P01");
		assert_memory_equal(l.auth.error.text, "server login failed: ",
		    21);
		assert_string_equal(l.auth.error.text + 21, l.auth.detail);
		finish(&l);
	}
}

/* CVE-2026-6665: a nonce that is longer than any buffer of ours. */
static void test_long_nonce_of_the_server_is_refused(void **state)
{
	char *text = mem_alloc(60001);
	struct login l;

	(void)state;
	assert_non_null(text);
	memset(text, 'a', 60000);
	memcpy(text, "r=", 2);
	text[60000] = '\0';
	start(&l, "pencil");
	assert_int_equal(offer(&l), SERVER_AUTH_MORE);
	assert_failed(&l, hear_text(&l, MSG_AUTH_SASL_CONTINUE, text),
	    "server login failed: SCRAM message too long");
	finish(&l);
	mem_free(text);
}

static void test_changed_secret_between_messages_fails(void **state)
{
	struct login l;

	(void)state;
	start(&l, "pencil");
	char *challenge = make_challenge(&l, "pencil");

	credentials_unref(&l.credentials);
	l.credentials = credentials_new(md5_of_pencil);
	assert_failed(&l, hear_text(&l, MSG_AUTH_SASL_CONTINUE, challenge),
	    KIND);
	mem_free(challenge);
	finish(&l);
}

/* --- order --- */

/* Brings l to a step, as far as at says, with a good server. */
enum at { AT_START, AT_ANSWERED, AT_FIRST, AT_FINAL, AT_VERIFIED, AT_OVER };

static void advance(struct login *l, enum at at)
{
	char *final;

	if (at == AT_ANSWERED)
		hear_text(l, MSG_AUTH_CLEARTEXT, "");
	if (at == AT_FIRST)
		offer(l);
	if (at == AT_FINAL || at == AT_VERIFIED) {
		assert_int_equal(prove(l, "pencil", &final), 0);
		if (at == AT_VERIFIED)
			hear_text(l, MSG_AUTH_SASL_FINAL, final);
		mem_free(final);
	}
	if (at == AT_OVER)
		hear_text(l, MSG_AUTH_OK, "");
}

static void test_nothing_is_asked_twice_or_too_early(void **state)
{
	static const struct {
		uint32_t code;
		const char *data;
		unsigned steps;	/* bits: where it is in order */
	} rows[] = {
		{ MSG_AUTH_CLEARTEXT, "", 1 << AT_START },
		{ MSG_AUTH_MD5, "salt", 1 << AT_START },
		{ MSG_AUTH_SASL, "", 1 << AT_START },
		{ MSG_AUTH_GSS, "", 1 << AT_START },
		{ MSG_AUTH_GSS_CONTINUE, "x", 0 },
		{ MSG_AUTH_SASL_CONTINUE, "x", 1 << AT_FIRST },
		{ MSG_AUTH_SASL_FINAL, "x", 1 << AT_FINAL },
	};
	struct login l;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		for (int at = AT_START; at <= AT_OVER; at++) {
			if (rows[i].steps & 1u << at)
				continue;
			start(&l, "pencil");
			advance(&l, (enum at)at);
			assert_failed(&l, hear_text(&l, rows[i].code,
			    rows[i].data), ORDER);
			finish(&l);
		}
	}
}

static void test_end_ends_it(void **state)
{
	struct login l;

	(void)state;
	start(&l, "pencil");
	server_auth_end(&l.auth);
	assert_failed(&l, hear_text(&l, MSG_AUTH_OK, ""), ORDER);
	finish(&l);
}

/* --- no memory --- */

static void assert_no_memory(const struct login *l, enum server_auth_result r)
{
	assert_int_equal(r, SERVER_AUTH_FAILED);
	assert_string_equal(l->auth.error.code, "53200");
}

static void test_no_memory_for_a_password_fails(void **state)
{
	struct login l;

	(void)state;
	start(&l, "pencil");
	assert_no_memory(&l, hear_failing(&l, MSG_AUTH_CLEARTEXT, "", 0, 1));
	finish(&l);
	start(&l, "pencil");
	assert_no_memory(&l, hear_failing(&l, MSG_AUTH_MD5, "salt", 4, 1));
	finish(&l);
}

static void test_no_memory_for_the_first_message_fails(void **state)
{
	enum server_auth_result r = SERVER_AUTH_FAILED;
	struct login l;
	unsigned long n = 0;

	(void)state;
	while (r != SERVER_AUTH_MORE) {
		start(&l, "pencil");
		r = hear_failing(&l, MSG_AUTH_SASL, MECHANISMS,
		    sizeof MECHANISMS, ++n);
		if (r != SERVER_AUTH_MORE)
			assert_no_memory(&l, r);
		finish(&l);
	}
	assert_int_equal(n, 5);
}

static void test_no_memory_for_the_proof_fails(void **state)
{
	enum server_auth_result r = SERVER_AUTH_FAILED;
	struct login l;
	unsigned long n = 0;

	(void)state;
	for (;;) {
		start(&l, "pencil");
		char *challenge = make_challenge(&l, "pencil");

		r = hear_failing(&l, MSG_AUTH_SASL_CONTINUE, challenge,
		    strlen(challenge), ++n);
		/* keys that can't be remembered do for this login */
		const bool forgotten = l.credentials->known == NULL;

		if (r != SERVER_AUTH_MORE)
			assert_no_memory(&l, r);
		mem_free(challenge);
		finish(&l);
		if (r == SERVER_AUTH_MORE && !forgotten)
			break;
	}
	assert_true(n > 5);
}

static void test_no_memory_for_the_signature_fails(void **state)
{
	enum server_auth_result r = SERVER_AUTH_FAILED;
	struct login l;
	unsigned long n = 0;
	char *final;

	(void)state;
	while (r != SERVER_AUTH_MORE) {
		start(&l, "pencil");
		assert_int_equal(prove(&l, "pencil", &final), 0);
		r = hear_failing(&l, MSG_AUTH_SASL_FINAL, final,
		    strlen(final), ++n);
		if (r != SERVER_AUTH_MORE)
			assert_no_memory(&l, r);
		mem_free(final);
		finish(&l);
	}
	assert_true(n > 1);
}

static int make_secrets(void **state)
{
	(void)state;
	return md5_secret("pencil", USER, md5_of_pencil);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trusted_login_needs_nothing),
		cmocka_unit_test(test_cleartext_sends_what_is_stored),
		cmocka_unit_test(test_md5_answers_the_salt),
		cmocka_unit_test(test_md5_with_scram_secret_fails),
		cmocka_unit_test(test_other_methods_are_unsupported),
		cmocka_unit_test(test_malformed_requests_fail),
		cmocka_unit_test(test_sasl_needs_scram_on_the_list),
		cmocka_unit_test(test_sasl_fails_with_unfit_secrets),
		cmocka_unit_test(test_scram_logs_in),
		cmocka_unit_test(test_scram_without_a_secret_is_tried),
		cmocka_unit_test(
		    test_scram_with_the_wrong_password_is_refused),
		cmocka_unit_test(test_scram_wants_the_server_to_prove_itself),
		cmocka_unit_test(test_ok_before_the_proof_is_refused),
		cmocka_unit_test(test_bad_challenges_fail),
		cmocka_unit_test(test_long_nonce_of_the_server_is_refused),
		cmocka_unit_test(test_changed_secret_between_messages_fails),
		cmocka_unit_test(test_nothing_is_asked_twice_or_too_early),
		cmocka_unit_test(test_end_ends_it),
		cmocka_unit_test(test_no_memory_for_a_password_fails),
		cmocka_unit_test(test_no_memory_for_the_first_message_fails),
		cmocka_unit_test(test_no_memory_for_the_proof_fails),
		cmocka_unit_test(test_no_memory_for_the_signature_fails),
	};

	return cmocka_run_group_tests(tests, make_secrets, NULL);
}
