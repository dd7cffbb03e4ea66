/* admin_wait.c - commands that block a console until something is complete.
 * SPDX-License-Identifier: ISC */
#include "console/admin.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/broker.h"
#include "conf/persist.h"
#include "console/admin_parse.h"
#include "console/console.h"
#include "console/console_show.h"
#include "pool/catalog.h"
#include "session/client.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define LOOK (USEC / 20)	/* at several workers */

static void unblock(struct console *k, const struct err *e, const char *tag)
{
	if (e != NULL)
		console_error(k, e);
	else
		console_complete(k, tag);
	console_go_on(k);
}

/* One notice a line. */
static void tell_remarks(struct console *k, const char *remarks)
{
	char line[512];
	struct text t;

	while (*remarks != '\0') {
		const size_t n = strcspn(remarks, "\n");

		text_init(&t, line, sizeof line);
		text_add_bytes(&t, remarks, n);
		console_notice(k, line, NULL);
		remarks += n + (remarks[n] == '\n');
	}
}

/* (spec/admin-console.md section 4.10) */
void admin_reloaded(struct admin *a, unsigned reload, const struct err *e,
    const char *remarks)
{
	struct console *k, *next;

	DL_FOREACH_SAFE(a->consoles, k, next) {
		if (k->wait != CONSOLE_RELOAD || k->reload != reload)
			continue;
		if (e == NULL) {
			tell_remarks(k, remarks);
			console_complete(k, "RELOAD");
		} else {
			log_error("RELOAD Failed, see logs for more details");
			console_refuse(k, e);
		}
		console_go_on(k);
	}
}

static void answer_persist(struct console *k, const struct admin_persist *p)
{
	char tag[sizeof "SET =" + sizeof ((struct admin_command *)0)->arg +
	    sizeof ((struct admin_command *)0)->value];

	if (p->failed) {
		unblock(k, p->why, NULL);
		return;
	}
	if (p->why->text[0] != '\0')
		console_notice(k, p->why->text, NULL);
	snprintf(tag, sizeof tag, "SET %s=%s", p->entry->key, p->entry->value);
	unblock(k, NULL, tag);
}

void admin_persisted(struct admin *a, unsigned number,
    const struct admin_persist *p)
{
	struct console *k, *next;

	DL_FOREACH_SAFE(a->consoles, k, next) {
		if (k->wait == CONSOLE_PERSIST && k->reload == number)
			answer_persist(k, p);
	}
}

/* (spec/admin-console.md section 4.12) */
void admin_cancel(struct client *c)
{
	struct console *const k = c->console;
	struct admin *const a = k->admin;
	const bool waits = (k->wait == CONSOLE_PAUSE && k->db[0] == '\0' &&
	    a->ss->catalog->paused) || k->wait == CONSOLE_SUSPEND;
	const bool lift = waits &&
	    a->ss->shutdown != SHUTDOWN_WAIT_FOR_SERVERS;
	struct err e;

	/* what is being tried may be in force by the time of the answer */
	if (k->wait == CONSOLE_READY || k->wait == CONSOLE_PERSIST)
		return;
	console_show_drop(k);
	err_set(&e, ERRCODE_QUERY_CANCELED,
	    "canceling statement due to user request");
	unblock(k, &e, NULL);
	if (lift)
		a->ops->resume(a->app);
}

static bool has_obsolete(const struct pool *p)
{
	static const enum server_state states[] = { SERVER_ACTIVE, SERVER_IDLE,
		SERVER_LISTENING, SERVER_LOGIN, SERVER_TESTED, SERVER_USED };

	for (size_t i = 0; i < COUNT(states); i++) {
		const struct pool_server *ps;

		DL_FOREACH(p->servers[states[i]], ps) {
			if (ps->close_needed)
				return true;
		}
	}
	return false;
}

/* Of one database, or all. */
static bool any_obsolete(const struct catalog *c, const struct database *db)
{
	const struct pool *p = c->pools;

	for (; p != NULL; p = p->hh.next) {
		if ((db == NULL || p->key.db == db) && has_obsolete(p))
			return true;
	}
	return false;
}

