/* close_reason.c - the texts and codes of reasons.
 * SPDX-License-Identifier: ISC */
#include "pool/close_reason.h"

#include <stddef.h>

#include "base/err.h"

static const struct {
	const char *text, *code;
} rows[CLOSE_REASONS] = {
#define X(name, text, code) [CLOSE_##name] = { text, code },
#include "pool/close_reason.def"
#undef X
};

const char *close_reason_text(enum close_reason reason)
{
	return rows[reason].text;
}

struct close_cause close_cause(enum close_reason reason)
{
	return (struct close_cause){ .reason = reason,
		.text = rows[reason].text, .code = rows[reason].code };
}

struct close_cause close_cause_err(enum close_reason reason,
    const struct err *e)
{
	return (struct close_cause){ .reason = reason, .text = e->text,
		.code = e->code };
}
