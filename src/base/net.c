/* net.c - addresses: parse, format, compare; no sockets.
 * SPDX-License-Identifier: ISC */
#include "base/net.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"

static_assert(sizeof(struct net_addr) == 24, "every idle client has one");

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

int net_parse_ip(const char *s, uint16_t port, struct net_addr *out)
{
	struct net_addr a = { .port = port };

	if (inet_pton(AF_INET, s, a.ip) == 1)
		a.family = NET_IPV4;
	else if (inet_pton(AF_INET6, s, a.ip) == 1)
		a.family = NET_IPV6;
	else
		return -1;
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

struct net_addr net_unmapped(const struct net_addr *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct net_addr v4 = { .family = NET_IPV4, .port = a->port };

	if (a->family != NET_IPV6 ||
	    memcmp(a->ip, mapped, sizeof mapped) != 0)
		return *a;
	memcpy(v4.ip, a->ip + sizeof mapped, 4);
	return v4;
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

static unsigned address_bits(const struct net_addr *a)
{
	return a->family == NET_IPV4 ? 32 : 128;
}

/* The number of leading ones of a mask; -1 when a one follows a zero. */
static int mask_bits(const struct net_addr *mask)
{
	const unsigned total = address_bits(mask);
	unsigned ones = 0, last = 0;

	for (unsigned i = 0; i < total; i++) {
		if (mask->ip[i / 8] >> (7 - i % 8) & 1) {
			ones++;
			last = i + 1;
		}
	}
	return ones == last ? (int)ones : -1;
}

int net_parse_cidr(const char *s, const char *mask, struct net_cidr *out)
{
	const char *slash = strchr(s, '/');
	char ip[NET_TEXT_MAX];
	struct net_addr base, m;
	uint32_t bits;

	if ((slash != NULL) == (mask != NULL))
		return -1;

	if (mask != NULL) {
		if (net_parse_ip(s, 0, &base) != 0 ||
		    net_parse_ip(mask, 0, &m) != 0 || m.family != base.family ||
		    mask_bits(&m) < 0)
			return -1;
		bits = (uint32_t)mask_bits(&m);
	} else {
		const size_t len = (size_t)(slash - s);

		if (len >= sizeof ip)
			return -1;
		memcpy(ip, s, len);
		ip[len] = '\0';
		if (net_parse_ip(ip, 0, &base) != 0 ||
		    num_parse_u32(slash + 1, &bits) != 0 ||
		    bits > address_bits(&base))
			return -1;
	}
	*out = (struct net_cidr){ .base = base, .bits = (uint8_t)bits };
	return 0;
}

bool net_cidr_has(const struct net_cidr *c, const struct net_addr *a)
{
	if (a->family != c->base.family ||
	    (a->family != NET_IPV4 && a->family != NET_IPV6))
		return false;

	for (unsigned i = 0; i < address_bits(a) / 8; i++) {
		const unsigned bits = c->bits <= i * 8 ? 0 : c->bits - i * 8;
		const unsigned mask = bits >= 8 ? 0xff : 0xff00u >> bits & 0xff;

		if ((a->ip[i] & mask) != c->base.ip[i])
			return false;
	}
	return true;
}
