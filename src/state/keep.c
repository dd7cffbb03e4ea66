/* keep.c - settings follow the client from server to server.
 * SPDX-License-Identifier: ISC */
#include "state/keep.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "notify/channels.h"
#include "proto/baggage.h"
#include "proto/custom.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "session/client.h"
#include "session/flight.h"
#include "session/server.h"
#include "session/sessions.h"
#include "state/custom_table.h"
#include "state/keep_recall.h"
#include "state/keep_resets.h"

#define TRIES 100	/* the shortest statement_timeout leaves time for part
			 * of a try */

void keep_fini(struct server *s)
{
	struct keep *const k = &s->keep;

	/* a server that has no pins may have no pool */
	if (k->pins != 0)
		keep_set_pins(s, 0);
	flight_free(&k->flight);
	mem_free(k->text);
	k->text = NULL;
	custom_table_forget(s);
	baggage_unref(&k->has);
	baggage_unref(&k->base);
	writer_fini(&k->rows);
	writer_fini(&k->channels);
}

/*
 * The text of the probe. All names are qualified, because a client may have set
 * search_path. It runs as the user who logged in, because a role may not be
 * allowed to see everything. SET LOCAL makes a setting look as if the session
 * had set it; these two settings are not in the list. It does not use the view
 * pg_settings, because a client may have locked that.
 */
static const char settings[] =
    ";SET LOCAL SESSION AUTHORIZATION DEFAULT;SET LOCAL ROLE NONE;"
    "SELECT name,setting FROM pg_catalog.pg_show_all_settings() "
    "WHERE source OPERATOR(pg_catalog.=) 'session'";

/* A setting cannot have a name that begins with "!", so these rows are pins. */
static const char others[] =
    " UNION ALL SELECT '!p',NULL FROM pg_catalog.pg_prepared_statements "
    "WHERE from_sql"
    " UNION ALL SELECT '!c',NULL FROM pg_catalog.pg_cursors WHERE is_holdable"
    " UNION ALL SELECT '!a',NULL FROM pg_catalog.pg_locks "
    "WHERE locktype OPERATOR(pg_catalog.=) 'advisory' "
    "AND pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()"
    " UNION ALL SELECT '!l',c FROM pg_catalog.pg_listening_channels() c"
    " UNION ALL SELECT '!t',NULL WHERE EXISTS (SELECT "
    "FROM pg_catalog.pg_depend WHERE refclassid OPERATOR(pg_catalog.=) "
    "'pg_catalog.pg_namespace'::pg_catalog.regclass "
    "AND refobjid OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema())";

static const struct {
	char mark;
	enum pin pin;
} marks[] = {
	{ 'p', PIN_PREPARED }, { 'c', PIN_CURSOR }, { 'a', PIN_LOCK },
	{ 'l', PIN_LISTEN }, { 't', PIN_TEMPORARY },
};

static void write_text(struct writer *w, const char *s)
{
	writer_bytes(w, s, strlen(s));
}

/*
 * If the client's statement_timeout has canceled the probe, this switches it
 * off for the next try. The first row reports its value before that.
 */
static void write_guard(struct writer *w)
{
	write_text(w, "SELECT 'statement_timeout',"
	    "pg_catalog.current_setting('statement_timeout');"
	    "SET LOCAL statement_timeout=0;");
}

/*
 * Custom parameters are in no view until a loaded library defines them. From
 * then on the view lists them if they were set, like other parameters.
 */
static void write_plain_names(struct server *s, struct writer *w)
{
	const char *between = " UNION ALL SELECT n,"
	    "pg_catalog.current_setting(n,true) FROM pg_catalog.unnest('{";
	const char *name;
	bool any = false;

	s->keep.asked = (struct custom_count){ 0 };
	while ((name = custom_table_next(s, &s->keep.asked)) != NULL) {
		if (!custom_name_is_plain(name))
			continue;
		write_text(w, any ? "," : between);
		write_text(w, name);
		any = true;
	}
	if (any)
		write_text(w, "}'::pg_catalog.text[]) n WHERE NOT EXISTS "
		    "(SELECT FROM pg_catalog.pg_show_all_settings() s "
		    "WHERE pg_catalog.lower(s.name) OPERATOR(pg_catalog.=) n)");
}

