/* relay_prepared.c - what is done with named statements that servers share.
 *
 * A client's name stands for a text; on the servers the text has a name of
 * its own. (spec/pooling.md section 16)
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "proto/msg.h"
#include "proto/prepared_op.h"
#include "proto/track.h"
#include "proto/unnamed.h"
#include "relay/relay_columns.h"
#include "relay/relay_deallocate.h"
#include "relay/relay_own.h"
#include "relay/relay_parts.h"
#include "relay/relay_prepared.h"
#include "relay/relay_repeat.h"
#include "relay/relay_reset.h"
#include "relay/relay_schema.h"
#include "relay/relay_share.h"
#include "relay/relay_unnamed.h"
#include "relay/relay_watch.h"
#include "session/sessions.h"

#define COPY_MAX 65536	/* bytes of a text of which a client gets its own */
#define INJECTED_MAX 65536	/* bytes of texts that one sending may have */

/*
 * May a text of ours go out now? A Bind of a few bytes may need a megabyte: the
 * next one waits until the server has taken what there is. If it may not, the
 * server is blocked, and the message is looked at again when it drains.
 */
static bool has_room(struct relay_up *up, const struct prepared *stmt)
{
	if (up->injected + stmt->len > INJECTED_MAX) {
		outbox_flush(&up->out);
		up->injected = 0;
	}
	if (stream_is_blocked(&up->s->stream))
		return false;
	up->injected += stmt->len;
	return true;
}

/*
 * There is no such statement. PostgreSQL looks for it first, whatever else the
 * message has, so the server is asked for one that it can't have: what it says
 * of that is told with the client's name.
 */
static enum relay_step send_unknown(struct relay_up *up, const char *name)
{
	static const uint8_t head[] = { FE_DESCRIBE, 0, 0, 0,
		4 + 1 + sizeof PREPARED_NAME_UNKNOWN, 'S' };
	struct prepared_op *op = prepared_op_new(PREPARED_UNKNOWN, NULL, name);

	if (op == NULL || track_add(&up->s->track, (char)up->m[0],
	    TRACK_FORWARD, op) < 0)
		return relay_no_memory(up);
	outbox_pass(&up->out, head, sizeof head);
	outbox_pass(&up->out, PREPARED_NAME_UNKNOWN,
	    sizeof PREPARED_NAME_UNKNOWN);
	return relay_drop(up);
}

/* The server, which has no such statement, is told its text. */
static enum relay_step inject(struct relay_up *up, struct prepared *stmt)
{
	return relay_send_parse(up, stmt, TRACK_SKIP,
	    prepared_op_new(PREPARED_USED, stmt, "")) < 0 ?
	    relay_no_memory(up) : RELAY_NEXT;
}

/* The same of what "" stands for, which use is of, if the server has it. */
static enum relay_step find_unnamed(struct relay_up *up, struct prepared *stmt,
    struct prepared_use *use)
{
	const bool known = relay_unnamed_is_known(up);

	if (use != NULL && relay_unnamed_is_right(up, use))
		return RELAY_NEXT;
	if (!has_room(up, stmt))
		return RELAY_SHORT;
	if (use != NULL && relay_send_close(up, stmt) < 0)
		return relay_no_memory(up);
	const enum relay_step step = inject(up, stmt);

	if (step == RELAY_NEXT)
		relay_unnamed_note(up, stmt, known);
	return step;
}

/* No room: nobody else has this server any more, so it may read the text. */
static enum relay_step keep_it(struct relay_up *up)
{
	up->s->ps.close_needed = true;
	return RELAY_NEXT;
}

/*
 * n is about to stand for another one. An answer that is owed may call by name
 * what it stands for now: the newest request about that says whose it is. 0 or -1.
 */
static int note_former(struct relay_up *up, const struct prepared_name *n)
{
	struct track *const t = &up->s->track;
	unsigned i = t->count;

	while (i > 0 && (track_req(t, i - 1)->tag != n->stmt->number ||
	    track_op(t, i - 1) != NULL))
		i--;
	if (i == 0)
		return 0;
	struct prepared_op *const op = prepared_op_of(PREPARED_WAS, n);

	if (op == NULL)
		return -1;
	track_set_op(t, i - 1, op);
	return 0;
}

