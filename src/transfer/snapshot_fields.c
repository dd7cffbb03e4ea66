/* snapshot_fields.c - what happens to each field of a session in a snapshot.
 *
 * There is a row for each field, in order, so none can be forgotten: a field
 * without a row does not compile. A row says what must be true so that the
 * session can be handed over. MOVED: snapshot.c writes the field, and
 * snapshot_load.c reads it. MADE: the field is created again, belongs to a
 * login, or follows from others. A() is for arrays. An array without a length
 * at the end of a struct has no row.
 *
 * test/lint/fields.py looks for structs without rows, and for fields that
 * nobody writes or reads.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>

#include "broker/canceler.h"
#include "notify/channels.h"
#include "notify/listener.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "transfer/snapshot.h"

#define MOVED true
#define MADE true

/* Queued bytes move. A stream that moves was paused by suspension.h. */
#define STREAM(X, A) \
	X(stream, socket, MOVED) X(stream, loop, MADE) X(stream, ops, MADE) \
	X(stream, transport, MADE) X(stream, tls, it->tls == NULL) \
	X(stream, gssenc, it->gssenc == NULL) \
	X(stream, over, MOVED) X(stream, hold, MADE) X(stream, flow, MADE) \
	X(stream, task, MADE) X(stream, fd, MOVED) X(stream, ready, MADE) \
	X(stream, hup, MADE) X(stream, paused, MADE) \
	X(stream, broken, !it->broken) X(stream, given, !it->given) \
	X(stream, long_reads, MADE) X(stream, in_line, MADE)

#define CARRY(X, A) \
	X(carry, at, MOVED) X(carry, len, MOVED) X(carry, size, MADE) \
	X(carry, used, MADE)

#define REST(X, A) X(message_rest, bytes, MOVED) X(message_rest, dropped, MOVED)

/* Written by relay_state_save(). */
#define RELAY_STATE(X, A) \
	X(relay_state, hold, MOVED) \
	X(relay_state, execute_holds, MOVED) \
	X(relay_state, discards, MOVED) X(relay_state, repeats, MOVED) \
	X(relay_state, withheld, MOVED) \
	X(relay_state, resetting, MOVED) X(relay_state, stands, MADE) \
	X(relay_state, batch, MADE) X(relay_state, own, is_movable_own(&it->own)) \
	X(relay_state, dealloc, MOVED) X(relay_state, start, MOVED) \
	X(relay_state, resets, MOVED) X(relay_state, texts, MOVED) \
	X(relay_state, text, MADE) X(relay_state, learns, MADE)

#define OWN_TEXT(X, A) \
	X(own_text, at, MOVED) X(own_text, len, MOVED) X(own_text, size, MADE) \
	X(own_text, told, MOVED)

#define OWN(X, A) \
	X(own, serial, MOVED) X(own, text, is_movable_own_text(&it->text)) \
	X(own, state, MOVED) X(own, doubt, MOVED) X(own, since, MOVED) \
	X(own, old_serial, MOVED) X(own, old_server, MOVED) \
	X(own, old, is_movable_own_text(&it->old)) X(own, has, MADE) \
	X(own, other, MADE)

#define POOL_CLIENT(X, A) \
	X(pool_client, prev, MADE) X(pool_client, next, MADE) \
	X(pool_client, pool, MADE) X(pool_client, server, MOVED) \
	X(pool_client, wait_since, MOVED) \
	X(pool_client, state, it->state == CLIENT_ACTIVE || \
	    it->state == CLIENT_WAITING || it->state == CLIENT_WELCOME) \
	X(pool_client, lookup, !it->lookup) \
	X(pool_client, urgent, !it->urgent)

