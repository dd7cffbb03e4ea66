/* vacate.c - a client wants a database for itself, where we keep idle servers.
 * SPDX-License-Identifier: ISC */
#include "broker/vacate.h"

#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "broker/broker.h"
#include "proto/msg.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"

#define PATIENCE (6 * USEC)	/* PostgreSQL's own is 5 s */

/* The text of the Query or Parse at m; NULL: it is not here. */
static const char *vacate_text_of(const uint8_t *m, size_t *have)
{
	const uint8_t *at = m + MSG_HEADER;
	const uint8_t *const end = m + *have;

	if (*have <= MSG_HEADER || (m[0] != FE_QUERY && m[0] != FE_PARSE))
		return NULL;
	if (m[0] == FE_PARSE) {
		at = memchr(at, '\0', (size_t)(end - at));
		if (at == NULL)
			return NULL;
		at++;
	}
	*have = (size_t)(end - at);
	return (const char *)at;
}

void vacate_look(struct client *c, const uint8_t *m, size_t have)
{
	const size_t size = have < MSG_HEADER ? 0 : msg_size(m, UINT32_MAX);
	size_t n = have < size ? have : size;
	const char *const sql = vacate_text_of(m, &n);
	char name[SQL_NAME_MAX];

	/* of what was parsed a round trip ago a Bind comes next */
	if (sql == NULL)
		return;
	vacate_end(c);
	if (!sql_wants_alone(sql, n, name))
		return;
	/* without memory it is as without a pooler that knows */
	struct vacancy *const v = mem_zalloc(sizeof *v);

	if (v == NULL)
		return;
	v->client = c;
	v->begun = time_now();
	memcpy(v->database, name, sizeof name);
	c->vacancy = v;
	timeout_start(&c->ss->vacate_list, &v->timer, v->begun);
}

void vacate_end(struct client *c)
{
	if (c->vacancy == NULL)
		return;
	timeout_stop(&c->vacancy->timer);
	mem_free(c->vacancy);
	c->vacancy = NULL;
}

void vacate_due(struct timeout *t)
{
	struct vacancy *const v = container_of(t, struct vacancy, timer);
	struct client *const c = v->client;
	const usec_t now = time_now();

	if (c->pc.state == CLIENT_WAITING) {
		v->begun = now;
	} else if (c->pc.server == NULL || now - v->begun > PATIENCE ||
	    track_is_empty(&server_of(c->pc.server)->track)) {
		vacate_end(c);
		return;
	} else {
		broker_vacate(server_of(c->pc.server), v->database);
	}
	timeout_start(&c->ss->vacate_list, &v->timer, now);
}
