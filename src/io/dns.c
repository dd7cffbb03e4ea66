/* dns.c - names to addresses while the loop runs, by c-ares, with a cache.
 * SPDX-License-Identifier: ISC */
#include "io/dns.h"

#include <ares.h>
#include <event2/event.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "io/loop.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) mem_alloc(size)
#define uthash_free(p, size) mem_free(p)

#include <uthash.h>
#include <utlist.h>

/* Somebody who wants to know. */
struct dns_query {
	struct name *name;		/* borrowed; counted in its users */
	dns_fn *fn;
	void *arg;
	struct dns_query **list;	/* the DL list it is in */
	struct dns_query *prev, *next;
};

/* What is known of a name. */
struct name {
	struct dns *dns;
	bool asking;			/* c-ares will call on_answer() */
	unsigned users;			/* queries for it, in any list */
	unsigned count;
	struct net_addr *addrs;		/* owned */
	int error;			/* count 0: status of c-ares */
	usec_t expires;
	struct dns_query *waiting;	/* DL list, owned: no answer yet */
	UT_hash_handle hh;		/* in order of the first question */
	char text[];
};

/* A socket of c-ares. */
struct watch {
	struct dns *dns;
	ares_socket_t fd;
	struct event *ev;		/* owned */
	struct watch *next;
};

struct dns {
	struct loop *loop;		/* borrowed */
	ares_channel channel;		/* owned; NULL: not made yet */
	struct event *timer;		/* owned: the next time-out of c-ares */
	struct watch *watches;		/* LL list, owned */
	struct name *names;		/* hash, owned */
	struct dns_query *due;		/* DL list, owned: next turn */
	struct dns_query *now;		/* DL list, owned: this turn */
	struct loop_task task;		/* serves due */
	usec_t max_ttl, negative_ttl;
	bool closing;			/* answers are not wanted any more */
	bool library;			/* ares_library_init() was called */
};

/* --- names --- */

static struct name *find_name(const struct dns *d, const char *text)
{
	struct name *n;

	HASH_FIND_STR(d->names, text, n);
	return n;
}

static void forget(struct dns *d, struct name *n)
{
	HASH_DEL(d->names, n);
	mem_free(n->addrs);
	mem_free(n);
}

/* Room for one more: the oldest nobody waits for goes. */
static int make_room(struct dns *d)
{
	struct name *n, *next;

	if (HASH_COUNT(d->names) < DNS_NAMES_MAX)
		return 0;
	HASH_ITER(hh, d->names, n, next) {
		if (n->users > 0 || n->asking)
			continue;
		forget(d, n);
		return 0;
	}
	return -1;
}

static struct name *get_name(struct dns *d, const char *text)
{
	struct name *n = find_name(d, text);
	const size_t len = strlen(text);

	if (n != NULL || make_room(d) < 0)
		return n;
	n = mem_zalloc(sizeof *n + len + 1);
	if (n == NULL)
		return NULL;
	n->dns = d;
	memcpy(n->text, text, len + 1);
	HASH_ADD_KEYPTR(hh, d->names, n->text, len, n);
	if (n->hh.tbl != NULL)
		return n;
	mem_free(n);
	return NULL;
}

/* --- queries --- */

static void move_query(struct dns_query *q, struct dns_query **to)
{
	if (q->list != NULL)
		DL_DELETE(*q->list, q);
	q->list = to;
	DL_APPEND(*to, q);
}

static void drop_query(struct dns_query *q)
{
	DL_DELETE(*q->list, q);
	q->name->users--;
	mem_free(q);
}

static void drop_queries(struct dns_query **list)
{
	while (*list != NULL)
		drop_query(*list);
}

static void deliver(struct dns_query *q)
{
	/* copies: fn may have the name asked for again, or forgotten */
	struct net_addr addrs[DNS_ADDRS_MAX];
	const unsigned count = q->name->count;
	const int error = q->name->error;
	dns_fn *fn = q->fn;
	void *arg = q->arg;

	if (count > 0)
		memcpy(addrs, q->name->addrs, count * sizeof *addrs);
	drop_query(q);
	fn(arg, addrs, count, error);
}

