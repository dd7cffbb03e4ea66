/* console_extended.c - the extended query protocol on the console.
 *
 * A prepared statement is a text, checked; a portal is that text with the values
 * of its parameters.
 * SPDX-License-Identifier: ISC */
#include "console/console_parts.h"

#include "base/err.h"
#include "proto/msg.h"
#include "proto/reader.h"

static void write_shape(struct console *k, const struct shape *shape)
{
	if (shape->count > 0)
		table_write_description(&k->out, shape);
	else
		console_signal(k, BE_NO_DATA);
}

static int describe_prepared(struct console *k, const char *name,
    struct err *e)
{
	const struct console_prepared *const ps = prepared_find(k, name);

	if (ps == NULL)
		return err_set(e, ERRCODE_UNDEFINED_PSTATEMENT,
		    "prepared statement \"%s\" does not exist", name);
	struct statement *st = prepared_make(k, ps, e);

	if (st == NULL)
		return -1;
	writer_begin(&k->out, BE_PARAMETER_DESCRIPTION);
	writer_u16(&k->out, (uint16_t)ps->params);
	for (unsigned i = 0; i < ps->params; i++)
		writer_u32(&k->out, ps->types[i]);
	writer_end(&k->out);
	write_shape(k, &st->shape);
	statement_free(&st);
	return 0;
}

static int describe_portal(struct console *k, const char *name, struct err *e)
{
	const struct console_portal *const p = portal_find(k, name);

	if (p == NULL)
		return err_set(e, ERRCODE_UNDEFINED_CURSOR,
		    "portal \"%s\" does not exist", name);
	struct statement *st = portal_make(k, p, e);

	if (st == NULL)
		return -1;
	write_shape(k, &st->shape);
	statement_free(&st);
	return 0;
}

void console_describe(struct console *k, struct reader *body)
{
	const uint8_t what = reader_u8(body);
	const char *const name = reader_str(body);
	struct err e;

	if (name == NULL || (what != 'S' && what != 'P')) {
		extended_bad_message(k, "Describe");
		return;
	}
	if ((what == 'S' ? describe_prepared(k, name, &e) :
	    describe_portal(k, name, &e)) < 0)
		extended_refuse(k, &e);
	else
		console_send(k);
}

void console_close(struct console *k, struct reader *body)
{
	const uint8_t what = reader_u8(body);
	const char *const name = reader_str(body);

	if (name == NULL || (what != 'S' && what != 'P')) {
		extended_bad_message(k, "Close");
		return;
	}
	/* a name that nothing has is no error */
	if (what == 'S')
		prepared_drop(k, prepared_find(k, name));
	else
		portal_drop(k, portal_find(k, name));
	console_signal(k, BE_CLOSE_COMPLETE);
	console_send(k);
}

void console_sync(struct console *k)
{
	struct console_portal *const unnamed = portal_find(k, "");

	if (unnamed != NULL && unnamed->done)
		portal_drop(k, unnamed);
	k->extended = k->skipping = false;
	writer_ready(&k->out, 'I');
	console_send(k);
}

void console_fini_extended(struct console *k)
{
	struct console_portal *p, *next;

	console_forget(k, "");
	HASH_ITER(hh, k->portals, p, next)
		portal_drop(k, p);
}