#define CLIENT(X, A) \
	X(client, stream, is_movable_stream(&it->stream)) \
	X(client, role, it->role == it->ss->client_ops.relay) \
	X(client, pc, is_movable_pool_client(&it->pc)) X(client, who, MADE) \
	X(client, timer, MADE) X(client, hh, MADE) X(client, node, MADE) \
	X(client, ss, MADE) \
	X(client, db, MOVED) X(client, user, MOVED) \
	X(client, login, MADE) X(client, console, MADE) \
	X(client, request, it->request == NULL) \
	X(client, fetch, it->fetch == NULL) X(client, params, MOVED) \
	X(client, baggage, MOVED) X(client, brought, MOVED) \
	X(client, statements, MOVED) X(client, listening, MOVED) \
	X(client, roamer, MADE) \
	X(client, relay, is_movable_relay_state(&it->relay)) \
	X(client, carry, is_movable_carry(&it->carry)) \
	X(client, rest, is_movable_message_rest(&it->rest)) \
	X(client, addr, MOVED) X(client, id, MADE) X(client, born, MOVED) X(client, told, MOVED) \
	X(client, request_time, MOVED) X(client, query_start, MOVED) \
	X(client, xact_start, MOVED) X(client, waited, MOVED) \
	X(client, slow, MOVED) X(client, vacancy, MADE) \
	X(client, notified, MOVED) \
	X(client, has_spoken, MADE) X(client, answered, MADE) \
	X(client, welcomed, MOVED) X(client, cut_short, !it->cut_short) \
	X(client, refusals, MADE) X(client, has_reserve_fd, MADE) X(client, admin, MADE) \
	X(client, own_user, MADE) X(client, only_looks, MADE) \
	X(client, counted, MADE) \
	X(client, replication, it->replication == REPLICATION_NONE) \
	X(client, key_len, it->key_len >= CLIENT_KEY_BYTES) \
	A(client, key, MOVED) X(client, options, MADE)

#define POOL_SERVER(X, A) \
	X(pool_server, prev, MADE) X(pool_server, next, MADE) \
	X(pool_server, pool, MADE) X(pool_server, client, MOVED) \
	X(pool_server, born, MOVED) X(pool_server, used, MOVED) \
	X(pool_server, cancels, MOVED) \
	X(pool_server, state, it->state == SERVER_ACTIVE || \
	    it->state == SERVER_IDLE || it->state == SERVER_LISTENING) \
	X(pool_server, close_needed, MOVED) \
	X(pool_server, dedicated, !it->dedicated) X(pool_server, lent, MADE) \
	X(pool_server, stained, MOVED) \
	X(pool_server, mode, MOVED) \
	X(pool_server, trip, MADE) X(pool_server, to, MADE) \
	A(pool_server, evict, MADE)

#define TRACK(X, A) \
	X(track, ring, is_movable_track_req(it->ring)) X(track, head, MADE) X(track, count, MOVED) \
	X(track, size, MADE) X(track, op_count, MADE) X(track, odd, MADE) \
	X(track, ops, MADE) X(track, arg, MADE) X(track, status, MOVED) \
	X(track, ready, MOVED) X(track, copy_in, MOVED) \
	X(track, aborted, MOVED) X(track, uncertain, MOVED) \
	X(track, asked, MADE) X(track, lost, !it->lost) \
	X(track, failed, MADE) X(track, heard, MADE) X(track, spoke, MADE) \
	X(track, asks, MADE)

#define TRACK_REQ(X, A) \
	X(track_req, type, MOVED) X(track_req, how, MOVED) \
	X(track_req, own, MOVED) X(track_req, tag, MOVED) X(track_req, op, MOVED)

#define PREPARED_USES(X, A) \
	X(prepared_uses, by_stmt, MADE) X(prepared_uses, lru, MOVED) \
	X(prepared_uses, count, MADE) X(prepared_uses, forgotten, MOVED)

