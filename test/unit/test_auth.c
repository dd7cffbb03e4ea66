/* test_auth.c - every method, each kind of secret, right, wrong and malformed.
 * SPDX-License-Identifier: ISC */
#include "login/auth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "conf/hba.h"
#include "conf/hba_source.h"
#include "conf/ident.h"
#include "conf/oauth_options.h"
#include "pool/credentials.h"
#include "proto/msg.h"
#include "proto/password.h"
#include "proto/scram.h"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))
#define USER "ann"
#define ITERATIONS 4

/* "pencil": RFC 7677's, and md5("pencil" "ann") */
#define SCRAM_SECRET "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==" \
	"$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=" \
	":wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
static char md5_of_pencil[MD5_SECRET_LEN + 1];

#define WRONG "password authentication failed"
#define SASL "SASL authentication failed"
#define EMPTY "empty password returned by client"
#define MECHANISM "client selected an invalid SASL authentication mechanism"

static const uint8_t mock_salt[32] = "a process has one of these only.";

/* One client that logs in. */
struct peer {
	struct auth auth;
	struct auth_refusal why;
	struct writer out;
	struct credentials *credentials;	/* owned */
};

static enum auth_result start(struct peer *p, enum auth_type type,
    const char *secret)
{
	struct auth_request rq = {
		.type = type, .user = USER, .scram_iterations = ITERATIONS,
		.mock_salt = mock_salt,
	};

	memset(p, 0, sizeof *p);
	p->auth.refusal = &p->why;
	writer_init(&p->out, 16384);
	if (secret != NULL) {
		p->credentials = credentials_new(secret);
		assert_non_null(p->credentials);
	}
	rq.credentials = p->credentials;
	return auth_begin(&p->auth, &rq, &p->out);
}

static void finish(struct peer *p)
{
	auth_end(&p->auth);
	assert_null(p->auth.method);
	assert_null(p->auth.state);
	if (p->credentials != NULL)
		assert_int_equal(p->credentials->refs, 1);
	credentials_unref(&p->credentials);
	writer_fini(&p->out);
}

static enum auth_result step(struct peer *p, const void *body, size_t len)
{
	/* a copy of exactly that size: the sanitizer sees any byte too far */
	uint8_t *copy = mem_dup(body, len);

	writer_fini(&p->out);
	const enum auth_result r = auth_step(&p->auth, copy, len, &p->out);

	mem_free(copy);
	return r;
}

static enum auth_result say(struct peer *p, const char *password)
{
	return step(p, password, strlen(password) + 1);
}

/* 28000: refused, whatever it knows; 28P01: it has not proved who it is. */
static const char *code_of(const char *text)
{
	static const char *const refusals[] = {
		"\"trust\" authentication failed", "login rejected",
		"no authentication method is found",
		"unix socket login rejected",
		"certificate authentication failed",
		"auth_ldap_options is null",
		"ldap is not supported by this build",
#ifndef HAVE_PAM
		"PAM authentication failed",
#endif
	};

	if (strncmp(text, "client ", 7) == 0)
		return "08P01";		/* it has broken the protocol */
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
		if (strcmp(text, refusals[i]) == 0)
			return "28000";
	}
	return "28P01";
}

static void assert_denied(struct peer *p, enum auth_result r,
    const char *text)
{
	assert_int_equal(r, AUTH_DENY);
	assert_string_equal(p->auth.refusal->error.code, code_of(text));
	assert_string_equal(p->auth.refusal->error.text, text);
}

/* An Authentication message with this code; returns what follows the code. */
static const uint8_t *sent(struct peer *p, uint32_t code, size_t *len)
{
	assert_false(p->out.failed);
	assert_true(p->out.len >= 9);
	assert_int_equal(p->out.at[0], 'R');
	assert_int_equal(msg_u32(p->out.at + 1), p->out.len - 1);
	assert_int_equal(msg_u32(p->out.at + 5), code);
	*len = p->out.len - 9;
	return p->out.at + 9;
}

static void test_methods_that_decide_at_once(void **state)
{
	static const struct {
		enum auth_type type;
		const char *secret;	/* NULL: unknown user */
		const char *text;	/* NULL: let in */
	} rows[] = {
		{ AUTH_ANY, NULL, NULL },
		{ AUTH_ANY, "pencil", NULL },
		{ AUTH_TRUST, "pencil", NULL },
		{ AUTH_TRUST, "", NULL },
		{ AUTH_TRUST, SCRAM_SECRET, NULL },
		{ AUTH_TRUST, NULL, "\"trust\" authentication failed" },
		{ AUTH_CERT, "pencil", "certificate authentication failed" },
		{ AUTH_CERT, NULL, "certificate authentication failed" },
		{ AUTH_PEER, "pencil", "unix socket login rejected" },
		{ AUTH_PEER, NULL, "unix socket login rejected" },
		{ AUTH_REJECT, "pencil", "login rejected" },
		{ AUTH_HBA, "pencil", "no authentication method is found" },
#ifdef HAVE_LDAP
		{ AUTH_LDAP, "pencil", "auth_ldap_options is null" },
#else
		{ AUTH_LDAP, "pencil",
		    "ldap is not supported by this build" },
#endif
#ifndef HAVE_PAM
		{ AUTH_PAM, "pencil", "PAM authentication failed" },
#endif
		{ (enum auth_type)99, "pencil",
		    "no authentication method is found" },
	};
	struct peer p;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const enum auth_result r = start(&p, rows[i].type,
		    rows[i].secret);

		if (rows[i].text == NULL)
			assert_int_equal(r, AUTH_OK);
		else
			assert_denied(&p, r, rows[i].text);
		assert_int_equal(p.out.len, 0);
		/* nobody asked for a password */
		assert_denied(&p, say(&p, "pencil"),
		    "client password pkt before startup packet");
		finish(&p);
	}
}