/* Those who were due when the turn began; what fn adds waits for the next. */
static void on_due(struct loop_task *t)
{
	struct dns *d =
	    (struct dns *)((char *)t - offsetof(struct dns, task));

	while (d->due != NULL)
		move_query(d->due, &d->now);
	while (d->now != NULL)
		deliver(d->now);
}

static void make_due(struct dns *d, struct dns_query *q)
{
	move_query(q, &d->due);
	loop_again(d->loop, &d->task);
}

/* --- answers --- */

/* Would a packet to it leave this machine? None is sent. */
static bool has_route(const struct net_addr *a)
{
	struct net_addr to = *a;
	struct sockaddr_storage sa;
	bool ok;

	to.port = 9;	/* any: connect() of a datagram socket routes only */
	const socklen_t len = net_to_sockaddr(&to, &sa);
	const int fd = socket(sa.ss_family,
	    SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return false;
	ok = connect(fd, (const struct sockaddr *)&sa, len) == 0;
	close(fd);
	return ok;
}

static bool has_addr(const struct net_addr *addrs, unsigned count,
    const struct net_addr *a)
{
	for (unsigned i = 0; i < count; i++) {
		if (net_equal(&addrs[i], a))
			return true;
	}
	return false;
}

static unsigned collect(const struct ares_addrinfo *res,
    struct net_addr out[DNS_ADDRS_MAX])
{
	const struct ares_addrinfo_node *node = res->nodes;
	unsigned count = 0;
	struct net_addr a;

	for (; node != NULL && count < DNS_ADDRS_MAX; node = node->ai_next) {
		net_from_sockaddr(&a, node->ai_addr);
		a.port = 0;
		if ((a.family == NET_IPV4 || a.family == NET_IPV6) &&
		    !has_addr(out, count, &a))
			out[count++] = a;
	}
	return count;
}

/* Those with a route, if there are any; else all. */
static unsigned keep_reachable(struct net_addr *addrs, unsigned count)
{
	struct net_addr kept[DNS_ADDRS_MAX];
	unsigned n = 0;

	if (count < 2)
		return count;
	for (unsigned i = 0; i < count; i++) {
		if (has_route(&addrs[i]))
			kept[n++] = addrs[i];
	}
	if (n == 0)
		return count;
	memcpy(addrs, kept, n * sizeof *kept);
	return n;
}

static void set_failed(struct name *n, int status, usec_t ttl)
{
	n->error = status;
	n->expires = time_now() + ttl;
}

static void set_addrs(struct name *n, const struct net_addr *addrs,
    unsigned count)
{
	n->addrs = mem_dup(addrs, count * sizeof *addrs);
	if (n->addrs == NULL) {
		set_failed(n, ARES_ENOMEM, 0);
		return;
	}
	n->count = count;
	n->expires = time_now() + n->dns->max_ttl;
}

static void clear_answer(struct name *n)
{
	mem_free(n->addrs);
	n->addrs = NULL;
	n->count = 0;
	n->error = ARES_SUCCESS;
}

static void set_answer(struct name *n, int status,
    const struct ares_addrinfo *res)
{
	struct net_addr addrs[DNS_ADDRS_MAX];
	unsigned count = 0;

	clear_answer(n);
	if (status == ARES_SUCCESS && res != NULL)
		count = keep_reachable(addrs, collect(res, addrs));
	if (status == ARES_SUCCESS && count == 0)
		status = ARES_ENODATA;
	if (status == ARES_SUCCESS)
		set_addrs(n, addrs, count);
	else	/* no memory now says nothing about later */
		set_failed(n, status, status == ARES_ENOMEM ? 0 :
		    n->dns->negative_ttl);
}

static void answer_waiting(struct name *n)
{
	while (n->waiting != NULL)
		make_due(n->dns, n->waiting);
}

/* From c-ares, perhaps from inside ares_getaddrinfo(). */
static void on_answer(void *arg, int status, int timeouts,
    struct ares_addrinfo *res)
{
	struct name *n = arg;

	(void)timeouts;
	n->asking = false;
	if (!n->dns->closing) {
		set_answer(n, status, res);
		answer_waiting(n);
	}
	if (res != NULL)
		ares_freeaddrinfo(res);
}

/* --- c-ares and the loop --- */

/* After each call into c-ares: its next time-out may be another. */
static void set_timer(struct dns *d)
{
	struct timeval tv;

	if (ares_timeout(d->channel, NULL, &tv) != NULL)
		event_add(d->timer, &tv);
	else
		event_del(d->timer);
}

static void process(struct dns *d, ares_socket_t readable,
    ares_socket_t writable)
{
	loop_woke(d->loop);
	ares_process_fd(d->channel, readable, writable);
	set_timer(d);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	process(arg, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

/* c-ares may close the socket in here, which frees the watch. */
static void on_socket(evutil_socket_t fd, short what, void *arg)
{
	const struct watch *w = arg;

	process(w->dns, what & EV_READ ? fd : ARES_SOCKET_BAD,
	    what & EV_WRITE ? fd : ARES_SOCKET_BAD);
}

static void unwatch(struct dns *d, struct watch *w)
{
	LL_DELETE(d->watches, w);
	if (w->ev != NULL)
		event_free(w->ev);
	mem_free(w);
}

/* Without memory nobody watches, and the time-out ends the query. */
static void watch(struct dns *d, ares_socket_t fd, short what)
{
	struct watch *w = mem_zalloc(sizeof *w);

	if (w == NULL)
		return;
	w->dns = d;
	w->fd = fd;
	LL_PREPEND(d->watches, w);
	w->ev = event_new(loop_base(d->loop), fd, (short)(what | EV_PERSIST),
	    on_socket, w);
	if (w->ev == NULL || event_add(w->ev, NULL) < 0)
		unwatch(d, w);
}

/* What c-ares wants to know of a socket; nothing: it is about to close it. */
static void on_interest(void *arg, ares_socket_t fd, int readable,
    int writable)
{
	struct dns *d = arg;
	struct watch *w;

	LL_SEARCH_SCALAR(d->watches, w, fd, fd);
	if (w != NULL)
		unwatch(d, w);
	if (readable || writable)
		watch(d, fd, (short)((readable ? EV_READ : 0) |
		    (writable ? EV_WRITE : 0)));
}

static void ask(struct dns *d, struct name *n)
{
	struct net_addr literal;

	/* the caller goes through them in turn: sorting is for nothing */
	const struct ares_addrinfo_hints hints = {
		.ai_flags = ARES_AI_NOSORT,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};

	/* some versions of c-ares ask servers for these, too */
	if (net_parse_ip(n->text, 0, &literal) == 0) {
		clear_answer(n);
		set_addrs(n, &literal, 1);
		answer_waiting(n);
		return;
	}
	n->asking = true;
	ares_getaddrinfo(d->channel, n->text, NULL, &hints, on_answer, n);
	set_timer(d);
}

/* --- the public part --- */

static int open_channel(struct dns *d, const char *resolv_conf,
    struct err *e)
{
	struct ares_options o = {
		.sock_state_cb = on_interest, .sock_state_cb_data = d,
	};
	int mask = ARES_OPT_SOCK_STATE_CB, rc;
	char *path = NULL;

	if (resolv_conf != NULL && resolv_conf[0] != '\0') {
		path = mem_strdup(resolv_conf);
		if (path == NULL)
			return err_set(e, "53200", "out of memory");
		o.resolvconf_path = path;
		mask |= ARES_OPT_RESOLVCONF;
	}
	rc = ares_init_options(&d->channel, &o, mask);
	mem_free(path);
	if (rc == ARES_SUCCESS)
		return 0;
	d->channel = NULL;
	return err_set(e, "58000", "cannot start the resolver: %s",
	    ares_strerror(rc));
}

/* c-ares would go on with defaults of its own. */
static int check_file(const char *path, struct err *e)
{
	if (path == NULL || path[0] == '\0' || access(path, R_OK) == 0)
		return 0;
	return err_set(e, "58P01", "cannot read resolv_conf %s", path);
}

static int open_library(struct dns *d, struct err *e)
{
	const int rc = ares_library_init(ARES_LIB_INIT_ALL);

	if (rc != ARES_SUCCESS)
		return err_set(e, "58000", "cannot start the resolver: %s",
		    ares_strerror(rc));
	d->library = true;
	d->timer = evtimer_new(loop_base(d->loop), on_timer, d);
	return d->timer != NULL ? 0 : err_set(e, "53200", "out of memory");
}

struct dns *dns_new(struct loop *l, const char *resolv_conf, struct err *e)
{
	struct dns *d;

	if (check_file(resolv_conf, e) < 0)
		return NULL;
	d = mem_zalloc(sizeof *d);
	if (d == NULL) {
		err_set(e, "53200", "out of memory");
		return NULL;
	}
	d->loop = l;
	d->task.run = on_due;
	if (open_library(d, e) < 0 || open_channel(d, resolv_conf, e) < 0)
		dns_free(&d);
	return d;
}

void dns_free(struct dns **dp)
{
	struct dns *d = *dp;
	struct name *n, *next;

	*dp = NULL;
	if (d == NULL)
		return;
	d->closing = true;
	if (d->channel != NULL)
		ares_destroy(d->channel);
	while (d->watches != NULL)
		unwatch(d, d->watches);
	if (d->timer != NULL)
		event_free(d->timer);
	loop_cancel(d->loop, &d->task);
	drop_queries(&d->due);
	drop_queries(&d->now);
	HASH_ITER(hh, d->names, n, next) {
		drop_queries(&n->waiting);
		forget(d, n);
	}
	if (d->library)
		ares_library_cleanup();
	mem_free(d);
}

int dns_set_servers(struct dns *d, const char *servers)
{
	return ares_set_servers_ports_csv(d->channel, servers) ==
	    ARES_SUCCESS ? 0 : -1;
}

void dns_set_ttl(struct dns *d, usec_t max_ttl, usec_t negative_ttl)
{
	d->max_ttl = max_ttl;
	d->negative_ttl = negative_ttl;
}

/* Can a new query use what is known? */
static bool is_known(const struct name *n)
{
	const bool answered = n->count > 0 || n->error != ARES_SUCCESS;

	return answered && !n->asking && n->expires > time_now();
}

struct dns_query *dns_lookup(struct dns *d, const char *text, dns_fn *fn,
    void *arg)
{
	struct dns_query *q = mem_zalloc(sizeof *q);
	struct name *n = q != NULL ? get_name(d, text) : NULL;

	if (n == NULL) {
		mem_free(q);
		return NULL;
	}
	const bool known = is_known(n);

	n->users++;
	*q = (struct dns_query){ .name = n, .fn = fn, .arg = arg };
	move_query(q, &n->waiting);
	if (known)
		make_due(d, q);
	else if (!n->asking)
		ask(d, n);
	return q;
}

void dns_cancel(struct dns_query *q)
{
	drop_query(q);
}

static unsigned count_queries(const struct dns *d)
{
	unsigned count = 0;

	for (const struct name *n = d->names; n != NULL; n = n->hh.next)
		count += n->users;
	return count;
}

void dns_stat(const struct dns *d, struct dns_stat *out)
{
	*out = (struct dns_stat){ .names = HASH_COUNT(d->names),
		.queries = count_queries(d) };
	for (const struct name *n = d->names; n != NULL; n = n->hh.next)
		out->pending += n->asking;
}

void dns_each(const struct dns *d, void (*fn)(void *arg,
    const struct dns_name *n), void *arg)
{
	const usec_t now = time_now();

	for (const struct name *n = d->names; n != NULL; n = n->hh.next) {
		const struct dns_name it = {
			.name = n->text, .addrs = n->addrs,
			.count = n->count,
			.ttl = n->expires > now ? n->expires - now : 0,
		};

		fn(arg, &it);
	}
}
