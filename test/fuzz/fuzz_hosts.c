/* fuzz_hosts.c - a list of hosts: each is planned once, those that failed last.
 * The rule, the list, a NUL; then what happens: two bytes each.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "pool/catalog.h"
#include "pool/hosts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ITEMS 256
#define RETRY (2 * USEC)

struct world {
	struct config config;
	struct catalog catalog;
	struct config_db conf;
	struct database db;
	struct pool pool;
	unsigned items;
	usec_t now, failed[ITEMS];	/* 0: it works */
};

static bool failed_lately(const struct world *w, unsigned item)
{
	return w->failed[item] != 0 && w->now - w->failed[item] < RETRY;
}

static bool is_any_left(const struct world *w)
{
	for (unsigned i = 0; i < w->items; i++)
		if (!failed_lately(w, i))
			return true;
	return false;
}

/* Is h item h->item of the list? */
static void check_host(const struct world *w, const struct host *h)
{
	const char *at = w->conf.host;

	assert(h->item < w->items);
	for (unsigned n = h->item; n > 0; n--)
		at = strchr(at, ',') + 1;
	const size_t n = strcspn(at, ","), has = strlen(h->text);

	assert(memcmp(h->text, at, n < has ? n : has) == 0);
	assert(h->addr.port == 5433 || h->kind == HOST_UNIX);
	if (n > 0 && (at[0] == '/' || at[0] == '@'))
		assert(h->kind == HOST_UNIX);
	else
		assert(h->kind != HOST_UNIX && has <= n);
}

static void plan(struct world *w)
{
	bool seen[ITEMS] = { false };
	struct host *h = NULL;
	const bool left = is_any_left(w);
	const int count = hosts_plan(&w->pool, &w->catalog, w->now, &h);

	assert(count > 0 && count <= HOSTS_MAX);
	assert(w->items == 1 ||
	    hosts_left(&w->pool, &w->catalog, w->now) == (left &&
	    w->pool.failures != NULL));
	for (int i = 0; i < count; i++) {
		check_host(w, &h[i]);
		assert(!seen[h[i].item]);
		seen[h[i].item] = true;
		assert(w->items == 1 || !left ||
		    !failed_lately(w, h[i].item));
	}
	/* all that may be are there, as far as there is room */
	for (unsigned i = 0; i < w->items && count < HOSTS_MAX; i++)
		assert(seen[i] || (left && failed_lately(w, i)));
	mem_free(h);
}

static void step(struct world *w, uint8_t what, uint8_t arg)
{
	w->now += what >> 3 << 16;
	switch (what & 7) {
	case 0:
	case 1:
		hosts_failed(&w->pool, arg, what & 1, w->now);
		if (arg < w->items)
			w->failed[arg] = w->now;
		break;
	case 2:
		hosts_worked(&w->pool, arg);
		w->failed[arg] = 0;
		break;
	default:
		plan(w);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world w;
	const uint8_t *const nul = size < 2 ? NULL :
	    memchr(data + 1, '\0', size - 1);

	if (nul == NULL)
		return 0;
	memset(&w, 0, sizeof w);
	w.conf.host = mem_strdup((const char *)data + 1);
	assert(w.conf.host != NULL);
	w.conf.port = 5433;
	w.conf.load_balance_hosts = data[0] & 1 ? LB_ROUND_ROBIN : LB_DISABLE;
	w.db.conf = &w.conf;
	w.pool.key.db = &w.db;
	w.pool.limits.login_retry = RETRY;
	w.catalog.config = &w.config;
	w.now = USEC;
	w.items = 1;
	for (const char *at = w.conf.host; *at != '\0'; at++)
		w.items += *at == ',';
	for (size -= (size_t)(nul + 1 - data), data = nul + 1;
	    w.items <= ITEMS && size > 1; size -= 2, data += 2)
		step(&w, data[0], data[1]);
	hosts_free(&w.pool);
	mem_free(w.conf.host);
	return 0;
}