/* The kernel or a certificate names somebody; a map may let him be another. */
static void test_methods_where_another_vouches(void **state)
{
	static const char cert[] = "certificate authentication failed";
	static const char peer[] = "unix socket login rejected";
	const struct passwd *const me = getpwuid(getuid());
	char maps[512];
	static const struct {
		enum auth_type type;
		bool tls, known, mapped;
		const char *name;	/* peer: who we are, as far as known */
		const char *text, *detail;
	} rows[] = {
		{ AUTH_CERT, true, true, false, "user", NULL, NULL },
		{ AUTH_CERT, true, false, false, "user", cert, "" },
		{ AUTH_CERT, true, true, false, "USER", cert,
		    "TLS certificate name mismatch" },
		{ AUTH_CERT, true, true, false, NULL, cert,
		    "TLS client certificate required" },
		{ AUTH_CERT, false, true, false, "user", cert,
		    "TLS connection required" },
		{ AUTH_CERT, true, true, true, "ann", NULL, NULL },
		{ AUTH_CERT, true, true, true, "bob", NULL, NULL },
		{ AUTH_CERT, true, true, true, "carl", cert,
		    "ident map: m does not have a match" },
		{ AUTH_CERT, true, true, true, "user", cert,
		    "ident map: m does not have a match" },
		{ AUTH_PEER, false, true, false, "user", NULL, NULL },
		{ AUTH_PEER, false, false, false, "user", peer, "" },
		{ AUTH_PEER, false, true, false, "other", peer, "" },
		{ AUTH_PEER, false, true, false, NULL, peer, "" },
		{ AUTH_PEER, false, true, true, "user", NULL, NULL },
		{ AUTH_PEER, false, true, true, "other", peer,
		    "ident map m cannot be matched" },
	};

	(void)state;
	assert_non_null(me);
	snprintf(maps, sizeof maps, "m ann user\nm bob all\nm carl other\n"
	    "m \"%s\" \"%s\"\n", me->pw_name, me->pw_name);
	const struct hba_source src = {
		.text = maps, .len = strlen(maps), .path = "m",
	};
	struct err e;
	struct ident *i = ident_parse(&src, &e);
	const struct hba_rule rule = { .map = ident_find(i, "m") };

	for (size_t n = 0; n < COUNT(rows); n++) {
		struct credentials *c = rows[n].known ?
		    credentials_new("") : NULL;
		const bool is_peer = rows[n].type == AUTH_PEER;
		const char *name = rows[n].name != NULL ? rows[n].name : "";
		const struct auth_request rq = {
			.type = rows[n].type,
			.user = is_peer && strcmp(name, "user") == 0 ?
			    me->pw_name : "user",
			.credentials = c, .tls = rows[n].tls,
			.rule = rows[n].mapped ? &rule : NULL,
			.os_uid = is_peer && rows[n].name != NULL ?
			    &me->pw_uid : NULL,
			.peer_name = rows[n].type == AUTH_CERT ?
			    rows[n].name : NULL,
		};
		struct auth_refusal why;
		struct auth a = { .refusal = &why };
		struct writer w;

		writer_init(&w, 100);
		const enum auth_result r = auth_begin(&a, &rq, &w);
		assert_int_equal(w.len, 0);
		if (rows[n].text == NULL) {
			assert_int_equal(r, AUTH_OK);
		} else {
			assert_int_equal(r, AUTH_DENY);
			assert_string_equal(why.error.text, rows[n].text);
			assert_string_equal(why.detail, rows[n].detail);
		}
		auth_end(&a);
		credentials_unref(&c);
	}
	ident_free(&i);
}

/* A client that is to show a token, over TLS. */
static enum auth_result start_oauth(struct peer *p, struct oauth_options *o,
    const struct hba_rule *rule)
{
	const struct auth_request rq = {
		.type = AUTH_OAUTH, .user = USER, .tls = true, .rule = rule,
	};

	memset(p, 0, sizeof *p);
	p->auth.refusal = &p->why;
	writer_init(&p->out, 16384);
	o->cleartext[0] = '0';
	return auth_begin(&p->auth, &rq, &p->out);
}