#define SERVER(X, A) \
	X(server, stream, is_movable_stream(&it->stream)) \
	X(server, ps, is_movable_pool_server(&it->ps)) X(server, who, MADE) \
	X(server, timer, MADE) X(server, ss, MADE) X(server, node, MADE) \
	X(server, phase, it->phase == SERVER_PHASE_POOLED) \
	X(server, attempt, it->attempt == NULL) \
	X(server, own_query, it->own_query == OWN_QUERY_NONE || \
	    it->own_query == OWN_QUERY_PARAMS || \
	    it->own_query == OWN_QUERY_PROBE || \
	    it->own_query == OWN_QUERY_BASE || \
	    it->ps.state == SERVER_LISTENING) \
	X(server, track, is_movable_track(&it->track)) \
	X(server, prepared, is_movable_prepared_uses(&it->prepared)) \
	X(server, unnamed, MOVED) \
	X(server, params, MOVED) X(server, origin, MOVED) \
	X(server, trace, is_movable_trace(&it->trace)) X(server, schema_changed, MOVED) \
	X(server, schema_open, MADE) X(server, in_rows, MADE) \
	X(server, dialect, MOVED) \
	X(server, deallocates, MADE) \
	X(server, keep, is_movable_keep(&it->keep)) \
	X(server, carry, is_movable_carry(&it->carry)) \
	X(server, asked, MOVED) \
	X(server, rest, is_movable_message_rest(&it->rest)) \
	X(server, sent, MADE) X(server, superuser, MOVED) \
	X(server, standby, MOVED) \
	X(server, fatal_passed, !it->fatal_passed) X(server, tls_direct, MADE) \
	X(server, failure, it->failure == NULL) \
	X(server, host, MOVED) X(server, addr, MOVED) X(server, id, MADE) \
	A(server, key, MOVED) X(server, key_len, MOVED) \
	X(server, target, it->target == NULL) \
	X(server, canceler, MADE) X(server, cancel_wanted, MOVED)

/*
 * Most of it by SNAPSHOT_KEEP. Probes are sent again, also for a request whose
 * effect was known by its text.
 */
#define KEEP(X, A) \
	X(keep, has, MOVED) X(keep, base, MOVED) X(keep, known, MADE) \
	X(keep, asked, MADE) X(keep, beyond, MADE) X(keep, rows, MADE) \
	X(keep, channels, MADE) X(keep, resets, MOVED) X(keep, bring, MOVED) \
	X(keep, brought, MOVED) X(keep, confirmed, MADE) \
	X(keep, undone, MOVED) X(keep, discarded, MOVED) \
	X(keep, surplus, MOVED) X(keep, leaves, MOVED) X(keep, marks, MADE) \
	X(keep, pins, MOVED) X(keep, found, MADE) X(keep, tries, MADE) \
	X(keep, canceled, MADE) X(keep, accented, MADE) \
	X(keep, unlisted, MOVED) X(keep, settled, MOVED) \
	X(keep, pins_first, MOVED) X(keep, text, MADE) X(keep, names, MOVED) \
	X(keep, bound, MOVED) \
	X(keep, excess, MADE) X(keep, refused, MADE) X(keep, strange, MOVED) \
	X(keep, worn, MOVED) X(keep, fresh, MADE) X(keep, temporary, MADE) \
	X(keep, tabled, MOVED) X(keep, drawn, MOVED) \
	X(keep, lending, MOVED) X(keep, flight, it->flight == NULL)

/* By SNAPSHOT_TRACE. A lone request counts as marked. */
#define TRACE(X, A) \
	X(trace, sets, MOVED) X(trace, local, MOVED) X(trace, failed, MOVED) \
	X(trace, marked, MOVED) X(trace, unnamed, MOVED) \
	X(trace, pins, MOVED) X(trace, unlisted, MOVED) \
	X(trace, discarded, MOVED) X(trace, waits, MOVED) \
	X(trace, drawn, MOVED) X(trace, draws, MOVED) X(trace, calls, MOVED) \
	X(trace, listens, MOVED) X(trace, notifies, MOVED) X(trace, lone, MOVED) \
	X(trace, lasting, MOVED) X(trace, binds, MOVED) \
	X(trace, unread, MOVED)

