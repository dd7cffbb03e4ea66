/* hosts.c - to which host of a list the next connection goes.
 * SPDX-License-Identifier: ISC */
#include "pool/hosts.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "pool/catalog.h"
#include "pool/drain.h"

/* Also without server_login_retry the others have their turn first. */
#define PAUSE_MIN (USEC / 10)
#define DOUBLED_MAX 10		/* a quarter of an hour */

struct host_failures {
	char *list;		/* owned: the hosts it is about */
	unsigned count;
	unsigned abandoned;	/* logins, since one was done */
	struct {
		usec_t at;	/* of the last one; 0 = it works, or is new */
		bool misfit;	/* not what target_session_attrs asks for */
	} of[];
};

static unsigned count_items(const char *list)
{
	unsigned items = 1;

	for (; *list != '\0'; list++)
		items += *list == ',';
	return items;
}

/* Copy item n, which must be there. */
static void pick(const char *list, unsigned n, char *out, size_t size)
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

	pick(conf->host, item, text, sizeof text);
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

/* --- failures --- */

void hosts_free(struct pool *p)
{
	if (p->failures != NULL)
		mem_free(p->failures->list);
	mem_free(p->failures);
	p->failures = NULL;
}

/* NULL: none, or they are of a list that is in force no more. */
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
 * Where a host is sought that may take over any time, each is asked in each
 * attempt: a failure, which comes behind the attempt's start, is older by then.
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
	/* others come first */
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

/* --- the next connection --- */

static bool is_drained(const struct pool *p, unsigned item,
    const struct catalog *c)
{
	struct host h = { .kind = HOST_NONE };

	/* to a peer go cancels only */
	if (c->drained == NULL || p->peer_id != 0)
		return false;
	make_host(&h, p->key.db->conf, item);
	return drain_has(c, h.text, &h.addr);
}

bool hosts_left(const struct pool *p, const struct catalog *c, usec_t now)
{
	const struct host_failures *const f = find_failures(p);

	/* one host of one is never left */
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

	/* those that did not fit when they were asked last come behind */
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