static void test_oauth_tells_where_a_token_can_be_had(void **state)
{
	static const char status[] = "{ \"status\": \"invalid_token\", "
	    "\"openid-configuration\": "
	    "\"https://i/.well-known/openid-configuration\", "
	    "\"scope\": \"b\" }", initial[] = "OAUTHBEARER\0"
	    "\0\0\0\x0b" "n,,\1auth=\1\1";
	char cleartext[] = "0", issuer[] = "https://i", scope[] = "b";
	struct oauth_options o = { .issuer = issuer, .scope = scope,
		.cleartext = cleartext };
	const struct hba_rule rule = { .oauth = &o };
	struct peer p;
	size_t len;

	(void)state;
	assert_int_equal(start_oauth(&p, &o, &rule), AUTH_MORE);
	assert_memory_equal(sent(&p, MSG_AUTH_SASL, &len), "OAUTHBEARER\0",
	    13);
	assert_int_equal(step(&p, initial, sizeof initial - 1), AUTH_MORE);
	assert_memory_equal(sent(&p, MSG_AUTH_SASL_CONTINUE, &len), status,
	    sizeof status - 1);
	assert_int_equal(len, sizeof status - 1);
	assert_int_equal(step(&p, "\1", 1), AUTH_DENY);
	assert_string_equal(p.why.error.text,
	    "OAuth bearer authentication failed for user \"ann\"");
	assert_string_equal(p.why.error.code, "28000");
	assert_string_equal(p.why.detail, "");
	assert_false(auth_had_failed(&p.auth));
	finish(&p);
}

static void test_oauth_has_failed_before_the_last_word(void **state)
{
	static const char initial[] = "OAUTHBEARER\0" "\0\0\0\x11"
	    "n,,\1auth=Basic \1\1";
	char cleartext[] = "0", issuer[] = "https://i", scope[] = "b";
	struct oauth_options o = { .issuer = issuer, .scope = scope,
		.cleartext = cleartext };
	const struct hba_rule rule = { .oauth = &o };
	struct peer p;

	(void)state;
	assert_int_equal(start_oauth(&p, &o, &rule), AUTH_MORE);
	assert_false(auth_had_failed(&p.auth));
	assert_int_equal(step(&p, initial, sizeof initial - 1), AUTH_MORE);
	assert_true(auth_had_failed(&p.auth));
	assert_string_equal(p.why.error.code, "28000");
	assert_string_equal(p.why.detail,
	    "OAuth: the scheme of the client is not Bearer");
	assert_false(auth_had_failed(&p.auth));
	finish(&p);
}

static void test_oauth_refuses_what_it_did_not_ask_for(void **state)
{
	static const struct {
		const char *body;
		size_t len;
	} rows[] = {
		{ "", 0 }, { "OAUTHBEARER", 11 }, { "OAUTHBEARER\0\0\0", 14 },
		{ "OAUTHBEARER\0\0\0\0\1", 16 },
		{ "OAUTHBEARER\0\0\0\0\0", 16 },
		{ "OAUTHBEARER\0\xff\xff\xff\xff" "n", 17 },
		{ "SCRAM-SHA-256\0\0\0\0\0", 18 },
	};
	char cleartext[] = "0";
	struct oauth_options o = { .cleartext = cleartext };
	const struct hba_rule rule = { .oauth = &o };
	const struct auth_request plain = {
		.type = AUTH_OAUTH, .user = USER, .rule = &rule,
	};
	struct peer p;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(start_oauth(&p, &o, &rule), AUTH_MORE);
		assert_int_equal(step(&p, rows[i].body, rows[i].len),
		    AUTH_DENY);
		assert_string_equal(p.why.error.code, "08P01");
		finish(&p);
	}
	memset(&p, 0, sizeof p);
	p.auth.refusal = &p.why;
	writer_init(&p.out, 100);
	assert_int_equal(auth_begin(&p.auth, &plain, &p.out), AUTH_DENY);
	assert_string_equal(p.why.error.text, "the method oauth requires TLS");
	assert_int_equal(p.out.len, 0);
	finish(&p);
}

static void test_end_without_begin_does_nothing(void **state)
{
	struct auth a = { 0 };

	(void)state;
	auth_end(&a);
	auth_end(&a);
}

/* --- plain --- */