/* It is found again. If it is in doubt, schema_changed says so. */
#define DIALECT(X, A) \
	X(dialect, set, MADE) X(dialect, params, MADE) X(dialect, has, MADE) \
	X(dialect, trailed, MADE) X(dialect, trail, MADE) \
	X(dialect, next, MADE) X(dialect, owed, MADE) X(dialect, trails, MOVED) \
	X(dialect, unseen, MOVED) X(dialect, astray, MOVED) \
	X(dialect, parsed, MOVED) X(dialect, pending, MOVED) \
	X(dialect, inside, MOVED)

#define PARAMS_ORIGIN(X, A) \
	X(params_origin, set, MOVED) X(params_origin, silent, MOVED) \
	X(params_origin, open, MADE)

#define HOST(X, A) \
	X(host, kind, MOVED) X(host, item, MADE) X(host, addr, MOVED) \
	A(host, text, MOVED)

#define PREPARED_NAME(X, A) \
	X(prepared_name, stmt, MOVED) X(prepared_name, lost, MOVED) \
	X(prepared_name, told, is_movable_prepared_shape(&it->told))

#define PREPARED_SHAPE(X, A) \
	X(prepared_shape, params, MOVED) X(prepared_shape, columns, MOVED) \
	X(prepared_shape, at, MOVED)

/* Most of it follows from the text. */
#define PREPARED(X, A) \
	A(prepared, name, MOVED) X(prepared, name_len, MADE) \
	X(prepared, effects, MADE) \
	X(prepared, retired, MOVED) X(prepared, unused, MADE) \
	X(prepared, kept, MADE) X(prepared, unsure, MOVED) \
	X(prepared, bound, MADE) \
	X(prepared, dialect, MOVED) X(prepared, number, MADE) \
	X(prepared, refs, MADE) X(prepared, names, MADE) \
	X(prepared, use_count, MADE) X(prepared, len, MOVED) \
	X(prepared, hash, MADE) X(prepared, uses, MADE) \
	X(prepared, table, MADE) X(prepared, prev, MADE) \
	X(prepared, next, MADE) X(prepared, hh, MADE)

/* A use whose settings are unknown is prepared again. */
#define PREPARED_USE(X, A) \
	X(prepared_use, prev, MADE) X(prepared_use, next, MADE) \
	X(prepared_use, also_prev, MADE) X(prepared_use, also_next, MADE) \
	X(prepared_use, owner, MADE) X(prepared_use, stmt, MOVED) \
	X(prepared_use, world, MADE) \
	X(prepared_use, shape, is_movable_prepared_shape(&it->shape)) \
	X(prepared_use, generation, MOVED)

#define PREPARED_OP(X, A) \
	X(prepared_op, changes, MOVED) X(prepared_op, stmt, MOVED) \
	X(prepared_op, shape, is_movable_prepared_shape(&it->shape))

/* If a move was under way, its client hears nobody, and is told so. */
#define LISTENING(X, A) \
	X(listening, prev, MADE) X(listening, next, MADE) \
	X(listening, listener, MADE) X(listening, client, MADE) \
	X(listening, own, MOVED) X(listening, count, MADE) \
	X(listening, hears, MOVED) X(listening, becomes, MADE) \
	X(listening, token, MADE) X(listening, marks, MADE) \
	X(listening, settles, MADE) X(listening, always, MOVED) \
	X(listening, expects, MOVED) X(listening, waiting, MOVED) \
	X(listening, ahead, MADE) X(listening, early, MOVED)

#define SUBSCRIPTION(X, A) \
	X(subscription, prev, MADE) X(subscription, next, MADE) \
	X(subscription, own_prev, MADE) X(subscription, own_next, MADE) \
	X(subscription, channel, MOVED) X(subscription, by, MADE) \
	X(subscription, is, MOVED)

#if defined __GNUC__
#pragma GCC diagnostic error "-Wmissing-field-initializers"
#endif