/*
 * In a database with a single-byte encoding, PostgreSQL also folds letters that
 * are not ASCII in an unquoted identifier. So each name is asked for in both
 * forms.
 */
static void write_other_names(const struct server *s, struct writer *w)
{
	const char *between = " UNION ALL SELECT n,"
	    "pg_catalog.current_setting(n,true) FROM pg_catalog.unnest("
	    "ARRAY[";
	const char *name;
	struct custom_count at = { 0 };
	bool any = false;

	while ((name = custom_table_next(s, &at)) != NULL) {
		if (custom_name_is_plain(name))
			continue;
		write_text(w, any ? "," : between);
		custom_name_write(name, w);
		write_text(w, ",pg_catalog.lower(");
		custom_name_write(name, w);
		write_text(w, ")");
		any = true;
	}
	if (any)
		write_text(w, "]::pg_catalog.text[]) n");
}

/*
 * The body of a function may contain names that no client has sent. The
 * patterns contain no backslash, because a client's settings may change its
 * meaning.
 */
static const char bodies[] =
    " UNION ALL SELECT n,pg_catalog.current_setting(n,true) FROM (SELECT "
    "DISTINCT pg_catalog.translate(pg_catalog.replace(m[1],'\"',''),"
    "'ABCDEFGHIJKLMNOPQRSTUVWXYZ','abcdefghijklmnopqrstuvwxyz') n "
    "FROM pg_catalog.pg_proc p,pg_catalog.unnest(ARRAY["
    "'set_config[[:space:]\"]*[(][[:space:]]*e?''+([^'']+)''',"
    "'(?:^|[^[:alnum:]_$\"])set[[:space:]]+(?:session[[:space:]]+)?"
    "(\"?[[:alpha:]_][^[:space:]=;'']*[.][^[:space:]=;'']+)"
    "[[:space:]]*(?:=|to[[:space:]])'"
    "]::pg_catalog.text[]) r,pg_catalog.regexp_matches(p.prosrc,r,'gi') m "
    "WHERE p.oid OPERATOR(pg_catalog.>=) 16384) b "
    "WHERE pg_catalog.strpos(n,'.') OPERATOR(pg_catalog.>) 0 AND NOT EXISTS "
    "(SELECT FROM pg_catalog.pg_show_all_settings() s "
    "WHERE pg_catalog.lower(s.name) OPERATOR(pg_catalog.=) n)";

static void write_names(struct server *s, struct writer *w)
{
	write_text(w, "SELECT 'role',pg_catalog.current_setting('role')");
	write_plain_names(s, w);
	if (s->keep.names != NULL)
		write_other_names(s, w);
	if (s->ps.pool->limits.state_always)
		write_text(w, bodies);
}

/* Asks for the whole session state. */
static void write_whole(struct server *s, struct writer *w)
{
	struct keep *const k = &s->keep;

	if (k->tries++ > 0)
		write_guard(w);
	if (!custom_table_add_set(s, k->has))
		k->unlisted = true;
	write_names(s, w);
	write_text(w, settings);
	if (k->tries > 1)
		write_text(w, " AND name OPERATOR(pg_catalog.<>) "
		    "'statement_timeout'");
	write_text(w, others);
	if (k->brought == BROUGHT_INSIDE)
		write_text(w, " UNION ALL " KEEP_BRINGS);
	/*
	 * lastval() and currval() must not return the numbers of another client
	 */
	if (k->pins == 0)
		write_text(w, ";DISCARD SEQUENCES");
}

static void write_name(const char *kept, struct writer *w)
{
	if (!custom_name_is_plain(kept)) {
		custom_name_write(kept, w);
		return;
	}
	writer_u8(w, '\'');
	write_text(w, kept);
	writer_u8(w, '\'');
}

/*
 * Asks for names that became known after the base was read. If no client has
 * set such a name on s since then, its value is that of the base.
 */