static void test_plain_takes_each_kind_of_secret(void **state)
{
	const struct {
		const char *secret, *password;
		const char *text;	/* NULL: let in */
	} rows[] = {
		{ "pencil", "pencil", NULL },
		{ "pencil", "pencil ", WRONG },
		{ "pencil", "penci", WRONG },
		{ "pencil", "", EMPTY },
		{ md5_of_pencil, "pencil", NULL },
		{ md5_of_pencil, "paper", WRONG },
		{ md5_of_pencil, md5_of_pencil, WRONG },
		{ md5_of_pencil, "", EMPTY },
		{ SCRAM_SECRET, "pencil", NULL },
		/* SASLprep drops the soft hyphen */
		{ SCRAM_SECRET, "pen\xc2\xad" "cil", NULL },
		{ SCRAM_SECRET, "paper", WRONG },
		{ SCRAM_SECRET, SCRAM_SECRET, WRONG },
		{ SCRAM_SECRET, "", EMPTY },
		{ "", "pencil", WRONG },
		{ "", "", EMPTY },
		{ NULL, "pencil", WRONG },
		{ NULL, "", EMPTY },
	};
	struct peer p;
	size_t len;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(start(&p, AUTH_PLAIN, rows[i].secret),
		    AUTH_MORE);
		sent(&p, MSG_AUTH_CLEARTEXT, &len);
		assert_int_equal(len, 0);
		const enum auth_result r = say(&p, rows[i].password);

		if (rows[i].text == NULL)
			assert_int_equal(r, AUTH_OK);
		else
			assert_denied(&p, r, rows[i].text);
		assert_int_equal(p.out.len, 0);
		/* one attempt each */
		assert_int_equal(say(&p, "pencil"), AUTH_DENY);
		finish(&p);
	}
}

static void test_plain_teaches_no_keys(void **state)
{
	struct peer p;

	(void)state;
	start(&p, AUTH_PLAIN, SCRAM_SECRET);
	assert_int_equal(say(&p, "pencil"), AUTH_OK);
	assert_null(p.credentials->learned);
	finish(&p);
}

static void test_password_message_is_one_string(void **state)
{
	static const struct {
		const char *body;
		size_t len;
	} rows[] = {
		{ "", 0 }, { "pencil", 6 }, { "pencil\0", 8 },
		{ "pencil\0x", 8 }, { "\0pencil", 8 },
	};
	static const enum auth_type types[] = { AUTH_PLAIN, AUTH_MD5 };
	struct peer p;

	(void)state;
	for (size_t t = 0; t < COUNT(types); t++) {
		for (size_t i = 0; i < COUNT(rows); i++) {
			start(&p, types[t], "pencil");
			assert_denied(&p, step(&p, rows[i].body, rows[i].len),
			    WRONG);
			assert_string_equal(p.auth.refusal->detail,
			    "malformed password message");
			finish(&p);
		}
	}
}

/* --- md5 --- */

static void answer_md5(struct peer *p, const char *stored,
    char out[MD5_SECRET_LEN + 1])
{
	size_t len;
	const uint8_t *salt = sent(p, MSG_AUTH_MD5, &len);

	assert_int_equal(len, 4);
	assert_int_equal(md5_response(stored, salt, out), 0);
}

static void test_md5_takes_plain_and_md5(void **state)
{
	const char *const secrets[] = { "pencil", md5_of_pencil };
	char reply[MD5_SECRET_LEN + 2] = "";
	struct peer p;

	(void)state;
	for (size_t i = 0; i < COUNT(secrets); i++) {
		assert_int_equal(start(&p, AUTH_MD5, secrets[i]), AUTH_MORE);
		answer_md5(&p, md5_of_pencil, reply);
		assert_int_equal(say(&p, reply), AUTH_OK);
		finish(&p);

		start(&p, AUTH_MD5, secrets[i]);
		answer_md5(&p, md5_of_pencil, reply);
		reply[34] = reply[34] == '0' ? '1' : '0';
		assert_denied(&p, say(&p, reply), WRONG);
		finish(&p);

		start(&p, AUTH_MD5, secrets[i]);
		answer_md5(&p, md5_of_pencil, reply);
		reply[34] = '\0';
		assert_denied(&p, say(&p, reply), WRONG);
		finish(&p);

		start(&p, AUTH_MD5, secrets[i]);
		answer_md5(&p, md5_of_pencil, reply);
		reply[35] = '0';
		reply[36] = '\0';
		assert_denied(&p, say(&p, reply), WRONG);
		finish(&p);

		start(&p, AUTH_MD5, secrets[i]);
		assert_denied(&p, say(&p, "pencil"), WRONG);
		finish(&p);

		start(&p, AUTH_MD5, secrets[i]);
		assert_denied(&p, say(&p, ""), EMPTY);
		finish(&p);
	}
}

/* The answer that belongs to an empty password must not help either. */
static void test_md5_never_lets_in_without_a_secret(void **state)
{
	static const char *const secrets[] = { NULL, "" };
	char empty[MD5_SECRET_LEN + 1], reply[MD5_SECRET_LEN + 1];
	struct peer p;

	(void)state;
	assert_int_equal(md5_secret("", USER, empty), 0);
	for (size_t i = 0; i < COUNT(secrets); i++) {
		assert_int_equal(start(&p, AUTH_MD5, secrets[i]), AUTH_MORE);
		answer_md5(&p, empty, reply);
		assert_denied(&p, say(&p, reply), WRONG);
		finish(&p);
	}
}

