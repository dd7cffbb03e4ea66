/* resolv_conf.c - name servers of a resolver configuration that have a port.
 * SPDX-License-Identifier: ISC */
#include "io/resolv_conf.h"

#include <string.h>

#include "base/net.h"
#include "base/num.h"
#include "base/text.h"

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
static int split(char *text, struct server *out)
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
	if (t.cut || split(word, &s) != 0 ||
	    net_parse_ip(s.host, 0, &addr) != 0)
		return false;
	text_addf(list, addr.family == NET_IPV6 ? "%s[%s]:%u" : "%s%s:%u",
	    list->len > 0 ? "," : "", s.host, s.port != 0 ? s.port : 53);
	return s.port != 0;
}
