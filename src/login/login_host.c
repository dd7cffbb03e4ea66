/* login_host.c - the name of the client's machine, for rules that ask for it.
 * SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "conf/hba.h"
#include "io/dns_host.h"
#include "login/login_log.h"
#include "login/login_parts.h"
#include "session/client.h"
#include "session/sessions.h"

static void on_host(void *arg, enum dns_host_state state, const char *name)
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
	l->host_query = dns_host_ask(c->ss->dns, &c->addr, on_host, c);
	if (l->host_query == NULL)
		return false;
	l->host_answered = answered;
	stream_pause(&c->stream);
	return true;
}