static void test_md5_salts_differ(void **state)
{
	struct peer a, b;
	size_t len;

	(void)state;
	start(&a, AUTH_MD5, "pencil");
	for (int i = 0; i < 4; i++) {	/* one in 2^128 may be the same */
		start(&b, AUTH_MD5, "pencil");
		const bool same = memcmp(sent(&a, MSG_AUTH_MD5, &len),
		    sent(&b, MSG_AUTH_MD5, &len), 4) == 0;

		finish(&b);
		if (!same)
			break;
		assert_true(i < 3);
	}
	finish(&a);
}

/* --- scram --- */

/* SASLInitialResponse: mechanism, the length as said, data. */
static enum auth_result initial(struct peer *p, const char *mechanism,
    uint32_t said, const char *data)
{
	struct writer w;

	writer_init(&w, 65536);
	writer_str(&w, mechanism);
	writer_u32(&w, said);
	writer_bytes(&w, data, strlen(data));
	const enum auth_result r = step(p, w.at, w.len);

	writer_fini(&w);
	return r;
}

static enum auth_result first(struct peer *p, const char *data)
{
	return initial(p, SCRAM_MECHANISM, (uint32_t)strlen(data), data);
}

static void assert_mechanisms(struct peer *p)
{
	size_t len;
	const uint8_t *list = sent(p, MSG_AUTH_SASL, &len);

	assert_int_equal(len, sizeof SCRAM_MECHANISM + 1);
	assert_memory_equal(list, SCRAM_MECHANISM "\0", len);
}

/* Up to the challenge; c is then ready for scram_client_final(). */
static void challenge(struct peer *p, struct scram_client *c)
{
	struct err e;
	size_t len;
	char *message = scram_client_first(c);

	assert_non_null(message);
	assert_mechanisms(p);
	assert_int_equal(first(p, message), AUTH_MORE);
	mem_free(message);
	const char *in = (const char *)sent(p, MSG_AUTH_SASL_CONTINUE, &len);

	assert_int_equal(scram_client_challenge(c, in, len, &e), 0);
}

static enum auth_result prove(struct peer *p, struct scram_client *c,
    const char *password)
{
	struct scram_keys k;

	assert_int_equal(scram_keys_derive(&k, password, c->salt, c->salt_len,
	    c->iterations), 0);
	char *message = scram_client_final(c, &k);

	assert_non_null(message);
	const enum auth_result r = step(p, message, strlen(message));

	mem_free(message);
	return r;
}

static void test_scram_takes_plain_and_scram(void **state)
{
	const struct {
		enum auth_type type;
		const char *secret, *password;
		int iterations;
		const char *detail;	/* NULL: let in */
	} rows[] = {
		{ AUTH_SCRAM_SHA_256, "pencil", "pencil", ITERATIONS, NULL },
		{ AUTH_SCRAM_SHA_256, "pencil", "paper", ITERATIONS, WRONG },
		{ AUTH_SCRAM_SHA_256, "pencil", "", ITERATIONS, WRONG },
		{ AUTH_SCRAM_SHA_256, SCRAM_SECRET, "pencil", 4096, NULL },
		{ AUTH_SCRAM_SHA_256, SCRAM_SECRET, "paper", 4096, WRONG },
		{ AUTH_SCRAM_SHA_256, SCRAM_SECRET, "", 4096, WRONG },
		{ AUTH_SCRAM_SHA_256, md5_of_pencil, "pencil", ITERATIONS,
		    "SCRAM authentication failed: user has MD5 secret" },
		{ AUTH_SCRAM_SHA_256, "", "pencil", ITERATIONS, WRONG },
		{ AUTH_SCRAM_SHA_256, "", "", ITERATIONS, WRONG },
		{ AUTH_SCRAM_SHA_256, NULL, "pencil", ITERATIONS, WRONG },
		{ AUTH_SCRAM_SHA_256, NULL, "", ITERATIONS, WRONG },
		/* md5 asks for what is stored */
		{ AUTH_MD5, SCRAM_SECRET, "pencil", 4096, NULL },
		{ AUTH_MD5, SCRAM_SECRET, "paper", 4096, WRONG },
	};
	struct peer p;
	struct err e;
	size_t len;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct scram_client c = { 0 };

		assert_int_equal(start(&p, rows[i].type, rows[i].secret),
		    AUTH_MORE);
		challenge(&p, &c);
		assert_int_equal(c.iterations, rows[i].iterations);
		assert_int_equal(c.salt_len, SCRAM_SALT_BYTES);
		const enum auth_result r = prove(&p, &c, rows[i].password);

		if (rows[i].detail == NULL) {
			assert_int_equal(r, AUTH_OK);
			const char *in = (const char *)sent(&p,
			    MSG_AUTH_SASL_FINAL, &len);
			assert_int_equal(scram_client_verify(&c, in, len, &e),
			    0);
		} else {
			assert_denied(&p, r, SASL);
			assert_string_equal(p.auth.refusal->detail, rows[i].detail);
			assert_int_equal(p.out.len, 0);
		}
		scram_client_fini(&c);
		finish(&p);
	}
}

