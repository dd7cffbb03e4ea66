/* login_proxy.c - whose word counts about where a client comes from.
 *
 * A balancer hides its clients: rules, limits and logs would all be about the
 * balancer. It may tell by the PROXY protocol for whom it connects, if it is
 * one that the configuration trusts: an address is what rules let in by.
 * (spec/pooling.md section 20a)
 * SPDX-License-Identifier: ISC */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/net_list.h"
#include "io/proxy_header.h"
#include "login/login_lobby.h"
#include "login/login_parts.h"
#include "login/login_proxy.h"
#include "session/client.h"
#include "session/sessions.h"

enum login_proxy login_expect_proxy(const struct client *c)
{
	const struct settings *const set = sessions_settings(c->ss);

	if (set->client_proxy_protocol == PROXY_OFF ||
	    c->addr.family == NET_UNIX)
		return LOGIN_PROXY_NEVER;
	if (net_list_has(set->proxy_trusted_nets, &c->addr))
		return set->client_proxy_protocol == PROXY_REQUIRED ?
		    LOGIN_PROXY_MUST : LOGIN_PROXY_MAYBE;
	return set->client_proxy_protocol == PROXY_REQUIRED ?
	    LOGIN_PROXY_REFUSED : LOGIN_PROXY_NEVER;
}

/* The origin of c is known now: limits by address begin to count. */
static size_t settle(struct client *c, size_t used)
{
	c->login->proxy = LOGIN_PROXY_NEVER;
	return login_enter_again(c) ? used : 0;
}

static size_t adopt(struct client *c, const struct proxy_header *h)
{
	char balancer[NET_TEXT_MAX];

	net_format(&c->addr, balancer, sizeof balancer);
	c->addr = h->source;
	log_at(LEVEL_DEBUG, &c->who, "passed on by %s", balancer);
	return settle(c, h->size);
}

bool login_is_proxy_header(const uint8_t *p, size_t len)
{
	return proxy_header_peek(p, len).kind != PROXY_OTHER;
}

size_t login_take_proxy(struct client *c, const uint8_t *p, size_t len)
{
	const struct proxy_header h = proxy_header_peek(p, len);

	switch (h.kind) {
	case PROXY_SHORT:
		return 0;
	case PROXY_OTHER:
		if (c->login->proxy == LOGIN_PROXY_MAYBE)
			return settle(c, 0);
		client_fail(c, CLOSE_PROXY_HEADER_MISSING);
		return 0;
	case PROXY_LOCAL:
		return settle(c, h.size);
	case PROXY_PASSED:
		return adopt(c, &h);
	case PROXY_BROKEN:
		break;
	}
	client_fail(c, CLOSE_PROXY_HEADER_BROKEN);
	return 0;
}
