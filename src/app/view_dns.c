/* view_dns.c - SHOW DNS_HOSTS and DNS_ZONES: what the resolver remembers.
 * SPDX-License-Identifier: ISC */
#include "app/app.h"
#include "app/views.h"
#include "base/net.h"
#include "base/text.h"
#include "io/dns.h"

/* All addresses of a name, with their commas. */
#define ADDRS_TEXT_MAX (DNS_ADDRS_MAX * NET_TEXT_MAX)

static const struct column hosts_columns[] = {
	COLUMN_T("hostname"), COLUMN_I8("ttl"), COLUMN_T("addrs"),
};

static const struct column zones_columns[] = {
	COLUMN_T("zonename"), COLUMN_I8("serial"), COLUMN_I4("count"),
};

static int host_row(void *arg, const struct dns_name *n)
{
	struct row_sink *const sink = arg;
	char text[ADDRS_TEXT_MAX], addr[NET_TEXT_MAX];
	struct text t;

	text_init(&t, text, sizeof text);
	for (unsigned i = 0; i < n->count; i++)
		text_addf(&t, "%s%s", i > 0 ? "," : "",
		    net_format(&n->addrs[i], addr, sizeof addr));
	return sink->row(sink, (const struct cell[]){
		cell_text(n->name),
		cell_number(n->ttl / USEC),
		cell_text(text),
	});
}

static void hosts_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	(void)v;
	if (app->ss.dns != NULL)
		dns_each(app->ss.dns, host_row, sink);
}

static int zone_row(void *arg, const struct dns_zone *z)
{
	struct row_sink *const sink = arg;

	return sink->row(sink, (const struct cell[]){
		cell_text(z->name),
		cell_number(z->serial),
		cell_number(z->names),
	});
}

static void zones_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	(void)v;
	if (app->ss.dns != NULL)
		dns_each_zone(app->ss.dns, zone_row, sink);
}

struct view_group view_group_dns(void)
{
	static const struct view views[] = {
		{ .topic = "DNS_HOSTS", VIEW_COLUMNS(hosts_columns),
		    .rows = hosts_rows },
		{ .topic = "DNS_ZONES", VIEW_COLUMNS(zones_columns),
		    .rows = zones_rows },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}