static void test_scram_learns_keys_of_scram_secrets_only(void **state)
{
	static const struct {
		const char *secret, *password;
		bool learned;
	} rows[] = {
		{ SCRAM_SECRET, "pencil", true },
		{ SCRAM_SECRET, "paper", false },
		{ "pencil", "pencil", false },
	};
	struct peer p;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct scram_client c = { 0 };

		start(&p, AUTH_SCRAM_SHA_256, rows[i].secret);
		challenge(&p, &c);
		prove(&p, &c, rows[i].password);
		assert_int_equal(p.credentials->learned != NULL,
		    rows[i].learned);
		if (rows[i].learned)
			assert_memory_equal(p.credentials->learned, &c.keys,
			    sizeof c.keys);
		scram_client_fini(&c);
		finish(&p);
	}
}

static void mock_challenge(const char *user, struct scram_client *c)
{
	const struct auth_request rq = {
		.type = AUTH_SCRAM_SHA_256, .user = user,
		.scram_iterations = ITERATIONS, .mock_salt = mock_salt,
	};
	struct peer p = { .auth.refusal = &p.why };

	writer_init(&p.out, 16384);
	assert_int_equal(auth_begin(&p.auth, &rq, &p.out), AUTH_MORE);
	challenge(&p, c);
	finish(&p);
}

static void test_scram_mock_salt_is_stable_for_each_user(void **state)
{
	uint8_t digest[SHA256_BYTES];
	struct scram_client a = { 0 }, b = { 0 }, c = { 0 };

	(void)state;
	assert_int_equal(crypto_hmac_sha256(mock_salt, sizeof mock_salt, "ann",
	    sizeof "ann", digest), 0);
	mock_challenge("ann", &a);
	mock_challenge("ann", &b);
	mock_challenge("bob", &c);
	assert_memory_equal(a.salt, digest, SCRAM_SALT_BYTES);
	assert_memory_equal(b.salt, digest, SCRAM_SALT_BYTES);
	assert_memory_not_equal(c.salt, digest, SCRAM_SALT_BYTES);
	scram_client_fini(&a);
	scram_client_fini(&b);
	scram_client_fini(&c);
}

/* CVE-2026-6664: the length in the message is the client's word only. */
static void test_scram_initial_response_is_measured(void **state)
{
	static const struct {
		const char *mechanism;
		uint32_t said;
		const char *data, *text;
	} rows[] = {
		{ SCRAM_MECHANISM, 7, "n,,n=,r=abc", SASL },
		{ SCRAM_MECHANISM, 12, "n,,n=,r=abc", SASL },
		{ SCRAM_MECHANISM, 0x7fffffff, "n,,n=,r=abc", SASL },
		{ SCRAM_MECHANISM, 0x80000000, "n,,n=,r=abc", SASL },
		{ SCRAM_MECHANISM, 0xfffffff0, "n,,n=,r=abc", SASL },
		{ SCRAM_MECHANISM, 0xffffffff, "n,,n=,r=abc", SASL },
		{ SCRAM_MECHANISM, 0xffffffff, "", SASL },
		{ SCRAM_MECHANISM, 0, "", SASL },
		{ SCRAM_MECHANISM, 0, "n,,n=,r=abc", SASL },
		{ "SCRAM-SHA-256-PLUS", 11, "n,,n=,r=abc", MECHANISM },
		{ "scram-sha-256", 11, "n,,n=,r=abc", MECHANISM },
		{ "", 11, "n,,n=,r=abc", MECHANISM },
	};
	struct peer p;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		start(&p, AUTH_SCRAM_SHA_256, SCRAM_SECRET);
		assert_denied(&p, initial(&p, rows[i].mechanism, rows[i].said,
		    rows[i].data), rows[i].text);
		assert_int_equal(p.out.len, 0);
		assert_int_equal(first(&p, "n,,n=,r=abc"), AUTH_DENY);
		finish(&p);
	}
}

static void test_scram_short_initial_response_is_refused(void **state)
{
	static const char whole[] = SCRAM_MECHANISM "\0\0\0\0\x0bn,,n=,r=abc";
	struct peer p;

	(void)state;
	for (size_t len = 0; len < sizeof whole - 1; len++) {
		start(&p, AUTH_SCRAM_SHA_256, "pencil");
		assert_denied(&p, step(&p, whole, len), SASL);
		finish(&p);
	}
	start(&p, AUTH_SCRAM_SHA_256, "pencil");
	assert_int_equal(step(&p, whole, sizeof whole - 1), AUTH_MORE);
	finish(&p);
}

