/* login_others.c - start-up parameters that no list knows.
 * SPDX-License-Identifier: ISC */
#include "login/login_others.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "conf/config_state.h"
#include "login/login_log.h"
#include "login/login_parts.h"
#include "proto/baggage.h"
#include "session/client.h"
#include "session/sessions.h"
#include "state/keep.h"

/* PostgreSQL takes no packet of more bytes. */
#define OTHERS_BYTES 10000
#define OTHERS_MAX 200

void login_others_fini(struct login *l)
{
	writer_fini(&l->others[0]);
	writer_fini(&l->others[1]);
	mem_free(l->unsupported);
	l->unsupported = NULL;
}

/* In front: of a name that comes twice the last one counts. */
static void put(struct writer *w, const struct login_other *o)
{
	struct writer all;

	writer_init(&all, OTHERS_BYTES);
	for (const char *s = o->name; *s != '\0'; s++)
		writer_u8(&all, *s >= 'A' && *s <= 'Z' ?
		    (uint8_t)(*s + ('a' - 'A')) : (uint8_t)*s);
	writer_u8(&all, 0);
	writer_str(&all, o->value);
	if (w->len > 0)
		writer_bytes(&all, w->at, w->len);
	writer_fini(w);
	*w = all;
}

int login_take_other(struct client *c, const struct login_other *o,
    struct err *e)
{
	struct login *const l = c->login;
	struct writer *const w = &l->others[o->in_options];

	err_set(e, ERRCODE_PROTOCOL_VIOLATION, o->in_options ?
	    "unsupported startup parameter in options: %s" :
	    "unsupported startup parameter: %s", o->name);
	if (l->unsupported == NULL)
		l->unsupported = mem_dup(e, sizeof *e);
	if (l->unsupported == NULL)
		return err_nomem(e);
	if (c->replication != REPLICATION_NONE ||
	    !config_keeps_state(c->ss->catalog->config)) {
		login_log(c, LEVEL_WARNING, "%s=%s", e->text, o->value);
		return -1;
	}
	put(w, o);
	return !w->failed && ++l->other_count <= OTHERS_MAX ? 0 :
	    err_set(e, ERRCODE_LIMIT_EXCEEDED, "too many startup parameters");
}

bool login_refuses_other(const struct client *c, const struct err *why)
{
	const struct err *const e = c->login->unsupported;

	return e != NULL && strcmp(e->text, why->text) == 0;
}

int login_accept_others(struct client *c, struct err *e)
{
	struct login *const l = c->login;
	struct writer *const named = &l->others[0];

	if (l->unsupported == NULL)
		return 0;
	if (c->db->console || !keep_sets(c->pc.pool)) {
		*e = *l->unsupported;
		login_log(c, LEVEL_WARNING, "%s", e->text);
		return -1;
	}
	named->cap += OTHERS_BYTES;
	writer_bytes(named, l->others[1].at, l->others[1].len);
	if (!named->failed)
		c->brought = baggage_get(c->ss->baggage, named->at,
		    named->len);
	return c->brought == NULL ? err_nomem(e) : 0;
}