static void write_new(struct server *s, struct writer *w)
{
	struct keep *const k = &s->keep;
	const char *between = "SELECT n,pg_catalog.current_setting(n,true) "
	    "FROM pg_catalog.unnest(ARRAY[";
	const char *name;

	k->tries++;
	k->asked = k->known;
	write_text(w, "SET LOCAL statement_timeout=0;"
	    "SET LOCAL SESSION AUTHORIZATION DEFAULT;SET LOCAL ROLE NONE;");
	while ((name = custom_table_next(s, &k->asked)) != NULL) {
		if (custom_table_is_in(k->has, name) ||
		    custom_table_is_in(k->base, name))
			continue;
		write_text(w, between);
		write_name(name, w);
		between = ",";
	}
	if (between[0] == ',')
		write_text(w, "]::pg_catalog.text[]) n");
}

static bool has_base(const struct keep *k)
{
	return k->has != NULL && k->base != NULL;
}

void keep_ask(struct server *s, enum own_query query)
{
	struct keep *const k = &s->keep;
	struct writer sql;

	writer_fini(&k->rows);
	writer_init(&k->rows, BAGGAGE_BYTES);
	writer_fini(&k->channels);
	writer_init(&k->channels, BAGGAGE_BYTES);
	k->found = 0;
	k->canceled = k->accented = k->confirmed = k->beyond = false;
	writer_init(&sql, BAGGAGE_BYTES);
	write_text(&sql, KEEP_BEGIN);
	/* the comment tells this query apart in PostgreSQL's logs and views */
	if (query == OWN_QUERY_BASE)
		write_text(&sql, "/*base*/");
	if (query == OWN_QUERY_BASE && has_base(k))
		write_new(s, &sql);
	else
		write_whole(s, &sql);
	writer_u8(&sql, 0);
	if (sql.failed)
		server_fail(s, CLOSE_OUT_OF_MEMORY);
	else
		(void)server_send_query(s, (const char *)sql.at, query);
	writer_fini(&sql);
}

/* Takes a row that stands for a pin, and perhaps its value. */
static void note_mark(struct keep *k, char mark, const char *value,
    size_t len)
{
	char text[CHANNELS_NAME];
	uint32_t n;

	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (marks[i].mark == mark)
			k->found |= (uint8_t)marks[i].pin;
	if (value == NULL || len >= sizeof text)
		return;
	memcpy(text, value, len);
	text[len] = '\0';
	if (mark == 'l' && !channels_is_marker(text))
		writer_str(&k->channels, text);
	if (mark == 'b')
		k->confirmed |= num_parse_u32(text, &n) == 0 && n == k->bring;
}

/* These belong to the transaction of the probe, whatever the view says. */
static bool is_momentary(const char *name)
{
	return strcmp(name, "transaction_isolation") == 0 ||
	    strcmp(name, "transaction_read_only") == 0 ||
	    strcmp(name, "transaction_deferrable") == 0;
}

/* params.h tracks the parameters that the server reports. */
static bool is_reported(const struct server *s, const char *name)
{
	const int i = params_find(s->ss->params, name);

	return i >= 0 && (s->origin.silent >> i & 1) == 0;
}

/* Is this the value that RESET gives to the role or a custom parameter on s? */
static bool is_default(const struct server *s, const char *name,
    const char *value)
{
	const char *const base = s->keep.base == NULL ? NULL :
	    baggage_find(s->keep.base, name);
	const bool is_role = strcmp(name, "role") == 0;

	return (is_role || strchr(name, '.') != NULL) &&
	    (strcmp(value, is_role ? "none" : "") == 0 ||
	    (base != NULL && strcmp(value, base) == 0));
}

/* Has the client reset the value that it had brought? */
static bool was_reset(const struct server *s, const char *name,
    const char *value)
{
	const struct client *const c = s->ps.client == NULL ? NULL :
	    client_of(s->ps.client);

	return c != NULL && c->brought != NULL &&
	    baggage_find(c->brought, name) != NULL &&
	    is_default(s, name, value) && keep_resets_had(c, s, name);
}

/*
 * Has this value replaced one that the base does not contain, because nobody
 * asked for it?
 */
