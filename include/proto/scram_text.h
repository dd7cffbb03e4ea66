/* scram_text.h - the grammar of SCRAM messages (RFC 5802 §7).
 * SPDX-License-Identifier: ISC */
/* private to scram_*.c */
#ifndef PROTO_SCRAM_TEXT_H
#define PROTO_SCRAM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/crypto.h"
#include "proto/scram.h"

struct err;

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
