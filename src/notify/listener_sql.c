/* listener_sql.c - what connections that listen are asked, and by which words.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "notify/channels.h"
#include "notify/channels_send.h"
#include "notify/listener_parts.h"
#include "session/server.h"

void listener_text(struct writer *w, const char *s)
{
	writer_bytes(w, s, strlen(s));
}

int listener_ask(struct server *s, struct writer *sql, enum own_query query)
{
	int rc = -1;

	writer_u8(sql, 0);
	if (sql->failed)
		server_fail(s, CLOSE_OUT_OF_MEMORY);
	else
		rc = server_send_query(s, (const char *)sql->at, query);
	writer_fini(sql);
	return rc;
}

uint32_t listener_draw(struct listener *l)
{
	l->last_token++;
	return l->last_token != 0 ? l->last_token : ++l->last_token;
}

void listener_write_mark(const struct listener *l, uint32_t mark,
    struct writer *w)
{
	char payload[32];

	snprintf(payload, sizeof payload, ",'%u'", mark);
	channels_write(w, "NOTIFY", l->marker);
	w->len--;		/* the semicolon */
	listener_text(w, payload);
}

bool listener_has(const uint8_t *p, size_t n, const char *word)
{
	const size_t len = strlen(word);

	for (size_t i = 0; i + len <= n; i++)
		if ((p[i] | 0x20) == word[0] &&
		    strncasecmp((const char *)p + i, word, len) == 0)
			return true;
	return false;
}