static bool is_beyond(struct server *s, const char *name)
{
	const struct keep *const k = &s->keep;

	return s->own_query == OWN_QUERY_PROBE && !k->beyond && has_base(k) &&
	    memcmp(&k->known, &k->asked, sizeof k->known) != 0 &&
	    custom_table_is_behind(s, k->known, name) &&
	    baggage_find(k->base, name) == NULL &&
	    baggage_find(k->has, name) == NULL;
}

/* Returns NULL if the column is NULL. */
static const char *read_column(struct reader *r, uint32_t *len)
{
	*len = reader_u32(r);
	return r->failed || *len == UINT32_MAX ? NULL :
	    (const char *)reader_bytes(r, *len);
}

static bool is_accented(const char *at)
{
	while (*at != '\0' && (uint8_t)*at < 0x80)
		at++;
	return *at != '\0';
}

static void add(struct server *s, const char *name, const char *value)
{
	struct writer *const w = &s->keep.rows;

	s->keep.beyond = s->keep.beyond || is_beyond(s, name);
	if (is_reported(s, name) || is_momentary(name) || was_reset(s, name, value))
		return;
	s->keep.accented = s->keep.accented || is_accented(name) ||
	    is_accented(value);
	writer_str(w, name);
	writer_str(w, value);
}

void keep_take_row(struct server *s, const void *row, size_t size)
{
	struct writer *const w = &s->keep.rows;
	struct writer pair;
	struct reader r;
	uint32_t lens[2];

	reader_init(&r, row, size);
	if (reader_u16(&r) != 2) {
		w->failed = true;
		return;
	}
	const char *const name = read_column(&r, &lens[0]);
	const char *const value = read_column(&r, &lens[1]);

	if (name != NULL && lens[0] == 2 && name[0] == '!')
		note_mark(&s->keep, name[1], value, value == NULL ? 0 :
		    lens[1]);
	else if (name != NULL && value != NULL) {
		writer_init(&pair, BAGGAGE_BYTES);
		writer_bytes(&pair, name, lens[0]);
		writer_u8(&pair, 0);
		writer_bytes(&pair, value, lens[1]);
		writer_u8(&pair, 0);
		if (!pair.failed)
			add(s, (const char *)pair.at,
			    (const char *)pair.at + lens[0] + 1);
		w->failed = w->failed || pair.failed;
		writer_fini(&pair);
	}
}

/* A name that the database's encoding cannot express was never set there. */
static bool is_of_name(const char *code)
{
	return strcmp(code, ERRCODE_CHARACTER_NOT_IN_REPERTOIRE) == 0 ||
	    strcmp(code, ERRCODE_UNTRANSLATABLE_CHARACTER) == 0;
}

bool keep_asks_again(struct server *s, const char *code)
{
	if (is_of_name(code) && s->keep.names != NULL &&
	    s->keep.tries < TRIES) {
		custom_table_forget(s);
		s->keep.unlisted = s->keep.canceled = true;
		return true;
	}
	s->keep.canceled = strcmp(code, ERRCODE_QUERY_CANCELED) == 0 &&
	    s->keep.tries < TRIES;
	return s->keep.canceled;
}

/*
 * Does c act as another user than at its login? A change of user resets the
 * role.
 */
static bool is_other_user(const struct client *c, const struct server *s)
{
	const struct params *const first = c->relay.start != NULL ?
	    c->relay.start : s->origin.set;
	const int i = PARAMS_SESSION_AUTHORIZATION;

	return first != NULL && params_get(first, i) != NULL &&
	    params_get(c->params, i) != params_get(first, i);
}

static void write_brought(const struct client *c, const struct server *s,
    struct writer *w)
{
	const bool other = is_other_user(c, s);
	struct baggage_pair pair;
	const char *at = NULL;

	while (baggage_next(c->brought, &at, &pair)) {
		if (other && strcmp(pair.name, "role") == 0)
			continue;
		writer_str(w, pair.name);
		writer_str(w, pair.value);
	}
}

/*
 * Writes the values that c brought, except those of parameters that s reports.
 */