/* What the worker of a has of db; NULL: nothing, or all is meant. */
static const struct database *admin_wait_part_of(const struct admin *a,
    const struct database *db)
{
	return db == NULL ? NULL :
	    catalog_find_database(a->ss->catalog, db->name);
}

static void check_close(struct console *k, const struct database *db)
{
	for (const struct admin *a = k->admin; a != NULL; a = a->next) {
		const struct database *const here = admin_wait_part_of(a, db);

		if ((db == NULL || here != NULL) &&
		    any_obsolete(a->ss->catalog, here))
			return;
	}
	unblock(k, NULL, "WAIT_CLOSE");
}

static bool all_quiet(const struct admin *a, const struct database *db)
{
	for (; a != NULL; a = a->next) {
		const struct database *const here = admin_wait_part_of(a, db);

		if ((db == NULL || here != NULL) &&
		    !broker_is_quiet(a->ss, here))
			return false;
	}
	return true;
}

static void check_pause(struct console *k, const struct database *db)
{
	const bool paused = db != NULL ? db->paused : k->admin->ss->catalog->paused;
	struct err e;

	if (!paused) {
		if (db != NULL)
			err_set(&e, ERRCODE_PROTOCOL_VIOLATION,
			    "database %s is not paused", k->db);
		else
			err_set(&e, ERRCODE_PROTOCOL_VIOLATION,
			    "pooler is not paused/suspended");
		unblock(k, &e, NULL);
	} else if (all_quiet(k->admin, db)) {
		unblock(k, NULL, "PAUSE");
	}
}

static void check_suspend(struct console *k)
{
	struct err e;

	if (!k->admin->ss->suspended) {
		err_set(&e, ERRCODE_PROTOCOL_VIOLATION,
		    "pooler is not paused/suspended");
		unblock(k, &e, NULL);
	} else if (k->admin->ops->is_suspended(k->admin->app)) {
		unblock(k, NULL, "SUSPEND");
	}
}

static bool waits(const struct console *k)
{
	return k->wait == CONSOLE_PAUSE || k->wait == CONSOLE_CLOSE ||
	    k->wait == CONSOLE_SUSPEND;
}

static const struct database *find_waited(const struct console *k)
{
	const struct database *db = NULL;

	for (const struct admin *a = k->admin; a != NULL && db == NULL;
	    a = a->next)
		db = catalog_find_database(a->ss->catalog, k->db);
	return db;
}

static void admin_wait_check(struct console *k)
{
	const struct database *const db = k->db[0] == '\0' ? NULL :
	    find_waited(k);
	struct err e;

	if (k->db[0] != '\0' && db == NULL) {
		err_set(&e, ERRCODE_PROTOCOL_VIOLATION,
		    "no such database: %s", k->db);
		unblock(k, &e, NULL);
	} else if (k->wait == CONSOLE_PAUSE) {
		check_pause(k, db);
	} else if (k->wait == CONSOLE_SUSPEND) {
		check_suspend(k);
	} else {
		check_close(k, db);
	}
}

static void check_all(struct admin *a)
{
	struct console *k, *next;

	DL_FOREACH_SAFE(a->consoles, k, next) {
		if (waits(k))
			admin_wait_check(k);
	}
}

/* Now and then: it costs the workers more than a look. */
static void check_in_a_hold(struct admin *a)
{
	const struct console *k;
	struct err e;

	DL_FOREACH(a->consoles, k) {
		if (waits(k))
			break;
	}
	if (k == NULL || time_now() < a->looked + LOOK ||
	    a->ops->hold(a->app, &e) < 0)
		return;
	a->looked = time_now();
	check_all(a);
	a->ops->let_go(a->app);
}

void admin_leave_workers(struct admin *a)
{
	struct console *k;

	DL_FOREACH(a->consoles, k)
		console_show_drop(k);
	console_show_end_late(a);
}

void admin_turn(struct admin *a)
{
	console_show_end_late(a);
	if (a->next == NULL)
		check_all(a);
	else
		check_in_a_hold(a);
}
