/* judgement.c - how the pooler is, in three words, and why.
 * SPDX-License-Identifier: ISC */
#include "console/judgement.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/ceiling.h"
#include "conf/config_state.h"
#include "console/admin.h"
#include "console/view_merge.h"
#include "io/tls_context.h"
#include "pool/catalog.h"
#include "pool/hosts.h"
#include "pool/pool.h"
#include "pool/wait.h"
#include "upstream/passwords.h"
#include "upstream/tls_setup.h"

#define WAIT_LONG (5 * USEC)	/* as the alert PgsluiceLongWait */
#define LOGINS_SEVERAL 5	/* failed ones, in the last minute */
#define CLIENTS_NEAR 90		/* % of max_client_conn */
#define CERTIFICATE_DAYS 14

#define DETAIL_MAX 300

struct judge {
	const struct admin *first;
	const char *database;		/* NULL: all */
	finding_fn *fn;			/* or NULL */
	void *arg;
	enum judgement word;		/* so far */
	unsigned pools, pools_down;
	unsigned databases, databases_paused;
};

static void find(struct judge *j, const struct finding *f)
{
	if (f->word > j->word)
		j->word = f->word;
	if (j->fn != NULL)
		j->fn(j->arg, f);
}

/* --- the process --- */

static void judge_shutdown(struct judge *j, const struct sessions *ss)
{
	const struct departure *const d = &ss->departure;
	char detail[64];

	if (ss->shutdown == SHUTDOWN_DRAIN) {
		snprintf(detail, sizeof detail, "%s: %u clients, %u s left",
		    departure_phase(d), d->left,
		    departure_seconds(d, time_now()));
		find(j, &(struct finding){ .word = JUDGED_DEGRADED,
		    .effect = FINDING_UNREADY, .reason = "draining", .detail = detail,
		    .age = -1 });
	} else if (ss->shutdown != SHUTDOWN_NONE) {
		find(j, &(struct finding){ .word = JUDGED_DEGRADED,
		    .effect = FINDING_UNREADY, .reason = "shutting down",
		    .age = -1 });
	} else if (ss->suspended) {
		find(j, &(struct finding){ .word = JUDGED_DOWN,
		    .effect = FINDING_UNREADY, .reason = "suspended", .age = -1 });
	}
	if (ss->catalog->paused && !ss->suspended)
		find(j, &(struct finding){ .word = JUDGED_DOWN,
		    .effect = FINDING_OUTAGE, .reason = "paused", .age = -1 });
}

static void judge_users(struct judge *j, const struct config *c)
{
	const char *const why = config_nobody(c);

	if (why != NULL)
		find(j, &(struct finding){ .word = JUDGED_DOWN,
		    .effect = FINDING_OUTAGE,
		    .reason = "nobody can log in", .detail = why,
		    .age = -1 });
}

static void judge_logins(struct judge *j)
{
	char detail[80];
	uint64_t n = 0;

	for (const struct admin *a = j->first; a != NULL; a = a->next)
		n += tally_minute_count(&a->ss->failed_logins, time_now());
	if (n < LOGINS_SEVERAL)
		return;
	snprintf(detail, sizeof detail, "%llu in the last minute; the log "
	    "says why", (unsigned long long)n);
	find(j, &(struct finding){ .word = JUDGED_DEGRADED,
	    .reason = "logins fail", .detail = detail, .age = -1 });
}

static void judge_clients(struct judge *j)
{
	const int max = sessions_settings(j->first->ss)->max_client_conn;
	uint64_t n = 0;
	char detail[80];

	for (const struct admin *a = j->first; a != NULL; a = a->next)
		n += a->ss->catalog->clients;
	n -= catalog_consoles(j->first->ss->catalog);
	if (max <= 0 || n * 100 <= (uint64_t)max * CLIENTS_NEAR)
		return;
	snprintf(detail, sizeof detail, "%llu of %d (max_client_conn)",
	    (unsigned long long)n, max);
	find(j, &(struct finding){ .word = JUDGED_DEGRADED,
	    .reason = "many clients", .detail = detail, .age = -1 });
}

static void judge_memory(struct judge *j)
{
	char detail[80];

	if (ceiling_level() == CEILING_CALM)
		return;
	snprintf(detail, sizeof detail, "%s: %zu of %zu MB (memory_limit)",
	    ceiling_level_name(), ceiling_used() >> 20, ceiling_limit() >> 20);
	find(j, &(struct finding){ .word = JUDGED_DEGRADED,
	    .reason = "memory is short", .detail = detail, .age = -1 });
}

static void on_password(void *arg, const struct password_fact *f)
{
	char detail[DETAIL_MAX];

	snprintf(detail, sizeof detail, "%s of user \"%s\" at %s:%d: %s%s",
	    f->key, f->user, f->host, f->port, f->failure, f->is_known ?
	    "; the last password stays in use" : "");
	find(arg, &(struct finding){ .word = JUDGED_DEGRADED,
	    .reason = "password", .detail = detail, .age = -1 });
}

static void judge_passwords(struct judge *j)
{
	for (const struct admin *a = j->first; a != NULL; a = a->next)
		passwords_each_failure(a->ss->passwords, on_password, j);
}

static void judge_certificate(struct judge *j, enum tls_certificate which)
{
	const char *const setting = tls_certificate_setting(which);
	int64_t left;
	char detail[120];

	if (!tls_setup_seconds_left(j->first->ss->tls, which, &left) ||
	    left > CERTIFICATE_DAYS * 86400)
		return;
	if (left < 0)
		snprintf(detail, sizeof detail, "%s has expired", setting);
	else
		snprintf(detail, sizeof detail, "%s expires in %lld %s",
		    setting, (long long)(left < 2 * 86400 ? left / 3600 :
		    left / 86400), left < 2 * 86400 ? "hours" : "days");
	find(j, &(struct finding){ .word = JUDGED_DEGRADED,
	    .reason = "certificate", .detail = detail, .age = -1 });
}

