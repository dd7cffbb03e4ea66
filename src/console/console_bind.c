/* console_bind.c - the values and formats that a Bind brings.
 * SPDX-License-Identifier: ISC */
#include "console/console_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "proto/msg.h"
#include "proto/reader.h"
#include "proto/type_oid.h"

#define FORMATS_MAX 128

/* Format codes as Bind has them: none, one for all, or one each. */
struct formats {
	unsigned count;
	uint16_t codes[FORMATS_MAX];
};

static int read_formats(struct reader *body, struct formats *f, struct err *e)
{
	f->count = reader_u16(body);
	if (f->count > FORMATS_MAX)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "too many format codes");
	for (unsigned i = 0; i < f->count; i++) {
		f->codes[i] = reader_u16(body);
		if (!body->failed && f->codes[i] > 1)
			return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
			    "unsupported format code: %u", f->codes[i]);
	}
	return 0;
}

static bool is_binary(const struct formats *f, size_t i)
{
	if (f->count == 0)
		return false;
	return f->codes[f->count == 1 ? 0 : i] == 1;
}

/* Binary integers, by their size; NULL: it is none. */
static char *integer_text(const uint8_t *p, size_t n)
{
	char buf[32];
	int64_t value;

	if (n == 2)
		value = (int16_t)(p[0] << 8 | p[1]);
	else if (n == 4)
		value = (int32_t)msg_u32(p);
	else if (n == 8)
		value = (int64_t)((uint64_t)msg_u32(p) << 32 | msg_u32(p + 4));
	else
		return NULL;
	snprintf(buf, sizeof buf, "%lld", (long long)value);
	return mem_strdup(buf);
}

struct param_bytes {
	const uint8_t *at;
	uint32_t len;
	uint32_t oid;
	bool binary;
};

static int param_text(const struct param_bytes *pb, char **out, struct err *e)
{
	if (pb->binary && type_is_integer(pb->oid))
		*out = integer_text(pb->at, pb->len);
	else if (pb->binary && !type_is_text(pb->oid))
		return err_set(e, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "parameters of type %u must be text", (unsigned)pb->oid);
	else if (memchr(pb->at, '\0', pb->len) != NULL)
		return err_set(e, ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
		    "a parameter has a zero byte");
	else
		*out = mem_strndup((const char *)pb->at, pb->len);
	return *out != NULL ? 0 : err_set(e,
	    ERRCODE_INVALID_BINARY_REPRESENTATION,
	    "a parameter is no number, or there is no memory");
}

static int read_value(struct reader *body, struct param_bytes *pb, char **out,
    struct err *e)
{
	pb->len = reader_u32(body);
	if (body->failed)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "invalid Bind message");
	if (pb->len == UINT32_MAX)
		return err_set(e, ERRCODE_NULL_VALUE_NOT_ALLOWED,
		    "a parameter must not be null");
	pb->at = reader_bytes(body, pb->len);
	if (pb->at == NULL)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "invalid Bind message");
	return param_text(pb, out, e);
}

static int read_values(struct reader *body, const struct console_prepared *ps,
    struct console_portal *p, struct err *e)
{
	struct formats f;

	if (read_formats(body, &f, e) < 0)
		return -1;
	const unsigned n = reader_u16(body);

	if (n != ps->params || (f.count > 1 && f.count != n))
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION, "bind message "
		    "supplies %u parameters, but prepared statement \"%s\" "
		    "requires %u", n, ps->name, ps->params);
	for (; p->params < n; p->params++) {
		struct param_bytes pb = { .oid = ps->types[p->params],
			.binary = is_binary(&f, p->params) };

		if (read_value(body, &pb, &p->values[p->params], e) < 0)
			return -1;
	}
	return 0;
}

static int read_results(struct reader *body, const struct shape *shape,
    struct console_portal *p, struct err *e)
{
	struct formats f;

	if (read_formats(body, &f, e) < 0)
		return -1;
	if (body->failed || reader_left(body) > 0)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "invalid Bind message");
	if (f.count > 1 && f.count != shape->count)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION, "bind message "
		    "has %u result formats but query has %zu columns", f.count,
		    shape->count);
	for (size_t i = 0; i < shape->count; i++)
		p->binary[i] = is_binary(&f, i);
	return 0;
}

int portal_read(struct console *k, struct console_portal *p,
    const struct console_prepared *ps, struct reader *body)
{
	struct err e;
	struct statement *st = read_values(body, ps, p, &e) < 0 ? NULL :
	    portal_make(k, p, &e);
	const int rc = st == NULL ? -1 :
	    read_results(body, &st->shape, p, &e);

	statement_free(&st);
	if (rc < 0)
		extended_refuse(k, &e);
	return rc;
}
