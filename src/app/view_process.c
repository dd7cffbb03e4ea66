/* view_process.c - SHOW VERSION, CONFIG, STATE, LISTS, MEM.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "app/app.h"
#include "app/version.h"
#include "app/views.h"
#include "base/mem.h"
#include "conf/ldap_options.h"
#include "io/dns.h"
#include "pool/catalog.h"
#include "pool/drain.h"
#include "pool/users.h"
#include "session/peer.h"

static const struct column version_columns[] = { COLUMN_T("version") };

static const struct column config_columns[] = {
	COLUMN_T("key"),
	COLUMN_T("value"),
	COLUMN_T("default"),
	COLUMN_T("changeable"),
};

static const struct column state_columns[] = {
	COLUMN_T("key"),
	COLUMN_T("value"),
};

static const struct column lists_columns[] = {
	COLUMN_T("list"),
	COLUMN_I4("items"),
};

static const struct column mem_columns[] = {
	COLUMN_T("name"),
	COLUMN_I4("size"),
	COLUMN_I4("used"),
	COLUMN_I4("free"),
	COLUMN_I4("memtotal"),
};

static void version_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	(void)app;
	(void)v;
	sink->row(sink, (const struct cell[]){
		cell_text(VERSION_TEXT),
	});
}

/* Who may look at the settings need not be one who may know passwords. */
static const char *shown(const struct option_row *o, const struct settings *s,
    char *buf, size_t size)
{
	const char *text = option_show(o, s, buf, size);

	return text != NULL && strcmp(o->name, "auth_ldap_options") == 0 ?
	    ldap_options_hide(text, buf, size) : text;
}

static void config_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	size_t count;
	const struct option_row *const rows = option_rows(&count);

	(void)v;
	for (size_t i = 0; i < count; i++) {
		char buf[2 * LDAP_OPTIONS_MAX];
		const int rc = sink->row(sink, (const struct cell[]){
			cell_text(rows[i].name),
			cell_text(shown(&rows[i], &app->config->set, buf,
			    sizeof buf)),
			cell_text(rows[i].def),
			cell_text(rows[i].effect == OPT_START ? "no" : "yes"),
		});

		if (rc != 0)
			return;
	}
}

static void state_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	const bool suspended = app->ss.suspended;
	const bool paused = app->catalog->paused && !suspended;
	const struct {
		const char *key;
		bool value;
	} rows[] = {
		{ "active", !paused && !suspended },
		{ "paused", paused },
		{ "suspended", suspended },
	};

	(void)v;
	for (size_t i = 0; i < VIEW_COUNT(rows); i++) {
		const int rc = sink->row(sink, (const struct cell[]){
			cell_text(rows[i].key),
			cell_text(rows[i].value ? "yes" : "no"),
		});

		if (rc != 0)
			return;
	}
	/* ours: DRAIN HOST */
	for (const struct drain *d = app->catalog->drained; d != NULL;
	    d = d->next) {
		if (sink->row(sink, (const struct cell[]){
			cell_text("drained"), cell_text(d->host) }) != 0)
			return;
	}
}

static int64_t count_peers(const struct config *config)
{
	int64_t n = 0;

	for (const struct config_peer *p = config->peers; p != NULL;
	    p = p->next)
		n++;
	return n;
}

static void lists_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	struct catalog *const c = app->catalog;
	struct dns_stat dns = { .names = 0 };

	if (app->ss.dns != NULL)
		dns_stat(app->ss.dns, &dns);
	/* nothing is kept for later use */
	const struct {
		const char *list;
		int64_t items;
	} rows[] = {
		{ "databases", HASH_COUNT(c->databases) },
		{ "users", (int64_t)users_count(c) },
		{ "peers", count_peers(app->config) },
		{ "pools", HASH_COUNT(c->pools) },
		{ "peer_pools", HASH_COUNT(app->ss.peers) },
		{ "free_clients", 0 },
		{ "used_clients", c->clients },
		{ "login_clients", app->ss.logins },
		{ "free_servers", 0 },
		{ "used_servers", app->ss.servers },
		{ "dns_names", (int64_t)dns.names },
		{ "dns_zones", (int64_t)dns.zones },
		{ "dns_queries", (int64_t)dns.queries },
		{ "dns_pending", 0 },
	};

	(void)v;
	for (size_t i = 0; i < VIEW_COUNT(rows); i++) {
		const int rc = sink->row(sink, (const struct cell[]){
			cell_text(rows[i].list),
			cell_number(rows[i].items),
		});

		if (rc != 0)
			return;
	}
}

/* Bytes of one object; the average where they differ. */
static size_t mem_object_size(const struct mem_stat *st)
{
	if (st->size > 0)
		return st->size;
	return st->used > 0 ? st->bytes / st->used : 0;
}

static void mem_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	(void)app;
	(void)v;
	for (int kind = 0; kind < MEM_KINDS; kind++) {
		const struct mem_stat *const st = mem_stat(kind);
		const int rc = sink->row(sink, (const struct cell[]){
			cell_text(st->name),
			cell_number((int64_t)mem_object_size(st)),
			cell_number((int64_t)st->used),
			cell_number(0),
			cell_number((int64_t)st->bytes),
		});

		if (rc != 0)
			return;
	}
}

struct view_group view_group_process(void)
{
	static const struct view views[] = {
		{ .topic = "CONFIG", VIEW_COLUMNS(config_columns),
		    .rows = config_rows },
		{ .topic = "VERSION", VIEW_COLUMNS(version_columns),
		    .rows = version_rows },
		{ .topic = "STATE", VIEW_COLUMNS(state_columns),
		    .rows = state_rows },
		{ .topic = "LISTS", VIEW_COLUMNS(lists_columns),
		    .rows = lists_rows },
		{ .topic = "MEM", VIEW_COLUMNS(mem_columns),
		    .rows = mem_rows },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}
