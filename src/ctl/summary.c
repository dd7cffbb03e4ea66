/* summary.c - how the pooler is, in a few figures and words.
 * SPDX-License-Identifier: ISC */
#include "ctl/summary.h"

#include <string.h>
#include <time.h>

#include "base/num.h"
#include "base/text.h"
#include "ctl/grid.h"

/* "PgBouncer 1.25.2 (pgsluice 0.1.0)": what is in brackets. */
void summary_version(struct summary *s, const struct grid *version)
{
	const char *const all = grid_cell(version, 0, 0);
	const char *const from = all == NULL ? NULL : strchr(all, '(');
	struct text t;

	text_init(&t, s->version, sizeof(s->version));
	if (from != NULL)
		text_add_bytes(&t, from + 1, strcspn(from + 1, ")"));
	else
		text_add(&t, all != NULL ? all : "");
}

/* "2026-11-23 09:15:02.123456+00" */
void summary_uptime(struct summary *s, const char *started, usec_t now)
{
	struct tm tm = { 0 };

	s->uptime = -1;
	if (started == NULL ||
	    strptime(started, "%Y-%m-%d %H:%M:%S", &tm) == NULL)
		return;
	const usec_t uptime = now - (usec_t)timegm(&tm) * USEC;

	s->uptime = uptime > 0 ? uptime : 0;
}

static bool is_yes(const struct grid *state, const char *key)
{
	const char *const value = grid_value(state, key);

	return value != NULL && strcmp(value, "yes") == 0;
}

static int64_t items(const struct grid *g, const char *key)
{
	const char *const value = grid_value(g, key);
	int64_t n = 0;

	if (value != NULL)
		(void)num_parse_i64(value, &n);
	return n;
}

/* Rows such as "client_tls_cert_file_days". */
static void take_certificates(struct summary *s, const struct grid *state)
{
	static const char end[] = "_cert_file_days";
	const int key_at = grid_column(state, "key");
	const int value_at = grid_column(state, "value");
	struct text t;

	text_init(&t, s->certificates, sizeof s->certificates);
	for (size_t i = 0; i < state->rows; i++) {
		const char *const key = grid_cell(state, i, key_at);
		const char *const days = grid_cell(state, i, value_at);
		const size_t len = key == NULL ? 0 : strlen(key);

		if (days == NULL || len < sizeof end ||
		    strcmp(key + len - sizeof end + 1, end) != 0)
			continue;
		text_addf(&t, "%s%.*s %s days", t.len > 0 ? ", " : "",
		    (int)(len - strlen("_days")), key, days);
	}
}

void summary_state(struct summary *s, const struct grid *state)
{
	s->paused = is_yes(state, "paused");
	s->suspended = is_yes(state, "suspended");
	s->draining = grid_value(state, "draining") != NULL;
	s->drain_clients = items(state, "clients_left");
	s->drain_seconds = items(state, "seconds_left");
	take_certificates(s, state);
}

void summary_lists(struct summary *s, const struct grid *lists)
{
	s->clients = items(lists, "used_clients");
	s->logins = items(lists, "login_clients");
	s->servers = items(lists, "used_servers");
}

void summary_consoles(struct summary *s, const struct grid *pools)
{
	const int database = grid_column(pools, "database");

	for (size_t i = 0; i < pools->rows; i++) {
		const char *const name = grid_cell(pools, i, database);

		if (name != NULL && strcmp(name, "pgbouncer") == 0)
			s->clients -= grid_number(pools, i, "cl_active");
	}
	s->clients = s->clients > 0 ? s->clients : 0;
}

void summary_waits(struct summary *s, const struct grid *waits)
{
	s->waiting = s->longest = 0;
	for (size_t i = 0; i < waits->rows; i++) {
		const usec_t wait = grid_number(waits, i, "wait_us");

		s->waiting += grid_number(waits, i, "clients");
		s->longest = wait > s->longest ? wait : s->longest;
	}
}

static const char *cell(const struct grid *g, size_t row, const char *column)
{
	return grid_cell(g, row, grid_column(g, column));
}

void summary_add_finding(struct text *t, const struct grid *g, size_t row)
{
	const char *const database = cell(g, row, "database");
	const char *const user = cell(g, row, "user");
	const char *const reason = cell(g, row, "reason");
	const char *const detail = cell(g, row, "detail");

	if (database != NULL && user != NULL)
		text_addf(t, "pool %s/%s: ", database, user);
	else if (database != NULL)
		text_addf(t, "database \"%s\": ", database);
	text_add(t, reason != NULL ? reason : "");
	if (cell(g, row, "seconds") != NULL)
		text_addf(t, " for %lld s",
		    (long long)grid_number(g, row, "seconds"));
	if (detail != NULL)
		text_addf(t, ": %s", detail);
}

void summary_health(struct summary *s, const struct grid *health)
{
	const char *const word = cell(health, 0, "state");
	struct text t;

	text_copy(s->health, sizeof s->health, word != NULL ? word : "well");
	text_init(&t, s->reason, sizeof s->reason);
	s->reason[0] = '\0';
	if (health->rows > 1)
		summary_add_finding(&t, health, 1);
}

bool summary_is_well(const struct summary *s)
{
	return strcmp(s->health, "well") == 0;
}

bool summary_is_active(const struct summary *s)
{
	return !s->paused && !s->suspended && !s->draining;
}

const char *summary_word(const struct summary *s)
{
	return s->draining ? "draining" : s->suspended ? "suspended" :
	    s->paused ? "paused" : "active";
}

void summary_add_state(struct text *t, const struct summary *s)
{
	text_add(t, summary_word(s));
	if (s->draining)
		text_addf(t, ", %lld clients left, %lld s",
		    (long long)s->drain_clients, (long long)s->drain_seconds);
}

void summary_add_uptime(struct text *t, usec_t time)
{
	const long long all = time / USEC;
	const int s = (int)(all % 60), m = (int)(all / 60 % 60);
	const int h = (int)(all / 3600 % 24);
	const long long days = all / 86400;

	if (days > 0)
		text_addf(t, "%lld day%s %02d:%02d", days, days == 1 ? "" :
		    "s", h, m);
	else
		text_addf(t, "%02d:%02d:%02d", h, m, s);
}

void summary_add_wait(struct text *t, usec_t time)
{
	if (time <= 0)
		text_add(t, "0");
	else if (time < USEC)
		text_addf(t, "%lld ms", (long long)(time + 999) / 1000);
	else if (time < 100 * USEC)
		text_addf(t, "%lld.%lld s", (long long)(time / USEC),
		    (long long)(time % USEC / (USEC / 10)));
	else
		text_addf(t, "%lld min", (long long)(time / USEC / 60));
}
