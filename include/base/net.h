/* net.h - addresses: parse, format, compare; no sockets.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_NET_H
#define BASE_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct err;

enum net_family {
	NET_NONE, /* not known */
	NET_UNIX, /* path unknown to this struct; pid of the peer if known */
	NET_IPV4,
	NET_IPV6,
};

/* 24 bytes, because every idle client carries one. */
struct net_addr {
	uint8_t family; /* enum net_family */
	uint16_t port;	/* host order; the number in the file name for Unix */
	int32_t pid;	/* Unix: peer's process id, 0 unknown;
				 * IPv6: scope id */
	uint8_t ip[16]; /* network order; 4 used for IPv4 */
};

#define NET_TEXT_MAX 64 /* enough for any text made here, NUL included */

/*
 * From what accept(2), getsockname(2) and the resolver give. An IPv4 address
 * that is written as one of IPv6 (RFC 4291 2.5.5.2), as sockets for both
 * families do, is one of IPv4 from here on: no rule, list or log line meets
 * the other form. So does net_parse_ip().
 */
void net_from_sockaddr(struct net_addr *a, const struct sockaddr *sa);

/* Returns the length of what was written to out; TCP only, else 0. */
socklen_t net_to_sockaddr(const struct net_addr *a,
    struct sockaddr_storage *out);

/* An IPv4 or IPv6 literal without port. 0, or -1 when s is no literal. */
int net_parse_ip(const char *s, uint16_t port, struct net_addr *out);

/* "10.0.0.7", "fe80::1", "unix", "unknown" (NET_NONE). Returns buf. */
char *net_format_ip(const struct net_addr *a, char *buf, size_t size);

/*
 * "10.0.0.7:5432", "[fe80::1]:5432", "unix(4711):6432", "unix:6432": the form
 * of the log prefix (spec/logging.md section 3). Returns buf.
 */
char *net_format(const struct net_addr *a, char *buf, size_t size);

/* Same family, address and port. */
bool net_equal(const struct net_addr *a, const struct net_addr *b);

/* The same address, or of IPv6 the same /64, which one host or site has. */
bool net_same_site(const struct net_addr *a, const struct net_addr *b);

/* A network such as 10.0.0.0/8. */
struct net_cidr {
	struct net_addr base;	/* bits outside the mask don't count */
	uint8_t mask[16];	/* as base.ip; any bits may be set */
};

/*
 * "ip/bits" (mask NULL), or ip and mask as two strings. 0 or -1. A network of
 * mapped addresses stays one of IPv6: no address is inside, because each of
 * them is one of IPv4 here. net_cidr_unmap() makes it a network of IPv4.
 */
int net_parse_cidr(const char *s, const char *mask, struct net_cidr *out);
bool net_cidr_is_mapped(const struct net_cidr *c);
void net_cidr_unmap(struct net_cidr *c);
/*
 * The network of an interface: NULL or a mask without ones means the address
 * alone, as PostgreSQL takes it.
 */
void net_cidr_from_sockaddr(struct net_cidr *c, const struct sockaddr *addr,
    const struct sockaddr *mask);

/* Same family and inside. */
bool net_cidr_has(const struct net_cidr *c, const struct net_addr *a);
/* Is a the address that c was made of? */
bool net_cidr_is(const struct net_cidr *c, const struct net_addr *a);

/* Networks in a text: "10.0.0.0/8, 192.0.2.7, fd00::/8". */

/*
 * Networks and single addresses, separated by commas or blanks; no names.
 * 0, or -1 with e: the first that is neither.
 */
int net_list_check(const char *list, struct err *e);

/* Is a in the list? A Unix socket never is. A broken item matches none. */
bool net_list_has(const char *list, const struct net_addr *a);

#endif
