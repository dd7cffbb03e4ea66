/* drain.c - hosts that no new server connection goes to.
 * SPDX-License-Identifier: ISC */
#include "pool/drain.h"

#include <string.h>
#include <utlist.h>

#include "base/mem.h"
#include "base/text.h"
#include "pool/catalog.h"

static struct drain *find(const struct catalog *c, const char *host)
{
	struct drain *d = c->drained;

	while (d != NULL && text_casecmp(d->host, host) != 0)
		d = d->next;
	return d;
}

int drain_add(struct catalog *c, const char *host)
{
	struct drain *d;
	unsigned count = 0;

	if (find(c, host) != NULL)
		return 0;
	LL_COUNT(c->drained, d, count);
	d = count < DRAIN_MAX ? mem_zalloc(sizeof *d) : NULL;
	if (d == NULL)
		return -1;
	text_copy(d->host, sizeof d->host, host);
	LL_APPEND(c->drained, d);
	return 0;
}

bool drain_remove(struct catalog *c, const char *host)
{
	struct drain *d, *next;
	bool found = false;

	LL_FOREACH_SAFE(c->drained, d, next) {
		if (host != NULL && text_casecmp(d->host, host) != 0)
			continue;
		LL_DELETE(c->drained, d);
		mem_free(d);
		found = true;
	}
	return found;
}

bool drain_has(const struct catalog *c, const char *host,
    const struct net_addr *addr)
{
	char ip[NET_TEXT_MAX], folder[256];

	if (c->drained == NULL)
		return false;
	/* a socket is in the folder that is named */
	text_copy(folder, sizeof folder, host);
	char *const socket = strstr(folder, "/.s.PGSQL.");

	if (socket != NULL)
		*socket = '\0';
	return find(c, folder) != NULL || (addr != NULL &&
	    addr->family != NET_NONE && addr->family != NET_UNIX &&
	    find(c, net_format_ip(addr, ip, sizeof ip)) != NULL);
}

bool drain_stops(const struct catalog *c, const struct pool *p)
{
	const char *list = p->key.db->conf->host;

	if (c->drained == NULL || list == NULL)
		return false;
	for (;; list++) {
		const size_t n = strcspn(list, ",");
		char item[256];
		struct text t;

		text_init(&t, item, sizeof item);
		text_add_bytes(&t, list, n);
		if (find(c, item) == NULL)
			return false;
		list += n;
		if (*list == '\0')
			return true;
	}
}
