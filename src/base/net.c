/* net.c - addresses: parse, format, compare; no sockets.
 * SPDX-License-Identifier: ISC */
#include "base/net.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"

static_assert(sizeof(struct net_addr) == 24, "every idle client has one");

/* How many of the first bits say that an IPv6 address is one of IPv4. */
#define MAPPED_BITS 96

static bool is_mapped(const struct net_addr *a)
{
	static const uint8_t mapped[MAPPED_BITS / 8] = { [10] = 0xff,
		[11] = 0xff };

	return a->family == NET_IPV6 &&
	    memcmp(a->ip, mapped, sizeof mapped) == 0;
}

static void unmap(struct net_addr *a)
{
	if (!is_mapped(a))
		return;
	a->family = NET_IPV4;
	a->pid = 0;
	memmove(a->ip, a->ip + MAPPED_BITS / 8, 4);
	memset(a->ip + 4, 0, sizeof a->ip - 4);
}

void net_from_sockaddr(struct net_addr *a, const struct sockaddr *sa)
{
	*a = (struct net_addr){ .family = NET_NONE };

	if (sa->sa_family == AF_UNIX) {
		a->family = NET_UNIX;
	} else if (sa->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, sa, sizeof in);
		a->family = NET_IPV4;
		a->port = ntohs(in.sin_port);
		memcpy(a->ip, &in.sin_addr, sizeof in.sin_addr);
	} else if (sa->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, sa, sizeof in6);
		a->family = NET_IPV6;
		a->port = ntohs(in6.sin6_port);
		a->pid = (int32_t)in6.sin6_scope_id;
		memcpy(a->ip, &in6.sin6_addr, sizeof in6.sin6_addr);
		unmap(a);
	}
}

socklen_t net_to_sockaddr(const struct net_addr *a,
    struct sockaddr_storage *out)
{
	memset(out, 0, sizeof *out);

	if (a->family == NET_IPV4) {
		struct sockaddr_in in = {
			.sin_family = AF_INET,
			.sin_port = htons(a->port),
		};

		memcpy(&in.sin_addr, a->ip, sizeof in.sin_addr);
		memcpy(out, &in, sizeof in);
		return sizeof in;
	}
	if (a->family == NET_IPV6) {
		struct sockaddr_in6 in6 = {
			.sin6_family = AF_INET6,
			.sin6_port = htons(a->port),
			.sin6_scope_id = (uint32_t)a->pid,
		};

		memcpy(&in6.sin6_addr, a->ip, sizeof in6.sin6_addr);
		memcpy(out, &in6, sizeof in6);
		return sizeof in6;
	}
	return 0;
}

/* To the letter: mapped addresses stay so. */
static int parse_literal(const char *s, struct net_addr *out)
{
	struct net_addr a = { .family = NET_NONE };

	if (inet_pton(AF_INET, s, a.ip) == 1)
		a.family = NET_IPV4;
	else if (inet_pton(AF_INET6, s, a.ip) == 1)
		a.family = NET_IPV6;
	else
		return -1;
	*out = a;
	return 0;
}

int net_parse_ip(const char *s, uint16_t port, struct net_addr *out)
{
	struct net_addr a;

	if (parse_literal(s, &a) != 0)
		return -1;
	unmap(&a);
	a.port = port;
	*out = a;
	return 0;
}

char *net_format_ip(const struct net_addr *a, char *buf, size_t size)
{
	char ip[INET6_ADDRSTRLEN] = "unknown";

	if (a->family == NET_UNIX)
		text_copy(ip, sizeof ip, "unix");
	else if (a->family == NET_IPV4)
		inet_ntop(AF_INET, a->ip, ip, sizeof ip);
	else if (a->family == NET_IPV6)
		inet_ntop(AF_INET6, a->ip, ip, sizeof ip);
	text_copy(buf, size, ip);
	return buf;
}

char *net_format(const struct net_addr *a, char *buf, size_t size)
{
	char ip[NET_TEXT_MAX];

	net_format_ip(a, ip, sizeof ip);
	if (a->family == NET_UNIX && a->pid > 0)
		snprintf(buf, size, "unix(%d):%u", (int)a->pid, a->port);
	else if (a->family == NET_IPV6)
		snprintf(buf, size, "[%s]:%u", ip, a->port);
	else
		snprintf(buf, size, "%s:%u", ip, a->port);
	return buf;
}

bool net_equal(const struct net_addr *a, const struct net_addr *b)
{
	if (a->family != b->family || a->port != b->port)
		return false;
	if (a->family == NET_IPV4)
		return memcmp(a->ip, b->ip, 4) == 0;
	if (a->family == NET_IPV6)
		return memcmp(a->ip, b->ip, 16) == 0 && a->pid == b->pid;
	return true;
}

bool net_same_site(const struct net_addr *a, const struct net_addr *b)
{
	if (a->family != b->family)
		return false;
	if (a->family == NET_IPV4)
		return memcmp(a->ip, b->ip, 4) == 0;
	return a->family != NET_IPV6 || memcmp(a->ip, b->ip, 8) == 0;
}

static unsigned address_bits(const struct net_addr *a)
{
	return a->family == NET_IPV4 ? 32 : 128;
}

