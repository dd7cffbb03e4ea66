/* proxy_header.c - what a balancer says about a connection that it passes on.
 * SPDX-License-Identifier: ISC */
#include "io/proxy_header.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include "base/num.h"

#define V1_MAX 107		/* with its CR LF */
#define V1_WORDS 6		/* PROXY TCP4 source destination port port */
#define V2_HEAD 16
#define V2_VERSION 0x20
#define V2_LOCAL 0x0
#define V2_PROXY 0x1

static const char v1_start[] = "PROXY ";
static const char v2_start[] = "\r\n\r\n\0\r\nQUIT\n";

/* Do the n bytes at p begin as start does, up to the shorter of the two? */
static bool begins(const uint8_t *p, size_t n, const char *start, size_t len)
{
	return memcmp(p, start, n < len ? n : len) == 0;
}

static struct proxy_header of_kind(enum proxy_kind kind, size_t size)
{
	return (struct proxy_header){ .kind = kind, .size = size };
}

/* --- version 1: a line of text --- */

/* Returns how many words there are, two at least; -1: too many. */
static int proxy_header_split(char *line, char *word[V1_WORDS])
{
	int n = 0;

	for (char *w = line; w != NULL; n++) {
		char *const blank = strchr(w, ' ');

		if (n == V1_WORDS)
			return -1;
		word[n] = w;
		if (blank != NULL)
			*blank = '\0';
		w = blank == NULL ? NULL : blank + 1;
	}
	return n;
}

static int parse_address(enum net_family family, const char *ip,
    const char *port, struct net_addr *out)
{
	uint32_t n;
	const bool v6 = strchr(ip, ':') != NULL;

	if (v6 != (family == NET_IPV6) || num_parse_u32(port, &n) != 0 ||
	    n > UINT16_MAX)
		return -1;
	return net_parse_ip(ip, (uint16_t)n, out);
}

static struct proxy_header read_line(char *line, size_t size)
{
	struct proxy_header h = of_kind(PROXY_PASSED, size);
	struct net_addr destination;
	char *word[V1_WORDS];
	const int n = proxy_header_split(line, word);

	/* text behind UNKNOWN is to be ignored */
	if (strcmp(word[1], "UNKNOWN") == 0)
		return of_kind(PROXY_LOCAL, size);
	if (n != V1_WORDS)
		return of_kind(PROXY_BROKEN, 0);
	const enum net_family family = strcmp(word[1], "TCP4") == 0 ?
	    NET_IPV4 : strcmp(word[1], "TCP6") == 0 ? NET_IPV6 : NET_NONE;

	if (family == NET_NONE ||
	    parse_address(family, word[2], word[4], &h.source) < 0 ||
	    parse_address(family, word[3], word[5], &destination) < 0)
		return of_kind(PROXY_BROKEN, 0);
	return h;
}

static struct proxy_header read_v1(const uint8_t *p, size_t n)
{
	const uint8_t *const end = memchr(p, '\n', n < V1_MAX ? n : V1_MAX);
	char line[V1_MAX + 1];

	if (end == NULL)
		return of_kind(n < V1_MAX ? PROXY_SHORT : PROXY_BROKEN, 0);
	const size_t size = (size_t)(end - p) + 1;

	memcpy(line, p, size);
	line[size] = '\0';
	if (size < 2 || line[size - 2] != '\r' ||
	    strlen(line) != size)
		return of_kind(PROXY_BROKEN, 0);
	line[size - 2] = '\0';
	return read_line(line, size);
}

/* --- version 2: binary --- */

static const struct family {
	uint8_t code;
	size_t size;		/* of addresses and ports; more may follow */
} families[] = {
	{ 0x11, 12 },		/* TCP over IPv4 */
	{ 0x21, 36 },		/* TCP over IPv6 */
};

static void read_source(uint8_t code, const uint8_t *p, struct net_addr *out)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };

	if (code == families[0].code) {
		memcpy(&v4.sin_addr, p, 4);
		memcpy(&v4.sin_port, p + 8, 2);
		net_from_sockaddr(out, (const struct sockaddr *)&v4);
	} else {
		memcpy(&v6.sin6_addr, p, 16);
		memcpy(&v6.sin6_port, p + 32, 2);
		net_from_sockaddr(out, (const struct sockaddr *)&v6);
	}
}

static const struct family *find_family(uint8_t code)
{
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (families[i].code == code)
			return &families[i];
	return NULL;
}

/* Unix sockets and AF_UNSPEC: the balancer's own address has to do. */
static bool has_no_address(uint8_t code)
{
	return code >> 4 == 0 || code >> 4 == 3;
}

static struct proxy_header read_v2(const uint8_t *p, size_t n)
{
	if (n < V2_HEAD)
		return of_kind(PROXY_SHORT, 0);
	const uint8_t command = p[12] & 0xf, code = p[13];
	const size_t body = (size_t)p[14] << 8 | p[15];
	const struct family *const f = find_family(code);
	struct proxy_header h = of_kind(PROXY_PASSED, V2_HEAD + body);

	if ((p[12] & 0xf0) != V2_VERSION || command > V2_PROXY ||
	    h.size > PROXY_HEADER_MAX)
		return of_kind(PROXY_BROKEN, 0);
	if (command == V2_LOCAL || has_no_address(code))
		h.kind = PROXY_LOCAL;
	else if (f == NULL || body < f->size)
		return of_kind(PROXY_BROKEN, 0);
	if (n < h.size)
		return of_kind(PROXY_SHORT, 0);
	if (h.kind == PROXY_PASSED)
		read_source(code, p + V2_HEAD, &h.source);
	return h;
}

struct proxy_header proxy_header_peek(const uint8_t *p, size_t n)
{
	const size_t v1 = sizeof v1_start - 1, v2 = sizeof v2_start - 1;

	if (n == 0)
		return of_kind(PROXY_SHORT, 0);
	if (begins(p, n, v2_start, v2))
		return read_v2(p, n);
	if (begins(p, n, v1_start, v1))
		return read_v1(p, n);
	return of_kind(PROXY_OTHER, 0);
}