/*
 * Would the server read what n stands for, now or whenever it has changed a
 * table, in another dialect than that is for? Then n stands for what others
 * have in this one.
 */
static enum relay_step fit(struct relay_up *up, struct prepared_name *n)
{
	struct client *const c = up->c;
	const size_t len = n->stmt->len;

	if ((n->stmt->effects & EFFECT_UTILITY) != 0 &&
	    n->stmt->dialect != NULL &&
	    prepared_uses_touch(&up->s->prepared, n->stmt) != NULL)
		return RELAY_NEXT;
	struct share sh = { .now = n->stmt,
		.text = { NULL, n->stmt->body, len, n->stmt->hash,
		    n->stmt->effects } };
	const enum relay_step step = relay_share_find(up, &sh);

	if (step != RELAY_NEXT)
		return step;
	if (sh.stmt == n->stmt ||
	    (sh.text.dialect == NULL && n->stmt->unsure)) {
		prepared_unref(sh.stmt);
		return RELAY_NEXT;
	}
	/* a Bind of a few bytes is not to cost a copy of a megabyte each time */
	if (sh.stmt == NULL && ((sh.text.dialect == NULL && len > COPY_MAX) ||
	    !unnamed_make_room(c->ss->unnamed, c->ss->prepared,
	    prepared_text_bytes(len),
	    sessions_statement_memory(c->ss))))
		return keep_it(up);
	struct prepared *const stmt = relay_share_get(up, &sh);

	if (stmt == NULL)
		return relay_no_memory(up);
	if (note_former(up, n) < 0) {
		prepared_unref(stmt);
		return relay_no_memory(up);
	}
	prepared_name_move(n, stmt);
	prepared_unref(stmt);
	return relay_is_open(up->s, NULL, n->stmt) ? relay_wait(up) :
	    RELAY_NEXT;
}

/* Hot: is there no need to look closer? */
static bool is_fit(const struct relay_up *up, const struct prepared *stmt)
{
	const struct server *const s = up->s;
	const struct dialect *const d = &s->dialect;

	if (stmt->dialect == NULL)
		return !stmt->unsure;
	return dialect_is(d, stmt->dialect) && d->params == s->params &&
	    d->has == s->keep.has && s->keep.flight == NULL &&
	    track_is_empty(&s->track) && s->track.ready;
}

/*
 * The statement a name stands for, prepared on the linked server by now, if
 * the step is RELAY_NEXT; *out unchanged: there is none, and the message is
 * done with. No matter what the server has said so far, it will be right when
 * the message gets there.
 */
static enum relay_step find_statement(struct relay_up *up, const char *name,
    struct prepared_name **out)
{
	struct prepared_name *const n = prepared_name_find(up->c->statements, name);
	struct prepared *stmt = n == NULL ? NULL : n->stmt;

	if (relay_is_open(up->s, name, stmt) ||
	    (n == NULL && !track_is_empty(&up->s->track)))
		return relay_wait(up);
	if (n == NULL)
		return send_unknown(up, name);
	const enum relay_step step = name[0] == '\0' || is_fit(up, stmt) ?
	    RELAY_NEXT : fit(up, n);

	if (step != RELAY_NEXT)
		return step;
	*out = n;
	stmt = n->stmt;
	struct prepared_use *const use = prepared_uses_touch(&up->s->prepared,
	    stmt);

	if (name[0] == '\0')
		return find_unnamed(up, stmt, use);
	if (use != NULL)
		return RELAY_NEXT;
	return has_room(up, stmt) ? inject(up, stmt) : RELAY_SHORT;
}

/* The same; or *out is NULL and the message is done with. */
static enum relay_step check_pass(struct relay_up *up, const char *name,
    struct prepared_name **out)
{
	*out = NULL;
	if (track_wants_data(&up->s->track))
		return relay_request(up);	/* the message ends the COPY */
	return find_statement(up, name, out);
}

/* The use of the statement that was found just now. */
static inline struct prepared_use *newest(const struct relay_up *up)
{
	return up->s->prepared.lru->prev;
}