static void write_defaults(const struct client *c, const struct server *s,
    struct writer *w)
{
	const int n = s->origin.silent == 0 ? 0 : params_count(c->ss->params);

	for (int i = 0; i < n; i++) {
		const char *const value = (s->origin.silent >> i & 1) == 0 ? NULL :
		    params_get(c->params, i);

		if (value == NULL)
			continue;
		writer_str(w, params_name(c->ss->params, i));
		writer_str(w, value);
	}
	if (c->brought != NULL)
		write_brought(c, s, w);
}

/*
 * Returns b together with the values that c brought. With ahead, those of b
 * win; without it, only the names that b lacks are added. NULL: no memory.
 */
static struct baggage *with_defaults(const struct client *c,
    const struct server *s, struct baggage *b, bool ahead)
{
	struct baggage *both = NULL;
	struct writer w;
	size_t len;

	writer_init(&w, BAGGAGE_BYTES);
	const char *const bytes = baggage_bytes(b, &len);

	if (!ahead)
		writer_bytes(&w, bytes, len);
	write_defaults(c, s, &w);
	if (ahead)
		writer_bytes(&w, bytes, len);
	if (!w.failed)
		both = w.len == len ? baggage_ref(b) :
		    baggage_get(c->ss->baggage, w.at, w.len);
	writer_fini(&w);
	return both;
}

static struct baggage *make_set(struct server *s)
{
	const char *const encoding = params_get(s->params,
	    PARAMS_CLIENT_ENCODING);
	struct writer *const w = &s->keep.rows;

	if (s->keep.accented && encoding != NULL) {
		writer_str(w, BAGGAGE_ENCODING);
		writer_str(w, encoding);
	}
	return w->failed ? NULL : baggage_get(s->ss->baggage, w->at, w->len);
}

/* The pool does not keep session state any more: only channels still matter. */
static void take_channels(struct server *s)
{
	writer_fini(&s->keep.rows);
	s->keep.tries = 0;
	s->keep.refused = false;
	keep_set_pins(s, s->keep.found & PIN_LISTEN);
}

bool keep_answered(struct server *s, struct client *c)
{
	struct keep *const k = &s->keep;

	if (k->canceled) {
		keep_ask(s, OWN_QUERY_PROBE);
		return false;
	}
	if (c != NULL && !keep_is_on(s->ps.pool)) {
		take_channels(s);
		return true;
	}
	struct baggage *set = make_set(s);
	struct baggage *own = set == NULL || c == NULL ? NULL :
	    with_defaults(c, s, set, false);

	writer_fini(&k->rows);
	k->tries = 0;
	k->resets = 0;
	if (set == NULL || (c != NULL && own == NULL)) {
		baggage_unref(&set);
		server_fail(s, CLOSE_PROBE_FAILED);
		return false;
	}
	keep_learns(c, s, set);
	baggage_put(&k->has, set);
	if (c != NULL)
		baggage_put(&c->baggage, own);
	baggage_unref(&set);
	baggage_unref(&own);
	/* otherwise it is known after the cleaning */
	if (k->base == NULL || k->beyond)
		s->ps.stained = true;
	else if (!s->ps.stained)
		k->known = k->asked;
	k->drawn = k->pins != 0;	/* see keep_ask() */
	keep_set_pins(s, k->found | (k->pins & PINS_UNTOLD));
	k->refused = c != NULL && k->pins_first && keep_counts(k->pins) &&
	    k->excess;
	k->settled = true;
	keep_note_path(s);
	return true;
}

bool keep_takes(struct client *c, struct server *s, struct baggage *has)
{
	struct baggage *own = with_defaults(c, s, has, false);

	if (own == NULL)
		return false;
	baggage_put(&c->baggage, own);
	baggage_put(&s->keep.has, has);
	baggage_unref(&own);
	keep_note_path(s);
	return true;
}

/*
 * Completes the base with the rows of a later question. NULL: impossible, or no
 * memory.
 */
static struct baggage *complete_base(struct server *s)
{
	struct keep *const k = &s->keep;
	const char *const encoding = params_get(s->params,
	    PARAMS_CLIENT_ENCODING);
	size_t len;

