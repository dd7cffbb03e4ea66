/* health.c - is this pooler alive, and may clients be sent to it?
 * SPDX-License-Identifier: ISC */
#include "http/health.h"

#include <stdbool.h>

#include "base/text.h"
#include "console/admin.h"
#include "console/judgement.h"
#include "http/json.h"
#include "pool/catalog.h"
#include "session/sessions.h"

#define TOLD 10			/* reasons; of more the number is told */
#define CAUSE_BYTES 200		/* of what a server said */
#define NAME_BYTES 63

/* What is not well, so far. */
struct reasons {
	struct text *t;		/* borrowed */
	unsigned count;
	bool strict;		/* outages of databases are against being ready */
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

static void add_member(struct text *t, const char *name, const char *value,
    size_t max)
{
	if (value == NULL)
		return;
	text_addf(t, ", \"%s\": ", name);
	add_string(t, value, max);
}

static void add_reason(void *arg, const struct finding *f)
{
	struct reasons *const r = arg;

	r->against = r->against || f->effect == FINDING_UNREADY ||
	    (r->strict && f->effect == FINDING_OUTAGE);
	if (r->count++ >= TOLD)
		return;
	text_addf(r->t, "%s{\"reason\": ", r->count > 1 ? ", " : "");
	add_string(r->t, f->reason, CAUSE_BYTES);
	add_member(r->t, "state", judgement_name(f->word), NAME_BYTES);
	add_member(r->t, "database", f->database, NAME_BYTES);
	add_member(r->t, "user", f->user, NAME_BYTES);
	if (f->age >= 0)
		text_addf(r->t, ", \"seconds\": %lld",
		    (long long)(f->age / USEC));
	add_member(r->t, "detail", f->detail, CAUSE_BYTES);
	text_add(r->t, "}");
}

static bool is_there(const struct admin *a, const char *name)
{
	for (; a != NULL; a = a->next) {
		if (catalog_find_database(a->ss->catalog, name) != NULL)
			return true;
	}
	return false;
}

enum health health_of_hung(struct text *t)
{
	text_add(t, "{\"reasons\": [{\"reason\": \"a worker hangs\", "
	    "\"state\": \"down\"}], \"state\": \"down\", "
	    "\"ready\": false}\n");
	return HEALTH_NOT_READY;
}

enum health health_check(const struct admin *a,
    const struct health_question *q, struct text *t)
{
	const struct config *const config = a->ss->catalog->config;
	struct reasons r = { .t = t,
		.strict = q->strict || q->database != NULL };

	if (q->database != NULL && config->auto_db == NULL &&
	    !is_there(a, q->database)) {
		text_add(t, "{\"ready\": false, \"reasons\": "
		    "[{\"reason\": \"no such database\"}]}\n");
		return HEALTH_NO_DATABASE;
	}
	text_add(t, "{\"reasons\": [");
	const enum judgement word = judge(a, q->database, add_reason, &r);

	if (r.count > TOLD)
		text_addf(t, ", {\"reason\": \"%u more\"}", r.count - TOLD);
	text_addf(t, "], \"state\": \"%s\", \"ready\": %s}\n",
	    judgement_name(word), r.against ? "false" : "true");
	return r.against ? HEALTH_NOT_READY : HEALTH_READY;
}