static void test_scram_malformed_first_is_refused(void **state)
{
	static const char *const rows[] = {
		"p=tls-unique,,n=,r=abc", "n,a=bob,n=,r=abc",
		"n,,m=x,n=,r=abc", "n,,r=abc", "n,,n=,r=", "n,,n=,r=a\x01",
		"x", "n,,n=,r=abc,",
	};
	struct peer p;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		start(&p, AUTH_SCRAM_SHA_256, NULL);
		assert_denied(&p, first(&p, rows[i]), SASL);
		assert_string_not_equal(p.auth.refusal->detail, "");
		finish(&p);
	}
}

static void test_scram_message_is_bounded(void **state)
{
	char *long_one = mem_alloc(SCRAM_MESSAGE_MAX + 2);
	struct peer p;

	(void)state;
	assert_non_null(long_one);
	memset(long_one, 'a', SCRAM_MESSAGE_MAX + 1);
	memcpy(long_one, "n,,n=,r=", 8);
	long_one[SCRAM_MESSAGE_MAX + 1] = '\0';
	start(&p, AUTH_SCRAM_SHA_256, "pencil");
	assert_denied(&p, first(&p, long_one), SASL);
	finish(&p);
	mem_free(long_one);
}

static void test_scram_malformed_final_is_refused(void **state)
{
	static const char *const rows[] = {
		"", "c=biws", "c=biws,r=abc,p=AAAA",
		"n,,n=,r=abc", "c=eSws,r=,p=",
	};
	struct peer p;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct scram_client c = { 0 };

		start(&p, AUTH_SCRAM_SHA_256, "pencil");
		challenge(&p, &c);
		assert_denied(&p, step(&p, rows[i], strlen(rows[i])), SASL);
		assert_string_not_equal(p.auth.refusal->detail, "");
		scram_client_fini(&c);
		finish(&p);
	}
}

