/* hosts.c - chooses the host for the next connection.
 * SPDX-License-Identifier: ISC */
#include "pool/hosts.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <utlist.h>

#include "base/mem.h"
#include "base/text.h"
#include "pool/catalog.h"

/* Even without server_login_retry, other hosts come first for this time. */
#define PAUSE_MIN (USEC / 10)
#define DOUBLED_MAX 10		/* a quarter of an hour */

struct host_failures {
	char *list;		/* owned: the list that this is about */
	unsigned count;
	unsigned abandoned;	/* logins that were given up since the last
				 * complete one */
	struct {
		usec_t at;	/* of the last failure; 0: it works, or is
				 * new */
		bool misfit;	/* its role is not the one that
				 * target_session_attrs requires */
	} of[];
};

static unsigned count_items(const char *list)
{
	unsigned items = 1;

	for (; *list != '\0'; list++)
		items += *list == ',';
	return items;
}

/* Copies item n, which must exist. */
static void hosts_pick(const char *list, unsigned n, char *out, size_t size)
{
	struct text t;

	for (; n > 0; n--)
		list = strchr(list, ',') + 1;
	text_init(&t, out, size);
	text_add_bytes(&t, list, strcspn(list, ","));
}

static void unix_host(struct host *out, const char *dir, int port)
{
	struct text t;

	out->kind = HOST_UNIX;
	out->addr.family = NET_UNIX;
	text_init(&t, out->text, sizeof out->text);
	text_addf(&t, "%s/.s.PGSQL.%d", dir, port);
}

static void make_host(struct host *out, const struct config_db *conf,
    unsigned item)
{
	const uint16_t port = (uint16_t)conf->port;
	char text[sizeof out->text];

	hosts_pick(conf->host, item, text, sizeof text);
	out->item = item;
	out->addr.port = port;
	if (text[0] == '/' || text[0] == '@') {
		unix_host(out, text, conf->port);
		return;
	}
	out->kind = net_parse_ip(text, port, &out->addr) == 0 ?
	    HOST_ADDRESS : HOST_NAME;
	text_copy(out->text, sizeof out->text, text);
}

void hosts_free(struct pool *p)
{
	if (p->failures != NULL)
		mem_free(p->failures->list);
	mem_free(p->failures);
	p->failures = NULL;
}

/* NULL: no failures, or they belong to a former list. */
static struct host_failures *find_failures(const struct pool *p)
{
	const char *const list = p->key.db->conf->host;
	struct host_failures *const f = p->failures;

	return f != NULL && list != NULL && strcmp(f->list, list) == 0 ?
	    f : NULL;
}

static struct host_failures *get_failures(struct pool *p)
{
	const char *const list = p->key.db->conf->host;
	struct host_failures *f = find_failures(p);

	if (f != NULL || list == NULL)
		return f;
	hosts_free(p);

	const unsigned count = count_items(list);
	f = mem_zalloc(sizeof *f + count * sizeof f->of[0]);
	if (f == NULL)
		return NULL;
	f->count = count;
	f->list = mem_strdup(list);
	if (f->list == NULL) {
		mem_free(f);
		return NULL;
	}
	p->failures = f;
	return f;
}

/*
 * If another host may take over at any time, each attempt asks every host. So
 * the pause ends before the next attempt starts.
 */
static usec_t pause_of(const struct pool *p)
{
	const usec_t retry = p->limits.attrs != ATTRS_ANY ?
	    p->limits.login_retry / 2 : p->limits.login_retry;

	return retry > PAUSE_MIN ? retry : PAUSE_MIN;
}

static bool failed_lately(const struct pool *p, unsigned item, usec_t now)
{
	const struct host_failures *const f = find_failures(p);

	return f != NULL && item < f->count && f->of[item].at != 0 &&
	    now - f->of[item].at < pause_of(p);
}

static bool is_misfit(const struct pool *p, unsigned item)
{
	const struct host_failures *const f = find_failures(p);

	return f != NULL && item < f->count && f->of[item].misfit;
}