/* The server is told the text of n again, in place of what it has. */
static enum relay_step renew(struct relay_up *up, struct prepared_name *n)
{
	if (!has_room(up, n->stmt))
		return RELAY_SHORT;
	if (relay_send_close(up, n->stmt) < 0)
		return relay_no_memory(up);
	const enum relay_step step = inject(up, n->stmt);

	return step != RELAY_NEXT ? step : relay_columns_ask(up, newest(up));
}

/* The client was told other columns than there are, or nobody knows. */
static enum relay_step check_columns(struct relay_up *up,
    struct prepared_name *n, enum columns how)
{
	struct prepared_use *const use = newest(up);

	switch (how) {
	case COLUMNS_ASK:
		return relay_columns_ask(up, use);
	case COLUMNS_RENEW:
		return renew(up, n);
	case COLUMNS_REFUSE:
		/* others are to have it parsed anew, but here */
		prepared_outdate(n->stmt);
		use->generation = relay_schema_generation(up->s);
		return relay_refuse_bind(up);
	default:
		return RELAY_SHORT;
	}
}

/* Hot: as relay_string_at() and strlen(); most portals have no name. */
static inline const char *string_at(const uint8_t *p, size_t n)
{
	return n > 0 && *p == '\0' ? (const char *)p : relay_string_at(p, n);
}
static inline size_t length(const char *s)
{
	return *s == '\0' ? 0 : strlen(s);
}

/* What is bound may be run. 0, or -1: no memory. */
static inline int note_bind(struct relay_up *up, struct prepared_name *n,
    const uint8_t *values)
{
	const struct prepared *const stmt = n->stmt;

	relay_columns_bound(up, n, newest(up),
	    (const char *)up->m + MSG_HEADER);
	if ((stmt->effects & PREPARED_ACTS) != 0) {
		up->c->relay.execute_holds |=
		    (stmt->effects & EFFECTS_HOLD) != 0;
		if ((stmt->effects & EFFECT_SCHEMA) != 0)
			relay_schema_may_change(up->s);
	}
	if (up->watched)
		relay_watch_bind(up, stmt, values);
	if ((stmt->effects & EFFECT_MAY_SET) != 0)
		up->s->dialect.pending = true;
	if (track_add(&up->s->track, FE_BIND, TRACK_FORWARD, NULL) < 0)
		return -1;
	track_tag(&up->s->track, stmt->number);
	up->c->pc.pool->counted.now.bind_count++;
	return 0;
}

/*
 * A Bind of the portal: the server has what it is of. False: *step is what
 * becomes of it.
 */
static bool meets(struct relay_up *up, const char *portal, const char *name,
    enum relay_step *step)
{
	const bool unnamed = name[0] == '\0';
	const bool ours = up->caches && relay_unnamed_stands(up);

	*step = RELAY_NEXT;
	if (unnamed && up->caches && relay_unnamed_is_open(up)) {
		*step = relay_wait(up);
		return false;
	}
	if (unnamed && !ours && !relay_own_meets(up, step))
		return false;
	if (up->c->relay.dealloc.name != NULL)
		*step = relay_dealloc_bind(up, portal, unnamed);
	return *step == RELAY_NEXT;
}

/* Values that are names, or NULL to reset what has a name: are they here? */
static inline enum relay_step read_values(struct relay_up *up,
    const struct prepared *stmt, const uint8_t *values)
{
	if (stmt->bound != 0 && relay_watch_is_cut(up, stmt->bound))
		return RELAY_SHORT;
	return (stmt->effects & EFFECTS_BACK) == 0 ? RELAY_NEXT :
	    relay_reset_bind_named(up, stmt, values);
}

