/* scram.h - SCRAM-SHA-256 (RFC 5802, 7677), both roles: strings in and out.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_SCRAM_H
#define PROTO_SCRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/crypto.h"

struct err;

#define SCRAM_MECHANISM "SCRAM-SHA-256"
#define SCRAM_SALT_BYTES 16
#define SCRAM_SALT_MAX 1024	      /* what we accept from others */
#define SCRAM_ITERATIONS_MAX 1000000 /* a peer may not burn our CPU */
#define SCRAM_MESSAGE_MAX 8192	      /* one SASL message, either way */

/* What proves a password without being it. */
struct scram_verifier {
	int iterations;
	size_t salt_len;
	uint8_t salt[SCRAM_SALT_MAX];
	uint8_t stored_key[SHA256_BYTES];
	uint8_t server_key[SHA256_BYTES];
};

/* What keys are derived with, besides the password. */
struct scram_salt {
	const uint8_t *at; /* borrowed */
	size_t len;
	int iterations;
};

/* Keys by which a client can log in without knowing the password. */
struct scram_keys {
	uint8_t client_key[SHA256_BYTES];
	uint8_t server_key[SHA256_BYTES];
};

/*
 * SCRAM-SHA-256$<i>:<salt>$<stored>:<server>; 0, or -1 with v all zero. Salt
 * and iterations beyond our limits are refused too.
 */
int scram_verifier_parse(struct scram_verifier *v, const char *secret);
/*
 * Derive from a password (SASLprep applied; costly: PBKDF2). 0, or -1 with v
 * all zero: empty password (it may never log anybody in), no salt, a limit,
 * no memory.
 */
int scram_verifier_derive(struct scram_verifier *v, const char *password,
    const void *salt, size_t salt_len, int iterations);
/*
 * The verifier that belongs to keys derived with a salt, which may be v's own;
 * v->iterations is left alone. 0 or -1 (no memory).
 */
int scram_verifier_fill(struct scram_verifier *v, const struct scram_keys *k,
    const void *salt, size_t salt_len);
/*
 * For users that don't exist: a salt that stays the same per user and seed
 * (the process's random bytes), keys no password has. Costs as much as a parse.
 * Source: spec/authentication.md section 7.
 */
int scram_verifier_mock(struct scram_verifier *v, const char *user,
    const uint8_t seed[SHA256_BYTES], int iterations);
/* Does the clear password belong to v? An empty one never does. (costly) */
bool scram_verifier_matches(const struct scram_verifier *v,
    const char *password);
/* Keys of a client that knows the password, which may be empty. 0 or -1. */
int scram_keys_derive(struct scram_keys *k, const char *password,
    const void *salt, size_t salt_len, int iterations);

/* How far one exchange is; each call is good for exactly one step. */
enum scram_step {
	SCRAM_START,	  /* all zero */
	SCRAM_FIRST_SENT, /* client: client-first is out */
	SCRAM_CHALLENGED, /* server-first is known to both */
	SCRAM_FINAL_SENT, /* client: client-final is out */
	SCRAM_DONE,	  /* the other side has proved itself */
	SCRAM_FAILED,	  /* for good */
};

/*
 * Errors below are for the log; 53200 is no memory, 28P01 a wrong proof, 08P01
 * anything else. No text repeats unprintable bytes of the peer, or a secret.
 */

/* --- the server's side of one exchange; all zero to begin --- */
struct scram_server {
	enum scram_step step;
	char gs2;		 /* 'n' or 'y' */
	char *nonce;		 /* owned: client's followed by ours */
	char *auth_message;	 /* owned: client-first-bare , server-first */
	struct scram_verifier v; /* owned copy */
	uint8_t client_key[SHA256_BYTES]; /* once SCRAM_DONE */
};

/*
 * client-first-message in (len bytes), server-first out (heap, owned by the
 * caller). 0, or -1 with e for the log.
 */
int scram_server_first(struct scram_server *s, const struct scram_verifier *v,
    const char *in, size_t len, char **out, struct err *e);
/* client-final in, server-final out when the proof is right. 0 or -1. */
int scram_server_final(struct scram_server *s, const char *in, size_t len,
    char **out, struct err *e);
void scram_server_fini(struct scram_server *s); /* wipes; all zero again */

/* --- the client's side; all zero to begin --- */
struct scram_client {
	enum scram_step step;
	char nonce[32]; /* ours, text */
	char *client_first_bare, *server_first, *client_final_bare; /* owned */
	struct scram_keys keys; /* copy of what scram_client_final() got */
	uint8_t salt[SCRAM_SALT_MAX]; /* what the server asked for */
	size_t salt_len;
	int iterations;
	const char *nonce_full; /* inside server_first */
	size_t nonce_full_len;
};

/*
 * client-first-message ("n,,n=,r=..."), heap, owned by the caller. NULL: no
 * memory, or not the beginning.
 */
char *scram_client_first(struct scram_client *c);
/* Read server-first: fills salt, salt_len, iterations. 0 or -1 with e. */
int scram_client_challenge(struct scram_client *c, const char *in, size_t len,
    struct err *e);
/* With the keys for that salt: client-final. NULL: no memory or no challenge. */
char *scram_client_final(struct scram_client *c, const struct scram_keys *k);
/* Read server-final; 0 when the server proved itself, else -1 with e. */
int scram_client_verify(struct scram_client *c, const char *in, size_t len,
    struct err *e);
/*
 * Has the server proved itself? Without this AuthenticationOk means nothing:
 * whoever does not know the verifier can send it too.
 */
static inline bool scram_client_is_done(const struct scram_client *c)
{
	return c->step == SCRAM_DONE;
}
void scram_client_fini(struct scram_client *c); /* wipes; all zero again */

#endif
