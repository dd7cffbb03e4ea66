/* login_others.c - start-up parameters that no list knows.
 * SPDX-License-Identifier: ISC */
#include "login/login_others.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "conf/config_state.h"
#include "conf/startup_params.h"
#include "login/login_log.h"
#include "login/login_parts.h"
#include "proto/baggage.h"
#include "proto/params.h"
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
	if ((c->replication != REPLICATION_NONE ||
	    !config_keeps_state(c->ss->catalog->config)) &&
	    !config_forces_startup(c->ss->catalog->config)) {
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

/* --- what the operator has forced --- */

/* Of the tracked ones, those that are not. 0, or -1: no memory. */
static int drop_tracked(struct client *c, const struct startup_params *forced)
{
	const char *values[PARAMS_MAX];
	bool any = false;

	for (int i = 0; i < params_count(c->ss->params); i++) {
		const bool drop = startup_params_force(forced,
		    params_name(c->ss->params, i));

		values[i] = drop ? NULL : params_get(c->params, i);
		any = any || (drop && params_get(c->params, i) != NULL);
	}
	struct params *left = any ? params_of(c->ss->params, values) : NULL;

	if (!any)
		return 0;
	if (left == NULL)
		return -1;
	params_unref(&c->params);
	c->params = left;
	return 0;
}

/* The same of names and values in w. */
static void drop_others(struct login *l, struct writer *w,
    const struct startup_params *forced)
{
	const char *at = (const char *)w->at;
	const char *const end = at == NULL ? NULL : at + w->len;
	struct writer left;

	writer_init(&left, w->cap);
	while (at != end) {
		const char *const value = at + strlen(at) + 1;

		if (startup_params_force(forced, at)) {
			l->other_count--;
		} else {
			writer_str(&left, at);
			writer_str(&left, value);
		}
		at = value + strlen(value) + 1;
	}
	left.failed = left.failed || w->failed;
	writer_fini(w);
	*w = left;
}

/* What is left of them is the client's. 0, or -1 with e. */
static int drop_forced(struct client *c, struct err *e)
{
	struct login *const l = c->login;
	const struct pool *const p = c->pc.pool;
	struct startup_params forced;

	if (c->db->console || !config_forces_startup(c->ss->catalog->config))
		return 0;
	if (startup_params_of(&forced, c->ss->catalog->config,
	    p->key.db->conf, p->key.user->conf) < 0)
		return err_nomem(e);
	const int rc = drop_tracked(c, &forced);

	for (int i = 0; i < 2; i++)
		drop_others(l, &l->others[i], &forced);
	startup_params_fini(&forced);
	if (rc < 0 || l->others[0].failed || l->others[1].failed)
		return err_nomem(e);
	const int first = l->others[0].len > 0 ? 0 : 1;

	if (l->unsupported == NULL)
		return 0;
	if (l->other_count == 0) {
		mem_free(l->unsupported);
		l->unsupported = NULL;
		return 0;
	}
	err_set(l->unsupported, ERRCODE_PROTOCOL_VIOLATION, first == 0 ?
	    "unsupported startup parameter: %s" :
	    "unsupported startup parameter in options: %s",
	    (const char *)l->others[first].at);
	return 0;
}

int login_accept_others(struct client *c, struct err *e)
{
	struct login *const l = c->login;
	struct writer *const named = &l->others[0];

	if (drop_forced(c, e) < 0)
		return -1;
	if (l->unsupported == NULL)
		return 0;
	if (c->db->console || c->replication != REPLICATION_NONE ||
	    !keep_sets(c->pc.pool)) {
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