/* The header, the portal, and our name in place of one of so many bytes. */
static inline void send_bind_head(struct relay_up *up,
    const struct prepared *stmt, size_t name_size)
{
	const uint8_t *const portal = up->m + MSG_HEADER;
	uint8_t head[MSG_HEADER + 1 + sizeof stmt->name] = { FE_BIND };
	size_t n = MSG_HEADER;

	msg_put_u32(head + 1, (uint32_t)(up->size - 1 - name_size +
	    stmt->name_len));
	if (*portal == '\0') {	/* hot: most have no name; all is one piece */
		n++;
	} else {
		outbox_copy(&up->out, head, n);
		outbox_pass(&up->out, portal, strlen((const char *)portal) + 1);
		n = 0;
	}
	memcpy(head + n, stmt->name, sizeof stmt->name);
	outbox_copy(&up->out, head, n + stmt->name_len);
}

enum relay_step relay_bind(struct relay_up *up)
{
	struct client *c = up->c;
	const uint8_t *portal = up->m + MSG_HEADER;

	/* hot: unnamed portal, unnamed statement */
	if (up->have > MSG_HEADER + 2 && up->size > MSG_HEADER + 2 &&
	    portal[0] == '\0' && portal[1] == '\0' &&
	    c->relay.dealloc.name == NULL && !up->caches &&
	    relay_own_is_there(c, up->s))
		return relay_request(up);
	const size_t here = up->have < up->size ? up->have : up->size;
	const uint8_t *end = up->m + here;
	const char *p = string_at(portal, (size_t)(end - portal));
	const uint8_t *at = p == NULL ? end : portal + length(p) + 1;
	const char *name = relay_string_at(at, (size_t)(end - at));

	if (name == NULL)
		return here < up->size && here < RELAY_NAMES_MAX ? RELAY_SHORT :
		    relay_fail(up, CLOSE_BROKEN_BIND_PACKET);
	const bool ours = up->caches && relay_unnamed_stands(up);
	enum relay_step step;

	if (!meets(up, p, name, &step))
		return step;
	if (up->caches)
		relay_unnamed_bind(up, name[0] != '\0', ours);
	if (name[0] == '\0' && !ours)
		return relay_request(up);
	struct prepared_name *n;
	enum columns how;

	relay_repeat_note(up);
	step = check_pass(up, name, &n);
	if (step != RELAY_NEXT || n == NULL)
		return step;
	struct prepared *const stmt = n->stmt;
	const uint8_t *const rest = at + strlen(name) + 1;
	if (!prepared_shape_fits(&n->told, &newest(up)->shape) &&
	    (how = relay_columns_look(up, n, newest(up))) != COLUMNS_PASS)
		return check_columns(up, n, how);
	if ((step = read_values(up, stmt, rest)) != RELAY_NEXT)
		return step;
	if (note_bind(up, n, rest) < 0)
		return relay_no_memory(up);
	send_bind_head(up, stmt, (size_t)(rest - at));
	if (end > rest)
		outbox_pass(&up->out, rest, (size_t)(end - rest));
	c->rest.bytes = (uint32_t)(up->size - here);
	up->used = here;
	return RELAY_NEXT;
}

/* "S" and a name that is not empty: a statement of ours. NULL: not. */
static const char *statement_name(const struct relay_up *up)
{
	const uint8_t *body = up->m + MSG_HEADER;
	const size_t len = up->size - MSG_HEADER;

	if (len < 2 || body[0] != 'S')
		return NULL;
	const char *name = relay_string_at(body + 1, len - 1);

	return name == NULL || name[0] == '\0' ? NULL : name;
}

/* The same, and "", where that stands for one. */
static const char *known_name(const struct relay_up *up)
{
	const uint8_t *const body = up->m + MSG_HEADER;
	const char *const name = statement_name(up);

	return name == NULL && up->caches && body[0] == 'S' &&
	    relay_unnamed_stands(up) ? "" : name;
}

/* Is the message whole and sound? */
static enum relay_step check_target(struct relay_up *up,
    enum close_reason broken)
{
	const size_t len = up->size - MSG_HEADER;

	if (up->have < up->size && up->size <= RELAY_NAMES_MAX)
		return RELAY_SHORT;
	if (len < 2 || up->size > RELAY_NAMES_MAX ||
	    relay_string_at(up->m + MSG_HEADER + 1, len - 1) == NULL)
		return relay_fail(up, broken);
	return RELAY_NEXT;
}

