/* close_reason.h - why connections are closed.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_CLOSE_REASON_H
#define POOL_CLOSE_REASON_H

struct err;

enum close_reason {
	CLOSE_NONE,		/* the connection may stay */
#define X(name, text, code) CLOSE_##name,
#include "pool/close_reason.def"
#undef X
	CLOSE_REASONS
};

/* What the log and the client are told; the strings are borrowed. */
struct close_cause {
	enum close_reason reason;
	const char *text;	/* the reason's own, or made at run time */
	const char *code;	/* SQLSTATE; NULL: a protocol violation */
	const char *detail, *hint;	/* for the client; NULL: none */
};

/* NULL of CLOSE_NONE. */
const char *close_reason_text(enum close_reason reason);
/* With the reason's own text and code. */
struct close_cause close_cause(enum close_reason reason);
/* With the text and code of e, which must outlive the cause. */
struct close_cause close_cause_err(enum close_reason reason,
    const struct err *e);

#endif