	if (has_base(k)) {
		const char *const first = baggage_find(k->base,
		    BAGGAGE_ENCODING);
		const char *const bytes = baggage_bytes(k->base, &len);

		/* A new server is asked for everything at once. */
		if (k->accented && first != NULL && (encoding == NULL ||
		    strcmp(first, encoding) != 0))
			return NULL;
		writer_bytes(&k->rows, bytes, len);
	}
	return make_set(s);
}

bool keep_based(struct server *s)
{
	struct keep *const k = &s->keep;

	if (k->canceled) {
		keep_ask(s, OWN_QUERY_BASE);
		return false;
	}
	struct baggage *base = complete_base(s);

	writer_fini(&k->rows);
	k->tries = 0;
	if (base == NULL) {
		server_fail(s, CLOSE_PROBE_FAILED);
		return false;
	}
	if (!has_base(k))
		keep_set_pins(s, k->found);
	if (!has_base(k) || k->has == k->base)
		baggage_put(&k->has, base);
	baggage_put(&k->base, base);
	baggage_unref(&base);
	k->known = k->asked;
	keep_note_path(s);
	return true;
}

static bool is_behind(const struct server *s)
{
	struct custom_count at = s->keep.known;

	return custom_table_next(s, &at) != NULL;
}

bool keep_knows_base(struct server *s, struct client *c)
{
	struct keep *const k = &s->keep;

	/* a stained server is cleaned before another client gets it */
	if (!keep_is_on(s->ps.pool) || s->track.status != 'I' || s->ps.stained)
		return true;
	/* cleaning removes the parameters that cannot be asked for */
	if (c != NULL && (!custom_table_add_set(s, c->brought) ||
	    !custom_table_add_set(s, c->baggage)))
		k->unlisted = true;
	if (has_base(k) && !is_behind(s))
		return true;
	k->tries = 0;
	keep_ask(s, OWN_QUERY_BASE);
	return false;
}

/* DISCARD ALL was the last change, so the state is known without a probe. */
static void note_discard(struct client *c, struct server *s)
{
	struct keep *const k = &s->keep;

	baggage_put(&k->has, k->base);
	baggage_unref(&c->baggage);	/* as after its login */
	keep_set_pins(s, k->pins & PINS_LASTING);
	if (s->ps.pool->key.db->conf->connect_query != NULL)
		s->ps.stained = true;
}

/*
 * DISCARD ALL resets the user and thereby the role, but does not restore the
 * role of connect_query.
 */
static bool loses_role(const struct server *s)
{
	const char *const role = s->keep.base == NULL ? NULL :
	    baggage_find(s->keep.base, "role");

	return s->trace.discarded && (role == NULL || strcmp(role, "none") != 0);
}

void keep_discarded(struct server *s)
{
	static const char none[] = "role\0none";

	baggage_unref(&s->keep.has);
	if (!keep_sets(s->ps.pool))
		return;
	s->keep.has = baggage_get(s->ss->baggage, none, sizeof none);
	s->ps.close_needed = s->ps.close_needed || s->keep.has == NULL;
}

bool keep_is_strange(const struct server *s)
{
	const struct keep *const k = &s->keep;
	size_t len = 0;

	if (keep_is_on(s->ps.pool))
		return k->base == NULL || baggage_find(k->base, "role") == NULL;
	if (k->has != NULL)
		(void)baggage_bytes(k->has, &len);
	return len > 0 && s->ps.pool->limits.state == STATE_FORGET;
}