/* Describe of a portal, or of the unnamed statement. */
static enum relay_step describe_other(struct relay_up *up)
{
	if (up->m[MSG_HEADER] == 'S') {
		if (up->caches && relay_unnamed_is_open(up))
			return relay_wait(up);
		const enum relay_step step = relay_own_reach(up);

		return step == RELAY_NEXT ? relay_own_tell(up) : step;
	}
	if (up->m[MSG_HEADER] != 'P' || !relay_columns_learns(up,
	    (const char *)up->m + MSG_HEADER + 1))
		return relay_request(up);
	if (relay_columns_learn(up) < 0)
		return relay_no_memory(up);
	relay_pass(up);
	return RELAY_NEXT;
}

enum relay_step relay_describe(struct relay_up *up)
{
	const enum relay_step step = check_target(up,
	    CLOSE_BROKEN_DESCRIBE_PACKET);

	if (step != RELAY_NEXT)
		return step;
	const char *name = known_name(up);

	if (name == NULL)
		return describe_other(up);
	struct prepared_name *n;

	relay_repeat_note(up);
	const enum relay_step found = check_pass(up, name, &n);

	if (found != RELAY_NEXT || n == NULL)
		return found;
	struct prepared *const stmt = n->stmt;

	/* the client was told by what was parsed later */
	if (prepared_shape_is_older(&newest(up)->shape, &n->told))
		return check_columns(up, n, COLUMNS_RENEW);
	if (relay_columns_describe(up, n, newest(up)) < 0)
		return relay_no_memory(up);
	track_tag(&up->s->track, stmt->number);
	relay_send_named(up, FE_DESCRIBE, "S", stmt);
	up->used = up->size;
	return RELAY_NEXT;
}

/* Close of a portal, or of the unnamed statement. */
static enum relay_step close_other(struct relay_up *up)
{
	const bool unnamed = up->m[MSG_HEADER] == 'S';
	const enum relay_step step = unnamed && up->caches ?
	    relay_unnamed_end(up) : RELAY_NEXT;

	if (unnamed && step == RELAY_NEXT) {
		relay_own_replaces(up);
		relay_dealloc_clear(&up->c->relay);
	}
	return step == RELAY_NEXT ? relay_request(up) : step;
}

enum relay_step relay_close(struct relay_up *up)
{
	struct client *c = up->c;
	const enum relay_step step = check_target(up,
	    CLOSE_BROKEN_CLOSE_PACKET);

	if (step != RELAY_NEXT)
		return step;
	const char *name = statement_name(up);

	if (name == NULL)
		return close_other(up);
	if (up->s != NULL && track_wants_data(&up->s->track))
		return relay_request(up);	/* the message ends the COPY */
	/* where our own reply belongs is known when the COPY is over */
	if (up->s != NULL && (relay_is_open(up->s, name, NULL) ||
	    up->s->track.uncertain || track_has_copy_end(&up->s->track)))
		return relay_wait(up);
	struct prepared_name *n = prepared_name_find(c->statements, name);
	struct prepared_op *op = n == NULL ?
	    prepared_op_new(PREPARED_UNNAMED, NULL, name) :
	    prepared_op_of(PREPARED_UNNAMED, n);

	if (op == NULL)
		return relay_no_memory(up);
	prepared_name_remove(&c->statements, name);
	return relay_fake(up, FE_CLOSE, op);
}

bool relay_half_waits(const struct relay_up *up)
{
	if (up->m[0] == FE_QUERY || (!up->named && up->m[0] == FE_PARSE))
		return relay_is_cut(up);
	switch (up->m[0]) {
	case FE_PARSE:
		return relay_own_is_cut(up) || relay_is_cut(up) ||
		    (up->named && up->m[MSG_HEADER] != '\0');
	case FE_BIND:
		return up->have < RELAY_NAMES_MAX;
	case FE_DESCRIBE:
	case FE_CLOSE:
		return up->size <= RELAY_NAMES_MAX;
	case FE_EXECUTE:
		return up->named && relay_execute_holds(&up->c->relay);
	default:
		return false;
	}
}

bool relay_is_local_close(const struct relay_up *up)
{
	return up->have >= up->size && statement_name(up) != NULL;
}