static void judge_process(struct judge *j)
{
	const struct sessions *const ss = j->first->ss;

	judge_shutdown(j, ss);
	judge_users(j, ss->catalog->config);
	judge_logins(j);
	judge_clients(j);
	judge_memory(j);
	judge_passwords(j);
	for (int i = 0; ss->tls != NULL && i < TLS_CERTS; i++)
		judge_certificate(j, (enum tls_certificate)i);
}

/* --- databases --- */

/* Has no part of p a server, while logins fail? */
static bool is_down(const struct judge *j, const struct pool *p)
{
	if (!pool_is_down(p))
		return false;
	for (const struct admin *a = j->first; a != NULL &&
	    p->share.ledger != NULL; a = a->next) {
		const struct pool *const part = view_fold_part(a, p);

		if (part != NULL && pool_connected(part) > 0)
			return false;
	}
	return true;
}

/* The part of p whose clients have waited for longest, for *wait. */
static const struct pool *longest_wait(const struct judge *j,
    const struct pool *p, usec_t *wait)
{
	const struct pool *longest = NULL;
	usec_t since = 0;

	for (const struct admin *a = j->first; a != NULL; a = a->next) {
		const struct pool *const part = p->share.ledger == NULL ? p :
		    view_fold_part(a, p);
		const usec_t at = part == NULL ? 0 : pool_waiting_since(part);

		if (at != 0 && (since == 0 || at < since)) {
			since = at;
			longest = part;
		}
		if (p->share.ledger == NULL)
			break;
	}
	*wait = since == 0 ? 0 : time_now() - since;
	return longest;
}

static enum client_state waiting_in(const struct pool *p)
{
	return p->clients[CLIENT_WAITING] != NULL ? CLIENT_WAITING :
	    p->clients[CLIENT_WELCOME] != NULL ? CLIENT_WELCOME :
	    CLIENT_DEDICATED_WAITING;
}

static void judge_wait(struct judge *j, const struct catalog *c,
    const struct pool *p)
{
	usec_t wait;
	const struct pool *const part = longest_wait(j, p, &wait);
	struct wait_text why;

	if (part == NULL || wait < WAIT_LONG)
		return;
	wait_explain(part, wait_reason(part, waiting_in(part), c, time_now()),
	    &why);
	find(j, &(struct finding){ .word = JUDGED_DEGRADED,
	    .reason = "clients wait", .database = p->key.db->name,
	    .user = p->key.user->name, .detail = why.detail, .age = wait });
}

/* "connect failed: Connection refused (10.0.0.7:5432)" */
static const char *failure(const struct pool *p, char *buf, size_t size)
{
	const char *const more = pool_failure_detail(p);

	if (more == NULL)
		return pool_failure(p);
	snprintf(buf, size, "%s: %s", pool_failure(p), more);
	return buf;
}

static void judge_pool(struct judge *j, const struct catalog *c,
    const struct pool *p)
{
	struct finding f = { .word = JUDGED_DEGRADED,
		.effect = FINDING_OUTAGE, .database = p->key.db->name,
		.user = p->key.user->name, .age = -1 };
	char why[512];

	if (p->is_part)
		return;
	j->pools++;
	if (is_down(j, p)) {
		j->pools_down++;
		f.reason = "no server";
		f.detail = failure(p, why, sizeof why);
		f.age = time_now() - p->failing_since;
		find(j, &f);
	} else if (pool_connected(p) == 0 && drain_stops(c, p, time_now())) {
		f.reason = "drained";
		find(j, &f);
	} else if (!pool_is_paused(p, c)) {
		judge_wait(j, c, p);
	}
}

static void judge_database(struct judge *j, const struct catalog *c,
    const struct database *db)
{
	const bool only = j->database != NULL;

	j->databases++;
	j->databases_paused += db->paused;
	if (db->disabled)
		find(j, &(struct finding){ .word = only ? JUDGED_DOWN :
		    JUDGED_DEGRADED, .effect = FINDING_OUTAGE,
		    .reason = "disabled", .database = db->name, .age = -1 });
	if (db->paused)
		find(j, &(struct finding){ .word = JUDGED_DEGRADED,
		    .effect = FINDING_OUTAGE, .reason = "paused",
		    .database = db->name, .age = -1 });
	for (const struct pool *p = db->pools; p != NULL; p = p->db_next)
		judge_pool(j, c, p);
}

static void judge_databases(struct judge *j)
{
	for (const struct admin *a = j->first; a != NULL; a = a->next) {
		const struct catalog *const c = a->ss->catalog;
		const struct database *db = c->databases;

		for (; db != NULL; db = db->hh.next) {
			/* a client may have made up an automatic one's name */
			if (!db->console && !db->is_part &&
			    (j->database == NULL ? db->own == NULL :
			    strcmp(db->name, j->database) == 0))
				judge_database(j, c, db);
		}
	}
	if ((j->pools > 0 && j->pools == j->pools_down) ||
	    (j->databases > 0 && j->databases == j->databases_paused))
		j->word = JUDGED_DOWN;
}

enum judgement judge(const struct admin *a, const char *database,
    finding_fn *fn, void *arg)
{
	struct judge j = { .first = a, .database = database, .fn = fn,
		.arg = arg };

	judge_process(&j);
	judge_databases(&j);
	return j.word;
}

const char *judgement_name(enum judgement word)
{
	static const char *const names[JUDGEMENTS] = {
		[JUDGED_WELL] = "well",
		[JUDGED_DEGRADED] = "degraded",
		[JUDGED_DOWN] = "down",
	};

	return names[word];
}
