/* dns_zone.c - the zones of the names in use, and whether they changed.
 * SPDX-License-Identifier: ISC */
#include <ares.h>
#include <event2/event.h>
#include <string.h>

#include "io/dns_channel.h"
#include "io/dns_parts.h"

void dns_zone_unref(struct dns *d, struct zone *z)
{
	if (z == NULL || --z->names > 0 || z->asking)
		return;
	HASH_DEL(d->zones, z);
	mem_free(z);
}

struct zone *dns_zone_ref(struct dns *d, const char *name)
{
	const char *const dot = strchr(name, '.');
	struct net_addr literal;
	struct zone *z;

	if (dot == NULL || dot[1] == '\0' ||
	    net_parse_ip(name, 0, &literal) == 0)
		return NULL;
	HASH_FIND_STR(d->zones, dot + 1, z);
	if (z != NULL) {
		z->names++;
		return z;
	}

	const size_t len = strlen(dot + 1);
	z = mem_zalloc(sizeof *z + len + 1);
	if (z == NULL)
		return NULL;
	z->dns = d;
	z->names = 1;
	memcpy(z->text, dot + 1, len + 1);
	HASH_ADD_KEYPTR(hh, d->zones, z->text, len, z);
	if (z->hh.tbl != NULL)
		return z;
	mem_free(z);
	return NULL;
}

static void ask_zone_again(struct dns *d, const struct zone *z)
{
	struct name *n, *next;

	HASH_ITER(hh, d->names, n, next) {
		if (n->zone == z && !n->asking)
			dns_ask(d, n);
	}
}

static void on_serial(void *arg, int status, uint32_t serial)
{
	struct zone *z = arg;
	struct dns *d = z->dns;
	const bool known = z->known;
	const uint32_t before = z->serial;

	z->asking = false;
	if (z->names == 0) {
		HASH_DEL(d->zones, z);
		mem_free(z);
		return;
	}
	if (status != ARES_SUCCESS)
		return;
	z->known = true;
	z->serial = serial;
	/* RFC 1982 §3.2: the numbers go round */
	if (known && (int32_t)(serial - before) > 0)
		ask_zone_again(d, z);
}

static void on_zone_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dns *d = arg;
	struct zone *z, *next;

	(void)fd;
	(void)what;
	loop_woke(d->loop);
	HASH_ITER(hh, d->zones, z, next) {
		if (z->asking || z->names == 0)
			continue;
		z->asking = true;
		dns_channel_ask_serial(d->channel, z->text, on_serial, z);
	}
}

int dns_set_zone_period(struct dns *d, usec_t period)
{
	const struct timeval tv = {
		.tv_sec = period / USEC, .tv_usec = period % USEC,
	};

	if (period == d->zone_period)
		return 0;
	d->zone_period = 0;
	if (d->zone_timer != NULL)
		event_free(d->zone_timer);
	d->zone_timer = NULL;
	if (period == 0)
		return 0;
	d->zone_timer = event_new(loop_base(d->loop), -1, EV_PERSIST,
	    on_zone_timer, d);
	if (d->zone_timer == NULL || event_add(d->zone_timer, &tv) < 0)
		return -1;
	d->zone_period = period;
	return 0;
}

void dns_each_zone(const struct dns *d, int (*fn)(void *arg,
    const struct dns_zone *z), void *arg)
{
	for (const struct zone *z = d->zones; z != NULL; z = z->hh.next) {
		const struct dns_zone it = { z->text, z->serial, z->names };

		if (z->names > 0 && fn(arg, &it) != 0)
			return;
	}
}

void dns_zones_fini(struct dns *d)
{
	struct zone *z, *next;

	if (d->zone_timer != NULL)
		event_free(d->zone_timer);
	HASH_ITER(hh, d->zones, z, next) {
		HASH_DEL(d->zones, z);
		mem_free(z);
	}
}