static void set_ones(uint8_t mask[16], unsigned bits)
{
	memset(mask, 0, 16);
	for (unsigned i = 0; i < bits; i++)
		mask[i / 8] |= (uint8_t)(0x80 >> i % 8);
}

static int parse_bits(const char *s, const char *slash, struct net_cidr *c)
{
	char ip[NET_TEXT_MAX];
	const size_t len = (size_t)(slash - s);
	uint32_t bits;

	if (len >= sizeof ip)
		return -1;
	memcpy(ip, s, len);
	ip[len] = '\0';
	if (parse_literal(ip, &c->base) != 0 ||
	    num_parse_u32(slash + 1, &bits) != 0 ||
	    bits > address_bits(&c->base))
		return -1;
	set_ones(c->mask, bits);
	return 0;
}

static int parse_mask(const char *s, const char *text, struct net_cidr *c)
{
	struct net_addr mask;

	if (parse_literal(s, &c->base) != 0 ||
	    parse_literal(text, &mask) != 0 ||
	    mask.family != c->base.family)
		return -1;
	memcpy(c->mask, mask.ip, sizeof c->mask);
	return 0;
}

bool net_cidr_is_mapped(const struct net_cidr *c)
{
	uint8_t ones[16];

	set_ones(ones, MAPPED_BITS);
	return is_mapped(&c->base) &&
	    memcmp(c->mask, ones, MAPPED_BITS / 8) == 0;
}

void net_cidr_unmap(struct net_cidr *c)
{
	if (!net_cidr_is_mapped(c))
		return;
	unmap(&c->base);
	memmove(c->mask, c->mask + MAPPED_BITS / 8, 4);
	memset(c->mask + 4, 0, sizeof c->mask - 4);
}

int net_parse_cidr(const char *s, const char *mask, struct net_cidr *out)
{
	const char *const slash = strchr(s, '/');
	struct net_cidr c;

	if ((slash != NULL) == (mask != NULL) || (mask != NULL ?
	    parse_mask(s, mask, &c) : parse_bits(s, slash, &c)) != 0)
		return -1;
	*out = c;
	return 0;
}

void net_cidr_from_sockaddr(struct net_cidr *c, const struct sockaddr *addr,
    const struct sockaddr *mask)
{
	static const uint8_t nothing[16];
	struct net_addr m = { .family = NET_NONE };

	net_from_sockaddr(&c->base, addr);
	c->base.port = 0;
	if (mask != NULL)
		net_from_sockaddr(&m, mask);
	if (m.family == c->base.family &&
	    memcmp(m.ip, nothing, sizeof m.ip) != 0)
		memcpy(c->mask, m.ip, sizeof c->mask);
	else
		set_ones(c->mask, address_bits(&c->base));
}

static bool is_inside(const struct net_cidr *c, const struct net_addr *a,
    bool masked)
{
	if (a->family != c->base.family ||
	    (a->family != NET_IPV4 && a->family != NET_IPV6))
		return false;

	for (unsigned i = 0; i < address_bits(a) / 8; i += sizeof(uint32_t)) {
		uint32_t ip, base, mask = UINT32_MAX;

		memcpy(&ip, a->ip + i, sizeof ip);
		memcpy(&base, c->base.ip + i, sizeof base);
		if (masked)
			memcpy(&mask, c->mask + i, sizeof mask);
		if (((ip ^ base) & mask) != 0)
			return false;
	}
	return true;
}

bool net_cidr_has(const struct net_cidr *c, const struct net_addr *a)
{
	return is_inside(c, a, true);
}

bool net_cidr_is(const struct net_cidr *c, const struct net_addr *a)
{
	return is_inside(c, a, false);
}

/* The next item, its length in n; NULL: there is none. */
static const char *net_next_item(const char *list, size_t *n)
{
	static const char between[] = ", \t\r\n\v\f";

	list += strspn(list, between);
	*n = strcspn(list, between);
	return *n > 0 ? list : NULL;
}

static int parse_item(const char *item, size_t n, struct net_cidr *out)
{
	char text[NET_TEXT_MAX];

	if (n >= sizeof text)
		return -1;
	memcpy(text, item, n);
	text[n] = '\0';
	if (memchr(item, '/', n) != NULL) {
		if (net_parse_cidr(text, NULL, out) < 0)
			return -1;
		net_cidr_unmap(out);
		return 0;
	}
	memset(out->mask, 0xff, sizeof out->mask);
	return net_parse_ip(text, 0, &out->base);
}

int net_list_check(const char *list, struct err *e)
{
	struct net_cidr c;
	size_t n;

	for (; (list = net_next_item(list, &n)) != NULL; list += n) {
		if (parse_item(list, n, &c) < 0)
			return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
			    "\"%.*s\" is not an address or network",
			    (int)(n > NET_TEXT_MAX ? NET_TEXT_MAX : n), list);
	}
	return 0;
}

bool net_list_has(const char *list, const struct net_addr *a)
{
	struct net_cidr c;
	size_t n;

	for (; (list = net_next_item(list, &n)) != NULL; list += n) {
		if (parse_item(list, n, &c) == 0 && net_cidr_has(&c, a))
			return true;
	}
	return false;
}
