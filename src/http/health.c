/* health.c - is this pooler alive, and may clients be sent to it?
 * SPDX-License-Identifier: ISC */
#include "http/health.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "console/admin.h"
#include "http/json.h"
#include "pool/catalog.h"
#include "pool/drain.h"
#include "pool/pool_failure.h"
#include "session/sessions.h"

#define TOLD 10			/* reasons; of more the number is told */
#define CAUSE_BYTES 200		/* of what a server said */

/* What is not well, so far. */
struct reasons {
	struct text *t;		/* borrowed */
	unsigned count;
	bool counts;		/* what comes next is against being ready */
	bool against;		/* something is */
};

/* A string of JSON, of max bytes of s at most. */
static void add_string(struct text *t, const char *s, size_t max)
{
	const char *const begin = s;

	text_add(t, "\"");
	while (*s != '\0' && (size_t)(s - begin) < max) {
		char out[JSON_CHARACTER];
		const size_t n = json_character(&s, out);

		text_add_bytes(t, out, n);
	}
	text_add(t, "\"");
}

/* database NULL: of all; detail NULL: nothing more to say. */
static void add_reason(struct reasons *r, const char *why,
    const char *database, const char *detail)
{
	r->against = r->against || r->counts;
	if (r->count++ >= TOLD)
		return;
	text_addf(r->t, "%s{\"reason\": ", r->count > 1 ? ", " : "");
	add_string(r->t, why, CAUSE_BYTES);
	if (database != NULL) {
		text_add(r->t, ", \"database\": ");
		add_string(r->t, database, CAUSE_BYTES / 2);
	}
	if (detail != NULL) {
		text_add(r->t, ", \"detail\": ");
		add_string(r->t, detail, CAUSE_BYTES);
	}
	text_add(r->t, "}");
}

static void add_drain(struct reasons *r, const struct departure *d)
{
	char detail[64];

	snprintf(detail, sizeof detail, "%s: %u clients, %u s left",
	    departure_phase(d), d->left, departure_seconds(d, time_now()));
	add_reason(r, "draining", NULL, detail);
}

/* What keeps the process from taking clients. PAUSE does not: they may wait. */
static void check_process(struct reasons *r, const struct sessions *ss)
{
	if (ss->shutdown == SHUTDOWN_DRAIN)
		add_drain(r, &ss->departure);
	else if (ss->shutdown != SHUTDOWN_NONE)
		add_reason(r, "shutting down", NULL, NULL);
	else if (ss->suspended)
		add_reason(r, "suspended", NULL, NULL);
}

/* A pool with a server has one; one that has not tried yet can get one. */
static const struct pool *find_stuck(const struct catalog *c,
    const struct database *db, const char **why)
{
	for (const struct pool *p = db->pools; p != NULL; p = p->db_next) {
		*why = pool_is_down(p) ? "no server" :
		    pool_connected(p) == 0 && drain_stops(c, p, time_now()) ?
		    "drained" : NULL;
		if (*why != NULL)
			return p;
	}
	return NULL;
}

static void check_database(struct reasons *r, const struct catalog *c,
    const struct database *db)
{
	const char *why;

	if (db->disabled)
		add_reason(r, "disabled", db->name, NULL);
	if (db->paused)
		add_reason(r, "paused", db->name, NULL);
	const struct pool *const p = find_stuck(c, db, &why);

	if (p != NULL)
		add_reason(r, why, db->name,
		    p->failing ? pool_failure(p) : NULL);
}

static void check_databases(struct reasons *r, const struct catalog *c)
{
	for (const struct database *db = c->databases; db != NULL;
	    db = db->hh.next) {
		/* a client may have made up an automatic database's name */
		if (!db->console && db->own == NULL)
			check_database(r, c, db);
	}
}

/* The database is its home's. */
static const struct database *find(const struct admin *a, const char *name,
    const struct admin **home)
{
	const struct database *db = NULL;

	for (; a != NULL && db == NULL; a = a->next) {
		*home = a;
		db = catalog_find_database(a->ss->catalog, name);
	}
	return db;
}

enum health health_of_hung(struct text *t)
{
	text_add(t, "{\"reasons\": [{\"reason\": \"a worker hangs\"}], "
	    "\"ready\": false}\n");
	return HEALTH_NOT_READY;
}

enum health health_check(const struct admin *a,
    const struct health_question *q, struct text *t)
{
	const struct config *const config = a->ss->catalog->config;
	const struct admin *home = a;
	struct reasons r = { .t = t, .counts = true };
	const struct database *db = NULL;

	if (q->database != NULL)
		db = find(a, q->database, &home);
	if (q->database != NULL && db == NULL && config->auto_db == NULL) {
		text_add(t, "{\"ready\": false, \"reasons\": "
		    "[{\"reason\": \"no such database\"}]}\n");
		return HEALTH_NO_DATABASE;
	}
	text_add(t, "{\"reasons\": [");
	check_process(&r, a->ss);
	r.counts = q->strict || q->database != NULL;
	if (a->ss->catalog->paused)
		add_reason(&r, "paused", NULL, NULL);
	for (; q->database == NULL && a != NULL; a = a->next)
		check_databases(&r, a->ss->catalog);
	if (db != NULL)
		check_database(&r, home->ss->catalog, db);
	if (r.count > TOLD)
		text_addf(t, ", {\"reason\": \"%u more\"}", r.count - TOLD);
	text_addf(t, "], \"ready\": %s}\n", r.against ? "false" : "true");
	return r.against ? HEALTH_NOT_READY : HEALTH_READY;
}
