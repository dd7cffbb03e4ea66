/* err.c - an error, worded once, where it is known.
 * SPDX-License-Identifier: ISC */
#include "base/err.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

int err_set(struct err *e, const char *code, const char *fmt, ...)
{
	if (e == NULL)
		return -1;

	/* Built apart: an argument may point into e. */
	struct err made;
	struct text t;
	va_list ap;

	text_copy(made.code, sizeof made.code, code);
	text_init(&t, made.text, sizeof made.text);
	va_start(ap, fmt);
	text_vaddf(&t, fmt, ap);
	va_end(ap);

	text_copy(e->code, sizeof e->code, made.code);
	text_copy(e->text, sizeof e->text, made.text);
	return -1;
}

int err_nomem(struct err *e)
{
	return err_set(e, ERRCODE_OUT_OF_MEMORY, "out of memory");
}

bool err_is_nomem(const struct err *e)
{
	return strcmp(e->code, ERRCODE_OUT_OF_MEMORY) == 0;
}

int err_prepend(struct err *e, const char *fmt, ...)
{
	if (e == NULL)
		return -1;

	char buf[sizeof e->text];
	struct text t;
	va_list ap;

	text_init(&t, buf, sizeof buf);
	va_start(ap, fmt);
	text_vaddf(&t, fmt, ap);
	va_end(ap);
	text_add(&t, e->text);

	text_copy(e->text, sizeof e->text, buf);
	return -1;
}