void hosts_failed(struct pool *p, unsigned item, bool slow, usec_t now)
{
	struct host_failures *const f = get_failures(p);
	const struct config_db *const conf = p->key.db->conf;

	if (f == NULL || item >= f->count)
		return;
	f->of[item].at = now;
	if (!slow && conf->load_balance_hosts == LB_DISABLE &&
	    item == p->host_turn % f->count)
		p->host_turn++;
}

void hosts_worked(struct pool *p, unsigned item)
{
	struct host_failures *const f = find_failures(p);

	if (f != NULL && item < f->count) {
		f->of[item].at = 0;
		f->abandoned = 0;
	}
}

usec_t hosts_patience(const struct pool *p)
{
	const char *const list = p->key.db->conf->host;
	const struct host_failures *const f = find_failures(p);

	if (p->limits.attrs == ATTRS_ANY || list == NULL ||
	    strchr(list, ',') == NULL)
		return 0;
	return USEC << (f != NULL ? f->abandoned : 0);
}

void hosts_abandon(struct pool *p, unsigned item)
{
	struct host_failures *const f = get_failures(p);

	if (f != NULL && f->abandoned < DOUBLED_MAX)
		f->abandoned++;
	/* other hosts come first */
	hosts_set_misfit(p, item, true);
}

void hosts_set_misfit(struct pool *p, unsigned item, bool misfit)
{
	struct host_failures *const f = misfit ? get_failures(p) :
	    find_failures(p);

	if (f != NULL && item < f->count)
		f->of[item].misfit = misfit;
}

bool hosts_find_doubted(const struct pool *p, unsigned *item)
{
	const struct host_failures *const f = find_failures(p);

	for (; f != NULL && *item < f->count; ++*item) {
		if (f->of[*item].at != 0 || f->of[*item].misfit)
			return true;
	}
	return false;
}

bool hosts_are(const struct pool *p, const char *list, int port)
{
	const struct config_db *const conf = p->key.db->conf;

	return conf->port == port && conf->host != NULL &&
	    strcmp(conf->host, list) == 0;
}

static bool is_drained(const struct pool *p, unsigned item,
    const struct catalog *c)
{
	struct host h = { .kind = HOST_NONE };

	/* only cancel requests go to a peer */
	if (c->drained == NULL || p->peer_id != 0)
		return false;
	make_host(&h, p->key.db->conf, item);
	return drain_has(c, h.text, &h.addr);
}

bool hosts_left(const struct pool *p, const struct catalog *c, usec_t now)
{
	const struct host_failures *const f = find_failures(p);

	/* the only host of a list is never skipped */
	for (unsigned i = 0; f != NULL && f->count > 1 && i < f->count; i++) {
		if (!failed_lately(p, i, now) && !is_drained(p, i, c))
			return true;
	}
	return false;
}

bool hosts_better_left(const struct pool *p, const struct catalog *c,
    usec_t now)
{
	const struct host_failures *const f = find_failures(p);

	for (unsigned i = 0; f != NULL && i < f->count; i++) {
		if (!f->of[i].misfit && !failed_lately(p, i, now) &&
		    !is_drained(p, i, c))
			return true;
	}
	return false;
}

static int plan_default(const struct config_db *conf, const char *unix_dir,
    struct host *out)
{
	if (unix_dir == NULL || unix_dir[0] == '\0') {
		errno = 0;
		return -1;
	}
	unix_host(out, unix_dir, conf->port);
	out->addr.port = (uint16_t)conf->port;
	return 1;
}

static int plan_list(struct pool *p, const struct catalog *c, usec_t now,
    struct host *out)
{
	const struct config_db *const conf = p->key.db->conf;
	const unsigned items = count_items(conf->host);
	const bool left = hosts_left(p, c, now);
	int count = 0;

	/* hosts that did not suit when they were last asked come last */
	for (unsigned i = 0; i < 2 * items && count < HOSTS_MAX; i++) {
		const unsigned item = (p->host_turn + i) % items;

		if (!is_drained(p, item, c) &&
		    is_misfit(p, item) == (i >= items) &&
		    (!left || !failed_lately(p, item, now)))
			make_host(&out[count++], conf, item);
	}
	if (conf->load_balance_hosts == LB_ROUND_ROBIN && count > 0)
		p->host_turn = (out[0].item + 1) % items;
	return count;
}

