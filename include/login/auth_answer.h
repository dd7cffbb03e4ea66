/* auth_answer.h - what a server says to auth_query, message by message.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_AUTH_ANSWER_H
#define LOGIN_AUTH_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum auth_answer_kind {
	AUTH_ANSWER_MORE,	/* nothing to be done about it */
	AUTH_ANSWER_ROW,	/* name and secret are set */
	AUTH_ANSWER_PARAMETER,	/* the same, of a ParameterStatus */
	AUTH_ANSWER_END,	/* ready, and nothing was wrong */
	AUTH_ANSWER_ERROR,	/* an ErrorResponse; why is set */
	AUTH_ANSWER_BAD,	/* why is set */
};

/* A piece of the message just read, without a NUL in it. */
struct auth_field {
	const char *at;			/* borrowed; NULL: it is NULL */
	size_t len;
};

/* All zero to begin. */
struct auth_answer {
	uint16_t results;		/* ended: that of the search_path, ours */
	bool denied;	/* it has failed in a way that is the server's answer */
	unsigned heard;			/* bytes of messages; the caller counts */
	struct auth_field name, secret;	/* name is never NULL, nor empty */
	char why[64];			/* for the log */
};

/* Take the next message: its type and body. */
enum auth_answer_kind auth_answer_take(struct auth_answer *a, char type,
    const uint8_t *body, size_t len);

#endif
