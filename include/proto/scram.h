/* scram.h - SCRAM-SHA-256 (RFC 5802, 7677), both roles: strings in and out.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_SCRAM_H
#define PROTO_SCRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/crypto.h"
#include "proto/scram_verifier.h"

struct err;

#define SCRAM_MECHANISM "SCRAM-SHA-256"
#define SCRAM_MECHANISM_PLUS "SCRAM-SHA-256-PLUS"
#define SCRAM_BINDING_MAX 64
#define SCRAM_MESSAGE_MAX 8192	      /* one SASL message, either way */

/* Binding of an exchange to its TLS connection: tls-server-end-point. */
struct scram_binding {
	size_t len;		/* 0: there is none */
	uint8_t bytes[SCRAM_BINDING_MAX];
};

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
	/* Set by the caller before the first message: */
	struct scram_binding binding; /* our offer; or none */
	bool plus;		 /* the client has taken the offer */

	char gs2;		 /* 'n', 'y' or 'p' */
	char *nonce;		 /* owned: client's followed by ours */
	char *auth_message;	 /* owned: client-first-bare , server-first */
	struct scram_verifier v; /* owned copy */
	struct random_pool *random; /* borrowed; NULL: ask the generator */
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
	/* Set by the caller before the first message: */
	struct scram_binding binding; /* to be used; or none */
	bool unbound;	/* we could bind, but the server does not offer to */

	char nonce[32]; /* ours, text */
	char *client_first_bare, *server_first, *client_final_bare; /* owned */
	struct scram_keys keys; /* copy of what scram_client_final() got */
	uint8_t salt[SCRAM_SALT_MAX]; /* as the server asked for */
	size_t salt_len;
	int iterations;
	const char *nonce_full; /* inside server_first */
	size_t nonce_full_len;
};

/*
 * client-first-message ("n,,n=,r=..."; "y,," if unbound), heap, owned by the caller. NULL: no
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

/* The grammar of SCRAM messages (RFC 5802 §7). */

/* Bytes of randomness in a nonce of ours, and the text they make. */
#define SCRAM_NONCE_RAW 18
#define SCRAM_NONCE_TEXT CRYPTO_BASE64_SIZE(SCRAM_NONCE_RAW)

/* Some bytes of a message; not terminated; borrowed. */
struct scram_span {
	const char *at;
	size_t len;
};

/* A whole SASL message: neither empty nor too long, no NUL. 0 or -1 with e. */
int scram_text_check(const char *in, size_t len, struct err *e);

/*
 * Take "<name>=<value>" and the comma after it off the front of rest.
 * A comma at the very end is kept, so that it is noticed as garbage.
 */
bool scram_text_take(struct scram_span *rest, char name,
    struct scram_span *value);
/* The same for any attribute, whose name goes to *name. */
bool scram_text_take_any(struct scram_span *rest, char *name,
    struct scram_span *value);

/* At least one byte, all of them RFC 5802's "printable". */
bool scram_text_is_printable(struct scram_span s);
bool scram_text_equals(struct scram_span s, const char *text);

/* A posit-number within SCRAM_ITERATIONS_MAX. */
bool scram_text_iterations(struct scram_span s, int *out);
/* Base64 of 1..SCRAM_SALT_MAX bytes. */
bool scram_text_salt(struct scram_span s, uint8_t *salt, size_t *salt_len);
/* Base64 of exactly SHA256_BYTES. */
bool scram_text_key(struct scram_span s, uint8_t key[SHA256_BYTES]);

/* Of scram_text_binding(), the NUL included. */
#define SCRAM_BINDING_TEXT CRYPTO_BASE64_SIZE(SCRAM_BINDING_MAX + 24)

/* The GS2 header for the flag 'n', 'y' or 'p'. */
const char *scram_text_gs2(char flag);
/* The value of "c=" in client-final: that header, and what is bound to. */
void scram_text_binding(char flag, const struct scram_binding *b,
    char out[SCRAM_BINDING_TEXT]);

/* The strings up to a NULL, joined; heap. NULL: no memory. */
char *scram_text_join(const char *first, ...) __attribute__((sentinel));

/* a and b, with a comma between; heap. NULL: no memory. */
char *scram_text_join_two(struct scram_span a, struct scram_span b);

/* HMAC of a text. 0 or -1 (no memory). */
int scram_text_sign(const uint8_t key[SHA256_BYTES], const char *message,
    uint8_t out[SHA256_BYTES]);

int scram_err_memory(struct err *e); /* returns -1 */

#endif
