/* view_dns.c - SHOW DNS_HOSTS and DNS_ZONES: what the resolver remembers.
 * SPDX-License-Identifier: ISC */
#include "base/net.h"
#include "base/text.h"
#include "console/admin.h"
#include "console/views.h"
#include "io/dns.h"

/* All addresses of a name, with their commas. */
#define ADDRS_TEXT_MAX (DNS_ADDRS_MAX * NET_TEXT_MAX)

#define HOSTS(X) \
	X(TEXT, "hostname", PLAIN, cell_text(n->name)) \
	X(INT8, "ttl", PLAIN, cell_number(n->ttl / USEC)) \
	X(TEXT, "addrs", PLAIN, cell_text(text))

static const struct column hosts_columns[] = { HOSTS(VIEW_COLUMN) };

#define ZONES(X) \
	X(TEXT, "zonename", PLAIN, cell_text(z->name)) \
	X(INT8, "serial", PLAIN, cell_number(z->serial)) \
	X(INT4, "count", PLAIN, cell_number(z->names))

static const struct column zones_columns[] = { ZONES(VIEW_COLUMN) };

static int host_row(void *arg, const struct dns_name *n)
{
	struct row_sink *const sink = arg;
	char text[ADDRS_TEXT_MAX], addr[NET_TEXT_MAX];
	struct text t;

	text_init(&t, text, sizeof text);
	for (unsigned i = 0; i < n->count; i++)
		text_addf(&t, "%s%s", i > 0 ? "," : "",
		    net_format(&n->addrs[i], addr, sizeof addr));
	return sink->row(sink, VIEW_ROW(HOSTS));
}

static void hosts_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	(void)v;
	if (a->ss->dns != NULL)
		dns_each(a->ss->dns, host_row, sink);
}

static int zone_row(void *arg, const struct dns_zone *z)
{
	struct row_sink *const sink = arg;

	return sink->row(sink, VIEW_ROW(ZONES));
}

static void zones_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	(void)v;
	if (a->ss->dns != NULL)
		dns_each_zone(a->ss->dns, zone_row, sink);
}

struct view_group view_group_dns(void)
{
	static const struct view views[] = {
		{ .topic = "DNS_HOSTS", VIEW_COLUMNS(hosts_columns),
		    .rows = hosts_rows, .over = VIEW_WHOLE },
		{ .topic = "DNS_ZONES", VIEW_COLUMNS(zones_columns),
		    .rows = zones_rows, .over = VIEW_WHOLE },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}
