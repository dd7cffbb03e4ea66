/* dns_channel.c - questions to name servers, by c-ares on the loop.
 * SPDX-License-Identifier: ISC */
#include "io/dns_channel.h"

#include <ares.h>
#include <event2/event.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <utlist.h>

#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/net.h"
#include "base/num.h"
#include "base/text.h"
#include "io/loop.h"

#define LINE_BYTES 512
#define SERVERS_BYTES 1024

/* RFC 1035 §3.2 */
#define CLASS_IN 1
#define TYPE_SOA 6
#define TYPE_PTR 12

#define PTR_MAX 80		/* 64 for digits and dots of IPv6, and the end */

/* A socket of c-ares. */
struct watch {
	struct dns_channel *channel;
	ares_socket_t fd;
	struct event *ev;		/* owned */
	struct watch *next;
};

struct dns_channel {
	struct loop *loop;		/* borrowed */
	ares_channel ares;		/* owned; NULL: not made yet */
	struct event *timer;		/* owned: the next time-out of c-ares */
	struct watch *watches;		/* LL list, owned */
	bool closing;			/* answers are not wanted any more */
	bool library;			/* ares_library_init() was called */
};

/* Argument that c-ares carries along until its one answer. */
struct question {
	struct dns_channel *channel;	/* borrowed */
	dns_answer_fn *answer;
	dns_serial_fn *serial;
	dns_name_fn *name;
	struct net_addr addr;		/* address whose name is asked for */
	void *arg;
};

/* --- c-ares and the loop --- */

/* After each call into c-ares: the next time-out of c-ares may be another. */
static void set_timer(struct dns_channel *c)
{
	struct timeval tv;

	if (ares_timeout(c->ares, NULL, &tv) != NULL)
		event_add(c->timer, &tv);
	else
		event_del(c->timer);
}

static void process(struct dns_channel *c, ares_socket_t readable,
    ares_socket_t writable)
{
	loop_woke(c->loop);
	ares_process_fd(c->ares, readable, writable);
	set_timer(c);
}

