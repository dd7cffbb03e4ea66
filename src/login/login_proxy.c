/* login_proxy.c - where a client comes from: whose word counts, and the name
 * of its machine.
 *
 * A balancer hides its clients: rules, limits and logs would all be about the
 * balancer. It may tell by the PROXY protocol for whom it connects, if it is
 * one that the configuration trusts: an address is what rules let in by.
 * (spec/pooling.md section 20a)
 * SPDX-License-Identifier: ISC */
#include "login/login_proxy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/net.h"
#include "conf/hba.h"
#include "io/dns_host.h"
#include "io/proxy_header.h"
#include "login/login_lobby.h"
#include "login/login_log.h"
#include "login/login_parts.h"
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
static size_t login_proxy_settle(struct client *c, size_t used)
{
	c->login->proxy = LOGIN_PROXY_NEVER;
	return login_enter_again(c) ? used : 0;
}

static size_t login_proxy_adopt(struct client *c, const struct proxy_header *h)
{
	char balancer[NET_TEXT_MAX];

	net_format(&c->addr, balancer, sizeof balancer);
	c->addr = h->source;
	log_at(LEVEL_DEBUG, &c->who, "passed on by %s", balancer);
	return login_proxy_settle(c, h->size);
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
			return login_proxy_settle(c, 0);
		client_fail(c, CLOSE_PROXY_HEADER_MISSING);
		return 0;
	case PROXY_LOCAL:
		return login_proxy_settle(c, h.size);
	case PROXY_PASSED:
		return login_proxy_adopt(c, &h);
	case PROXY_BROKEN:
		break;
	}
	client_fail(c, CLOSE_PROXY_HEADER_BROKEN);
	return 0;
}

static void login_proxy_on_host(void *arg, enum dns_host_state state,
    const char *name)
{
	static const enum hba_host_state states[] = {
		[DNS_HOST_SILENT] = HBA_HOST_UNKNOWN,
		[DNS_HOST_NONE] = HBA_HOST_NONE,
		[DNS_HOST_KNOWN] = HBA_HOST_KNOWN,
	};
	struct client *const c = arg;
	struct login *const l = c->login;

	l->host_query = NULL;
	l->host_state = states[state];
	if (state == DNS_HOST_KNOWN) {
		l->host = mem_strdup(name);
		if (l->host == NULL)
			l->host_state = HBA_HOST_UNKNOWN;
	}
	if (l->host_state == HBA_HOST_UNKNOWN)
		login_log(c, LEVEL_WARNING, "the name of the client's machine "
		    "is not known: the resolver gives no answer");
	l->host_answered(c);
}

bool login_ask_host(struct client *c, const struct hba_login *who,
    void (*answered)(struct client *c))
{
	struct login *const l = c->login;

	if (!hba_asks_host(c->ss->catalog->config->hba, who))
		return false;
	/* without room for it it stays unknown, and nobody gets in by it */
	l->host_query =
	    dns_host_ask(c->ss->dns, &c->addr, login_proxy_on_host, c);
	if (l->host_query == NULL)
		return false;
	l->host_answered = answered;
	stream_pause(&c->stream);
	return true;
}