bool keep_lets_go(struct client *c, struct server *s)
{
	struct keep *const k = &s->keep;
	struct trace *const t = &s->trace;

	if (!keep_is_on(s->ps.pool)) {
		s->ps.stained = s->ps.stained || keep_sets(s->ps.pool);
		keep_set_pins(s, k->pins & PIN_LISTEN);
	}
	k->pins_first = !keep_counts(k->pins);
	if (t->failed)
		keep_resets_undo(s);
	if (t->discarded)
		keep_set_pins(s, k->pins & ~(unsigned)PIN_PARAMETER);
	if (t->pins != 0)
		keep_set_pins(s, k->pins | t->pins);
	k->drawn = trace_has_drawn(t, k->drawn);
	/*
	 * without a reason to ask, each answer would cause the next probe, and
	 * c would never be read
	 */
	if ((trace_is_left(t) || loses_role(s) || (k->pins == 0 && !k->fresh &&
	    (s->ps.pool->limits.state_always || k->temporary))) &&
	    !keep_recalls(c, s)) {
		k->unlisted = k->unlisted || t->unlisted ||
		    s->ps.pool->limits.state_always;
		k->discarded = t->discarded;
		trace_clear(t);
		k->tries = 0;
		stream_pause(&c->stream);
		keep_ask(s, OWN_QUERY_PROBE);
		return false;
	}
	if (t->discarded)
		note_discard(c, s);
	/*
	 * effects of the unnamed statement are noted for one lending only: it
	 * is sent again
	 */
	own_settle(&c->relay.own, &s->unnamed);
	if (s->unnamed != OWN_NONE)
		s->unnamed = OWN_UNKNOWN;
	trace_clear(t);
	k->settled = true;
	return k->pins == 0;
}

static bool has_temporary(const char *path)
{
	return path != NULL && strcasestr(path, "pg_temp") != NULL;
}

void keep_note_path(struct server *s)
{
	const struct baggage *const has = s->keep.has;
	const int i = params_find(s->ss->params, "search_path");

	s->keep.temporary = keep_sets(s->ps.pool) &&
	    ((has != NULL && has_temporary(baggage_find(has,
	    "search_path"))) ||
	    (i >= 0 && has_temporary(params_get(s->params, i))));
}

void keep_cleaned(struct server *s)
{
	struct keep *const k = &s->keep;

	custom_table_forget(s);
	/*
	 * The server is as it was at first. If its base is not known yet, it
	 * can be asked for it now.
	 */
	baggage_put(&k->has, keep_is_on(s->ps.pool) && !is_behind(s) ? k->base :
	    NULL);
	k->drawn = false;
	keep_set_pins(s, 0);
	k->brought = BROUGHT_NOTHING;
	k->unlisted = false;
}

/* The settings of a client with session_state = clean: what it brought. */
static struct baggage *default_set(const struct client *c, struct server *s)
{
	if (c->brought == NULL)
		return baggage_empty(s->ss->baggage);
	/* nobody has asked for the values that these replace */
	if (s->ps.pool->key.db->conf->connect_query != NULL)
		s->ps.stained = true;
	struct baggage *set = baggage_ref(c->brought);

	if (is_other_user(c, s) && baggage_forget(&set, "role") < 0)
		baggage_unref(&set);
	return set;
}

struct baggage *keep_wanted(struct client *c, struct server *s)
{
	if (!keep_sets(s->ps.pool)) {
		baggage_unref(&c->baggage);
		baggage_unref(&s->keep.has);
		return NULL;
	}
	if (s->keep.has == NULL)
		s->keep.has = baggage_empty(s->ss->baggage);
	if (!keep_is_on(s->ps.pool))
		return default_set(c, s);
	if (c->baggage != NULL)
		return baggage_ref(c->baggage);
	return with_defaults(c, s, s->keep.base != NULL ? s->keep.base :
	    s->keep.has, true);
}

int keep_write_sql(const struct server *s, const struct baggage *want,
    const char *actor, struct writer *w)
{
	const size_t before = w->len;
	const struct baggage_change change = { .want = want,
		.have = s->keep.has, .base = s->keep.base, .actor = actor,
		.whole = keep_is_on(s->ps.pool),
		.pristine = s->ps.pool->key.db->conf->connect_query == NULL,
		.goes_on = s->ps.mode == POOL_SESSION &&
		    s->keep.lending == LENDING_OVER,
		.open = s->track.status != 'I' };

	if (want != NULL && keep_sets(s->ps.pool))
		baggage_write_sql(&change, w);
	else if (actor != NULL && actor[0] != '\0')
		writer_str(w, actor);
	return w->len > before;
}