#define MEMBER(type, field, rest) __typeof__(((struct type *)0)->field) field;
#define SAME_PLACE(type, field, rest) \
	_Static_assert(offsetof(struct rows_of_##type, field) == \
	    offsetof(struct type, field), "rows are in the order of the fields");
/* Too few fields are an error by the pragma; too many are an error, too. */
#define VALUE(type, field, rest) it->field,
#define VALUES(type, field, rest) { it->field[0] },
#define HOLDS(type, field, rest) && (rest)

#define IS_MOVABLE(type, ROWS) \
	struct rows_of_##type { ROWS(MEMBER, MEMBER) }; \
	ROWS(SAME_PLACE, SAME_PLACE) \
	/* of some structs, only the number of rows is checked */ \
	__attribute__((unused)) \
	static inline bool is_movable_##type(const struct type *it) \
	{ \
		_Static_assert(sizeof(struct type){ ROWS(VALUE, VALUES) } == \
		    sizeof(struct rows_of_##type), "each field has a row"); \
		return true ROWS(HOLDS, HOLDS); \
	}

IS_MOVABLE(stream, STREAM)
IS_MOVABLE(carry, CARRY)
IS_MOVABLE(message_rest, REST)
IS_MOVABLE(own_text, OWN_TEXT)
IS_MOVABLE(own, OWN)
IS_MOVABLE(relay_state, RELAY_STATE)
IS_MOVABLE(pool_client, POOL_CLIENT)
IS_MOVABLE(client, CLIENT)
IS_MOVABLE(pool_server, POOL_SERVER)
IS_MOVABLE(prepared, PREPARED)
IS_MOVABLE(prepared_shape, PREPARED_SHAPE)
IS_MOVABLE(prepared_name, PREPARED_NAME)
IS_MOVABLE(prepared_op, PREPARED_OP)
IS_MOVABLE(prepared_use, PREPARED_USE)
IS_MOVABLE(prepared_uses, PREPARED_USES)
IS_MOVABLE(listening, LISTENING)
IS_MOVABLE(subscription, SUBSCRIPTION)
IS_MOVABLE(params_origin, PARAMS_ORIGIN)
IS_MOVABLE(host, HOST)
IS_MOVABLE(dialect, DIALECT)
IS_MOVABLE(trace, TRACE)
IS_MOVABLE(keep, KEEP)
IS_MOVABLE(track_req, TRACK_REQ)
IS_MOVABLE(track, TRACK)
IS_MOVABLE(server, SERVER)

bool snapshot_takes_client(const struct client *c)
{
	return is_movable_client(c) && (c->pc.server == NULL ||
	    is_movable_server(server_of(c->pc.server)));
}

bool snapshot_takes_server(const struct server *s)
{
	return is_movable_server(s) && (s->ps.state == SERVER_IDLE ||
	    listener_moves(s) || (s->ps.client != NULL &&
	    is_movable_client(client_of(s->ps.client))));
}

static bool is_plain_half_client(const struct client *c)
{
	return c->baggage == NULL && c->brought == NULL &&
	    c->listening == NULL &&
	    c->statements == NULL && c->relay.dealloc.name == NULL &&
	    c->carry.len == 0 && c->rest.bytes == 0 && !c->relay.discards &&
	    c->key_len == CLIENT_KEY_BYTES && c->pc.state == CLIENT_ACTIVE &&
	    !stream_is_blocked(&c->stream);
}

static bool is_plain_half_server(const struct server *s)
{
	return s->ps.state != SERVER_LISTENING && s->keep.pins == 0 &&
	    s->prepared.count == 0 && track_is_empty(&s->track) &&
	    s->carry.len == 0 && s->rest.bytes == 0 &&
	    s->own_query == OWN_QUERY_NONE && !stream_is_blocked(&s->stream) &&
	    s->ps.cancels == 0 && !canceler_is_wanted(s);
}

bool snapshot_is_plain_client(const struct client *c)
{
	return is_plain_half_client(c) && (c->pc.server == NULL ||
	    is_plain_half_server(server_of(c->pc.server)));
}

bool snapshot_is_plain_server(const struct server *s)
{
	return is_plain_half_server(s) && (s->ps.client == NULL ||
	    is_plain_half_client(client_of(s->ps.client)));
}
