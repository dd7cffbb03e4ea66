/* drain.c - hosts that no new server connection goes to.
 * SPDX-License-Identifier: ISC */
#include "pool/drain.h"

#include <string.h>
#include <utlist.h>

#include "base/mem.h"
#include "base/text.h"
#include "pool/catalog.h"

/* Names may lead elsewhere: also without server_login_retry, not at once. */
#define PAUSE_MIN (USEC / 10)

static bool is_address(const struct net_addr *a)
{
	return a->family == NET_IPV4 || a->family == NET_IPV6;
}

/* The address that host is; or none. */
static struct net_addr address_of(const char *host)
{
	struct net_addr a = { .family = NET_NONE };

	(void)net_parse_ip(host, 0, &a);
	return a;
}

static bool is_same(const struct drain *d, const char *host,
    const struct net_addr *addr)
{
	if (text_casecmp(d->host, host) == 0)
		return true;
	if (!is_address(&d->addr) || !is_address(addr))
		return false;

	struct net_addr a = *addr;

	/* the scope of a link-local address is not written */
	a.port = 0;
	a.pid = 0;
	return net_equal(&d->addr, &a);
}

static const struct drain *find(const struct catalog *c, const char *host,
    const struct net_addr *addr)
{
	const struct drain *d = c->drained;

	while (d != NULL && !is_same(d, host, addr))
		d = d->next;
	return d;
}

int drain_add(struct catalog *c, const char *host)
{
	const struct net_addr addr = address_of(host);
	struct drain *d;
	unsigned count = 0;

	if (find(c, host, &addr) != NULL)
		return 0;
	LL_COUNT(c->drained, d, count);
	d = count < DRAIN_MAX ? mem_zalloc(sizeof *d) : NULL;
	if (d == NULL)
		return -1;
	text_copy(d->host, sizeof d->host, host);
	d->addr = addr;
	LL_APPEND(c->drained, d);
	return 0;
}

bool drain_remove(struct catalog *c, const char *host)
{
	const struct net_addr addr = address_of(host != NULL ? host : "");
	struct drain *d, *next;
	bool found = false;

	LL_FOREACH_SAFE(c->drained, d, next) {
		if (host != NULL && !is_same(d, host, &addr))
			continue;
		LL_DELETE(c->drained, d);
		mem_free(d);
		found = true;
	}
	for (struct pool *p = c->pools; p != NULL && found; p = p->hh.next)
		p->drained_at = 0;
	return found;
}

bool drain_has(const struct catalog *c, const char *host,
    const struct net_addr *addr)
{
	static const struct net_addr none = { .family = NET_NONE };
	char folder[256];

	if (c->drained == NULL)
		return false;
	/* a socket is in the folder that is named */
	text_copy(folder, sizeof folder, host);
	char *const socket = strstr(folder, "/.s.PGSQL.");

	if (socket != NULL)
		*socket = '\0';
	return find(c, folder, addr != NULL ? addr : &none) != NULL;
}

static bool has_all(const struct catalog *c, const char *list)
{
	for (;; list++) {
		const size_t n = strcspn(list, ",");
		char item[256];
		struct text t;

		text_init(&t, item, sizeof item);
		text_add_bytes(&t, list, n);
		const struct net_addr addr = address_of(item);

		if (find(c, item, &addr) == NULL)
			return false;
		list += n;
		if (*list == '\0')
			return true;
	}
}

bool drain_stops(const struct catalog *c, const struct pool *p, usec_t now)
{
	const char *const list = p->key.db->conf->host;
	const usec_t retry = p->limits.login_retry > PAUSE_MIN ?
	    p->limits.login_retry : PAUSE_MIN;

	if (c->drained == NULL || list == NULL)
		return false;
	return (p->drained_at != 0 && now - p->drained_at < retry) ||
	    has_all(c, list);
}