static void dns_channel_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	process(arg, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

/* c-ares may close the socket in here, which frees the watch. */
static void on_socket(evutil_socket_t fd, short what, void *arg)
{
	const struct watch *w = arg;

	process(w->channel, what & EV_READ ? fd : ARES_SOCKET_BAD,
	    what & EV_WRITE ? fd : ARES_SOCKET_BAD);
}

static void unwatch(struct dns_channel *c, struct watch *w)
{
	LL_DELETE(c->watches, w);
	if (w->ev != NULL)
		event_free(w->ev);
	mem_free(w);
}

/* Without memory nobody watches, and the time-out ends the query. */
static void watch(struct dns_channel *c, ares_socket_t fd, short what)
{
	struct watch *w = mem_zalloc(sizeof *w);

	if (w == NULL)
		return;
	w->channel = c;
	w->fd = fd;
	LL_PREPEND(c->watches, w);
	w->ev = event_new(loop_base(c->loop), fd, (short)(what | EV_PERSIST),
	    on_socket, w);
	if (w->ev == NULL || event_add(w->ev, NULL) < 0)
		unwatch(c, w);
}

/* The events that c-ares wants; none: c-ares is about to close the socket. */
static void on_interest(void *arg, ares_socket_t fd, int readable,
    int writable)
{
	struct dns_channel *c = arg;
	struct watch *w;

	LL_SEARCH_SCALAR(c->watches, w, fd, fd);
	if (w != NULL)
		unwatch(c, w);
	if (readable || writable)
		watch(c, fd, (short)((readable ? EV_READ : 0) |
		    (writable ? EV_WRITE : 0)));
}

/* --- life --- */

static int open_ares(struct dns_channel *c, const char *resolv_conf,
    struct err *e)
{
	struct ares_options o = {
		.sock_state_cb = on_interest, .sock_state_cb_data = c,
	};
	int mask = ARES_OPT_SOCK_STATE_CB, rc;
	char *path = NULL;

	if (resolv_conf != NULL && resolv_conf[0] != '\0') {
		path = mem_strdup(resolv_conf);
		if (path == NULL)
			return err_nomem(e);
		o.resolvconf_path = path;
		mask |= ARES_OPT_RESOLVCONF;
	}
	rc = ares_init_options(&c->ares, &o, mask);
	mem_free(path);
	if (rc == ARES_SUCCESS)
		return 0;
	c->ares = NULL;
	return err_set(e, ERRCODE_SYSTEM_ERROR, "cannot start the resolver: %s",
	    ares_strerror(rc));
}

int dns_channel_set_servers(struct dns_channel *c, const char *servers)
{
	return ares_set_servers_ports_csv(c->ares, servers) ==
	    ARES_SUCCESS ? 0 : -1;
}

/* Where a server of the file has a port, it counts. 0, or -1 with e. */
static int set_ports(struct dns_channel *c, const char *path, struct err *e)
{
	FILE *const f = input_check(path) < 0 ? NULL : fopen(path, "re");
	char line[LINE_BYTES], buf[SERVERS_BYTES];
	struct text list;
	bool any = false;

	/* c-ares would go on with defaults of its own */
	if (f == NULL)
		return err_set(e, ERRCODE_UNDEFINED_FILE,
		    "cannot read resolv_conf %s", path);
	text_init(&list, buf, sizeof buf);
	while (fgets(line, sizeof line, f) != NULL)
		any |= resolv_conf_line(line, &list);
	fclose(f);
	if (!any || dns_channel_set_servers(c, buf) == 0)
		return 0;
	return err_set(e, ERRCODE_SYSTEM_ERROR,
	    "bad name servers in resolv_conf %s", path);
}

static int open_library(struct dns_channel *c, struct err *e)
{
	const int rc = ares_library_init(ARES_LIB_INIT_ALL);

	if (rc != ARES_SUCCESS)
		return err_set(e, ERRCODE_SYSTEM_ERROR,
		    "cannot start the resolver: %s", ares_strerror(rc));
	c->library = true;
	c->timer = evtimer_new(loop_base(c->loop), dns_channel_on_timer, c);
	return c->timer != NULL ? 0 : err_nomem(e);
}

struct dns_channel *dns_channel_new(struct loop *l, const char *resolv_conf,
    struct err *e)
{
	const bool has_file = resolv_conf != NULL && resolv_conf[0] != '\0';
	struct dns_channel *c = mem_zalloc(sizeof *c);

	if (c == NULL) {
		err_nomem(e);
		return NULL;
	}
	c->loop = l;
	if (open_library(c, e) < 0 || open_ares(c, resolv_conf, e) < 0 ||
	    (has_file && set_ports(c, resolv_conf, e) < 0))
		dns_channel_free(&c);
	return c;
}

void dns_channel_free(struct dns_channel **cp)
{
	struct dns_channel *c = *cp;

	*cp = NULL;
	if (c == NULL)
		return;
	c->closing = true;
	if (c->ares != NULL)
		ares_destroy(c->ares);
	while (c->watches != NULL)
		unwatch(c, c->watches);
	if (c->timer != NULL)
		event_free(c->timer);
	if (c->library)
		ares_library_cleanup();
	mem_free(c);
}

/* --- questions --- */

/* NULL: no memory. */
static struct question *question_new(struct dns_channel *c, void *arg)
{
	struct question *q = mem_zalloc(sizeof *q);

	if (q == NULL)
		return NULL;
	q->channel = c;
	q->arg = arg;
	return q;
}

static bool dns_channel_has_addr(const struct dns_answer *a,
    const struct net_addr *addr)
{
	for (unsigned i = 0; i < a->count; i++) {
		if (net_equal(&a->addrs[i], addr))
			return true;
	}
	return false;
}

static void shorten_ttl(struct dns_answer *a, int seconds)
{
	const usec_t ttl = seconds > 0 ? seconds * USEC : 0;

	if (ttl < a->ttl)
		a->ttl = ttl;
}

static void collect(const struct ares_addrinfo *res, struct dns_answer *a)
{
	a->ttl = INT32_MAX * USEC;
	for (const struct ares_addrinfo_cname *n = res->cnames; n != NULL;
	    n = n->next)
		shorten_ttl(a, n->ttl);
	for (const struct ares_addrinfo_node *n = res->nodes; n != NULL &&
	    a->count < DNS_ADDRS_MAX; n = n->ai_next) {
		struct net_addr addr;

		net_from_sockaddr(&addr, n->ai_addr);
		addr.port = 0;
		if ((addr.family != NET_IPV4 && addr.family != NET_IPV6) ||
		    dns_channel_has_addr(a, &addr))
			continue;
		a->addrs[a->count++] = addr;
		shorten_ttl(a, n->ai_ttl);
	}
}

static void dns_channel_on_addrs(void *arg, int status, int timeouts,
    struct ares_addrinfo *res)
{
	struct question *q = arg;
	struct dns_answer a = { .status = status };

	(void)timeouts;
	if (status == ARES_SUCCESS && res != NULL)
		collect(res, &a);
	if (status == ARES_SUCCESS && a.count == 0)
		a.status = ARES_ENODATA;
	if (res != NULL)
		ares_freeaddrinfo(res);
	if (!q->channel->closing)
		q->answer(q->arg, &a);
	mem_free(q);
}

void dns_channel_ask(struct dns_channel *c, const char *name,
    dns_answer_fn *fn, void *arg)
{
	struct question *q = question_new(c, arg);

	/* the caller goes through them in turn: sorting is for nothing */
	const struct ares_addrinfo_hints hints = {
		.ai_flags = ARES_AI_NOSORT,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};

	if (q == NULL) {
		fn(arg, &(struct dns_answer){ .status = ARES_ENOMEM });
		return;
	}
	q->answer = fn;
	ares_getaddrinfo(c->ares, name, NULL, &hints, dns_channel_on_addrs, q);
	set_timer(c);
}

static void on_soa(void *arg, int status, int timeouts, unsigned char *abuf,
    int alen)
{
	struct question *q = arg;
	struct ares_soa_reply *soa = NULL;

	(void)timeouts;
	if (status == ARES_SUCCESS)
		status = ares_parse_soa_reply(abuf, alen, &soa);
	if (!q->channel->closing)
		q->serial(q->arg, status, soa != NULL ? soa->serial : 0);
	if (soa != NULL)
		ares_free_data(soa);
	mem_free(q);
}

void dns_channel_ask_serial(struct dns_channel *c, const char *zone,
    dns_serial_fn *fn, void *arg)
{
	struct question *q = question_new(c, arg);

	if (q == NULL) {
		fn(arg, ARES_ENOMEM, 0);
		return;
	}
	q->serial = fn;
	ares_query(c->ares, zone, CLASS_IN, TYPE_SOA, on_soa, q);
	set_timer(c);
}

/* --- names of addresses --- */

static void give_name(struct question *q, int status, const char *name)
{
	if (!q->channel->closing)
		q->name(q->arg, status, name);
	mem_free(q);
}

static void on_ptr(void *arg, int status, int timeouts, unsigned char *abuf,
    int alen)
{
	(void)timeouts;
	(void)abuf;
	(void)alen;
	/* a name after all: the server tells this and that */
	give_name(arg, status == ARES_SUCCESS ? ARES_ESERVFAIL : status, NULL);
}

/* RFC 1035 3.5, RFC 3596 2.5 */
static void ptr_name(const struct net_addr *a, char buf[PTR_MAX])
{
	struct text t;

	text_init(&t, buf, PTR_MAX);
	if (a->family == NET_IPV4) {
		text_addf(&t, "%u.%u.%u.%u.in-addr.arpa", a->ip[3], a->ip[2],
		    a->ip[1], a->ip[0]);
		return;
	}
	for (int i = 15; i >= 0; i--)
		text_addf(&t, "%x.%x.", a->ip[i] & 15, a->ip[i] >> 4);
	text_add(&t, "ip6.arpa");
}

/* Of servers that say nothing, too, c-ares says here: no such name. */
static void on_host(void *arg, int status, int timeouts, struct hostent *host)
{
	struct question *const q = arg;
	char text[PTR_MAX];

	(void)timeouts;
	if (status == ARES_SUCCESS && host != NULL) {
		give_name(q, status, host->h_name);
		return;
	}
	if (status != ARES_ENOTFOUND || q->channel->closing) {
		give_name(q, status, NULL);
		return;
	}
	ptr_name(&q->addr, text);
	ares_query(q->channel->ares, text, CLASS_IN, TYPE_PTR, on_ptr, q);
}

void dns_channel_ask_name(struct dns_channel *c, const struct net_addr *a,
    dns_name_fn *fn, void *arg)
{
	struct question *q = question_new(c, arg);
	const bool four = a->family == NET_IPV4;

	if (q == NULL) {
		fn(arg, ARES_ENOMEM, NULL);
		return;
	}
	q->name = fn;
	q->addr = *a;
	ares_gethostbyaddr(c->ares, a->ip, four ? 4 : 16,
	    four ? AF_INET : AF_INET6, on_host, q);
	set_timer(c);
}

#define KEYWORD "nameserver"
#define BLANKS " \t\r\n"

/* Text of a server between blanks, without brackets. */
struct server {
	char host[NET_TEXT_MAX];
	uint32_t port;		/* 0 = none is named */
};

static int parse_port(const char *text, struct server *out)
{
	if (num_parse_u32(text, &out->port) != 0 || out->port == 0 ||
	    out->port > UINT16_MAX)
		return -1;
	return 0;
}

/* "10.0.0.1", "10.0.0.1:53", "::1", "[::1]:53"; text is written to. */
static int dns_channel_split(char *text, struct server *out)
{
	char *host = text, *end = strchr(text, ':');

	*out = (struct server){ .port = 0 };
	if (text[0] == '[') {
		host++;
		end = strchr(text, ']');
		if (end == NULL || end[1] != ':')
			return -1;
		*end++ = '\0';
	} else if (end != NULL && strchr(end + 1, ':') != NULL) {
		end = NULL;	/* an IPv6 address alone */
	}
	if (end != NULL) {
		*end++ = '\0';
		if (parse_port(end, out) != 0)
			return -1;
	}
	return text_copy(out->host, sizeof out->host, host) ? 0 : -1;
}

bool resolv_conf_line(const char *line, struct text *list)
{
	char word[NET_TEXT_MAX];
	struct server s;
	struct net_addr addr;
	struct text t;

	line += strspn(line, BLANKS);
	if (strncmp(line, KEYWORD, strlen(KEYWORD)) != 0)
		return false;
	line += strlen(KEYWORD);
	if (*line != ' ' && *line != '\t')
		return false;
	line += strspn(line, BLANKS);
	text_init(&t, word, sizeof word);
	text_add_bytes(&t, line, strcspn(line, BLANKS));
	if (t.cut || dns_channel_split(word, &s) != 0 ||
	    net_parse_ip(s.host, 0, &addr) != 0)
		return false;
	text_addf(list, addr.family == NET_IPV6 ? "%s[%s]:%u" : "%s%s:%u",
	    list->len > 0 ? "," : "", s.host, s.port != 0 ? s.port : 53);
	return s.port != 0;
}