int hosts_plan(struct pool *p, const struct catalog *c, usec_t now,
    struct host **out)
{
	const struct config_db *const conf = p->key.db->conf;
	const unsigned items = conf->host != NULL ?
	    count_items(conf->host) : 1;
	struct host *const hosts = mem_zalloc((items < HOSTS_MAX ? items :
	    HOSTS_MAX) * sizeof *hosts);

	if (hosts == NULL) {
		errno = ENOMEM;
		return -1;
	}

	const int count = conf->host == NULL ?
	    plan_default(conf, c->config->set.unix_socket_dir, hosts) :
	    plan_list(p, c, now, hosts);
	if (count < 0)
		mem_free(hosts);
	else
		*out = hosts;
	return count;
}

/*
 * Names may lead to other addresses. So even without server_login_retry, they
 * are not looked up at once.
 */

static bool is_address(const struct net_addr *a)
{
	return a->family == NET_IPV4 || a->family == NET_IPV6;
}

/* The address that host is written as, or none. */
static struct net_addr address_of(const char *host)
{
	struct net_addr a = { .family = NET_NONE };

	(void)net_parse_ip(host, 0, &a);
	return a;
}

static bool hosts_is_same(const struct drain *d, const char *host,
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

static const struct drain *hosts_find(const struct catalog *c, const char *host,
    const struct net_addr *addr)
{
	const struct drain *d = c->drained;

	while (d != NULL && !hosts_is_same(d, host, addr))
		d = d->next;
	return d;
}

int drain_add(struct catalog *c, const char *host)
{
	const struct net_addr addr = address_of(host);
	struct drain *d;
	unsigned count = 0;

	if (hosts_find(c, host, &addr) != NULL)
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
		if (host != NULL && !hosts_is_same(d, host, &addr))
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
	/* a socket is in the named folder */
	text_copy(folder, sizeof folder, host);
	char *const socket = strstr(folder, "/.s.PGSQL.");

	if (socket != NULL)
		*socket = '\0';
	return hosts_find(c, folder, addr != NULL ? addr : &none) != NULL;
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

		if (hosts_find(c, item, &addr) == NULL)
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

void host_role_note(struct host_role *r, const char *name, const char *value)
{
	const enum fact fact = strcmp(value, "on") == 0 ? FACT_YES : FACT_NO;

	if (strcmp(name, "in_hot_standby") == 0)
		r->standby = fact;
	else if (strcmp(name, "default_transaction_read_only") == 0)
		r->read_only = fact;
}

static enum fact negated(enum fact f)
{
	return f == FACT_UNKNOWN ? f : f == FACT_YES ? FACT_NO : FACT_YES;
}

/* A standby is read-only, whatever its settings say. */
static enum fact is_read_only(const struct host_role *r)
{
	if (r->standby == FACT_YES || r->read_only == FACT_YES)
		return FACT_YES;
	return r->standby == FACT_NO ? r->read_only : FACT_UNKNOWN;
}

static enum fact hosts_fits(const struct host_role *r, enum session_attrs attrs)
{
	switch (attrs) {
	case ATTRS_ANY:
		break;
	case ATTRS_READ_WRITE:
		return negated(is_read_only(r));
	case ATTRS_READ_ONLY:
		return is_read_only(r);
	case ATTRS_PRIMARY:
		return negated(r->standby);
	case ATTRS_STANDBY:
	case ATTRS_PREFER_STANDBY:
		return r->standby;
	}
	return FACT_YES;
}

bool host_role_is_known(const struct host_role *r, enum session_attrs attrs)
{
	return hosts_fits(r, attrs) != FACT_UNKNOWN;
}

const char *host_role_misfit(const struct host_role *r,
    enum session_attrs attrs)
{
	static const char *const texts[] = {
		[ATTRS_READ_WRITE] = "session is read-only",
		[ATTRS_READ_ONLY] = "session is not read-only",
		[ATTRS_PRIMARY] = "server is in hot standby mode",
		[ATTRS_STANDBY] = "server is not in hot standby mode",
		[ATTRS_PREFER_STANDBY] = "server is not in hot standby mode",
	};

	return hosts_fits(r, attrs) == FACT_NO ? texts[attrs] : NULL;
}