/* A setting past what clients put up with is cut, not an error. */
static void test_scram_iterations_have_limits(void **state)
{
	struct auth_request rq = {
		.type = AUTH_SCRAM_SHA_256, .user = USER,
		.mock_salt = mock_salt,
	};
	static const struct {
		int asked, used;
	} rows[] = {
		{ INT32_MAX, SCRAM_ITERATIONS_MAX }, { 0, 1 }, { 7, 7 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct scram_client c = { 0 };
		struct peer p = { .auth.refusal = &p.why };

		rq.scram_iterations = rows[i].asked;
		writer_init(&p.out, 16384);
		assert_int_equal(auth_begin(&p.auth, &rq, &p.out), AUTH_MORE);
		challenge(&p, &c);
		assert_int_equal(c.iterations, rows[i].used);
		scram_client_fini(&c);
		finish(&p);
	}
}

/* --- no memory --- */

/* A whole login as the right client; whatever it comes to. */
static enum auth_result login(struct peer *p, enum auth_type type,
    const char *secret, unsigned long fail)
{
	struct scram_client c = { 0 };
	struct scram_keys k;
	char reply[MD5_SECRET_LEN + 1];
	const uint8_t *data;
	enum auth_result r;
	struct auth_request rq = {
		.type = type, .user = USER, .scram_iterations = ITERATIONS,
		.mock_salt = mock_salt,
	};
	char *message;
	size_t len;
	struct err e;

	memset(p, 0, sizeof *p);
	p->auth.refusal = &p->why;
	writer_init(&p->out, 16384);
	rq.credentials = p->credentials = credentials_new(secret);
	mem_fail_at(fail);
	r = auth_begin(&p->auth, &rq, &p->out);
	mem_fail_at(0);
	if (r != AUTH_MORE || p->out.failed)
		return AUTH_DENY;
	if (msg_u32(p->out.at + 5) == MSG_AUTH_CLEARTEXT)
		return step(p, "pencil", 7);
	if (msg_u32(p->out.at + 5) == MSG_AUTH_MD5) {
		answer_md5(p, md5_of_pencil, reply);
		return say(p, reply);
	}
	message = scram_client_first(&c);
	r = first(p, message);
	mem_free(message);
	if (r == AUTH_MORE) {
		data = sent(p, MSG_AUTH_SASL_CONTINUE, &len);
		scram_client_challenge(&c, (const char *)data, len, &e);
		scram_keys_derive(&k, "pencil", c.salt, c.salt_len,
		    c.iterations);
		message = scram_client_final(&c, &k);
		r = step(p, message, strlen(message));
		mem_free(message);
	}
	scram_client_fini(&c);
	return r;
}

static void test_no_memory_at_begin_denies(void **state)
{
	static const enum auth_type types[] = {
		AUTH_PLAIN, AUTH_MD5, AUTH_SCRAM_SHA_256,
	};
	struct peer p;

	(void)state;
	for (size_t t = 0; t < COUNT(types); t++) {
		unsigned long n = 0;

		while (login(&p, types[t], "pencil", ++n) != AUTH_OK) {
			assert_true(p.out.failed ||
			    strcmp(p.auth.refusal->error.code, "53200") == 0);
			finish(&p);
		}
		assert_true(n > 1);
		finish(&p);
	}
}

/* auth_step() with the nth allocation failing, in one call. */
static enum auth_result step_failing(struct peer *p, const char *body,
    size_t len, unsigned long n)
{
	writer_fini(&p->out);
	mem_fail_at(n);
	const enum auth_result r = auth_step(&p->auth, (const uint8_t *)body,
	    len, &p->out);

	mem_fail_at(0);
	return r;
}

static void assert_no_memory(struct peer *p, enum auth_result r)
{
	if (r == AUTH_DENY)
		assert_string_equal(p->auth.refusal->error.code, "53200");
	else
		assert_true(p->out.failed);
}

static void test_no_memory_for_the_challenge_denies(void **state)
{
	static const char body[] = SCRAM_MECHANISM "\0\0\0\0\x0bn,,n=,r=abc";
	static const char *const secrets[] = { NULL, "pencil", SCRAM_SECRET };
	struct peer p;

	(void)state;
	for (size_t i = 0; i < COUNT(secrets); i++) {
		for (unsigned long n = 1;; n++) {
			start(&p, AUTH_SCRAM_SHA_256, secrets[i]);
			const enum auth_result r = step_failing(&p, body,
			    sizeof body - 1, n);

			if (r == AUTH_MORE && !p.out.failed) {
				assert_true(n > 4);
				break;
			}
			assert_no_memory(&p, r);
			finish(&p);
		}
		finish(&p);
	}
}

static enum auth_result prove_failing(struct peer *p, unsigned long n)
{
	struct scram_client c = { 0 };
	struct scram_keys k;

	start(p, AUTH_SCRAM_SHA_256, "pencil");
	challenge(p, &c);
	assert_int_equal(scram_keys_derive(&k, "pencil", c.salt, c.salt_len,
	    c.iterations), 0);
	char *message = scram_client_final(&c, &k);

	assert_non_null(message);
	const enum auth_result r = step_failing(p, message, strlen(message),
	    n);

	mem_free(message);
	scram_client_fini(&c);
	return r;
}

static void test_no_memory_for_the_proof_denies(void **state)
{
	struct peer p;
	unsigned long n = 1;

	(void)state;
	for (;; n++) {
		const enum auth_result r = prove_failing(&p, n);

		if (r == AUTH_OK && !p.out.failed)
			break;
		assert_no_memory(&p, r);
		finish(&p);
	}
	assert_true(n > 3);
	finish(&p);
}

/* Each allocation of a check may fail: never is that a way in. */
static void test_no_memory_never_lets_a_wrong_password_in(void **state)
{
	const char *const secrets[] = { NULL, "", "pencil", md5_of_pencil,
	    SCRAM_SECRET };
	struct peer p;

	(void)state;
	for (size_t i = 0; i < COUNT(secrets); i++) {
		for (unsigned long n = 1; n < 8; n++) {
			start(&p, AUTH_PLAIN, secrets[i]);
			assert_int_equal(step_failing(&p, "paper", 6, n),
			    AUTH_DENY);
			finish(&p);
		}
	}
}

static int make_secrets(void **state)
{
	(void)state;
	return md5_secret("pencil", USER, md5_of_pencil);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_methods_that_decide_at_once),
		cmocka_unit_test(test_methods_where_another_vouches),
		cmocka_unit_test(test_oauth_tells_where_a_token_can_be_had),
		cmocka_unit_test(test_oauth_has_failed_before_the_last_word),
		cmocka_unit_test(test_oauth_refuses_what_it_did_not_ask_for),
		cmocka_unit_test(test_end_without_begin_does_nothing),
		cmocka_unit_test(test_plain_takes_each_kind_of_secret),
		cmocka_unit_test(test_plain_teaches_no_keys),
		cmocka_unit_test(test_password_message_is_one_string),
		cmocka_unit_test(test_md5_takes_plain_and_md5),
		cmocka_unit_test(test_md5_never_lets_in_without_a_secret),
		cmocka_unit_test(test_md5_salts_differ),
		cmocka_unit_test(test_scram_takes_plain_and_scram),
		cmocka_unit_test(test_scram_learns_keys_of_scram_secrets_only),
		cmocka_unit_test(test_scram_mock_salt_is_stable_for_each_user),
		cmocka_unit_test(test_scram_initial_response_is_measured),
		cmocka_unit_test(test_scram_short_initial_response_is_refused),
		cmocka_unit_test(test_scram_malformed_first_is_refused),
		cmocka_unit_test(test_scram_message_is_bounded),
		cmocka_unit_test(test_scram_malformed_final_is_refused),
		cmocka_unit_test(test_scram_iterations_have_limits),
		cmocka_unit_test(test_no_memory_at_begin_denies),
		cmocka_unit_test(test_no_memory_for_the_challenge_denies),
		cmocka_unit_test(test_no_memory_for_the_proof_denies),
		cmocka_unit_test(
		    test_no_memory_never_lets_a_wrong_password_in),
	};

	return cmocka_run_group_tests(tests, make_secrets, NULL);
}
