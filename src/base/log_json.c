/* log_json.c - a line of the log as a JSON object.
 * SPDX-License-Identifier: ISC */
#include "base/log_json.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"

#define TEXT_MAX 4096

/* How long the character at s is, in UTF-8 (RFC 3629 section 4); 0: it is none. */
static size_t character(const unsigned char *s)
{
	/* the second byte's range, where it is not 0x80 to 0xbf */
	const unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 :
	    0x80;
	const unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f :
	    0xbf;
	const size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 || s[0] > 0xf4 ? 0 :
	    s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (n > 1 && (s[1] < low || s[1] > high))
		return 0;
	for (size_t i = 2; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	return n;
}

/* Clients choose bytes as they like, but JSON is UTF-8: others are replaced. */
static json_t *text_of(const char *s)
{
	json_t *const j = json_string(s);
	char buf[TEXT_MAX];
	struct text out;
	size_t n;

	if (j != NULL)
		return j;
	text_init(&out, buf, sizeof buf);
	for (; *s != '\0'; s += n > 0 ? n : 1) {
		n = character((const unsigned char *)s);
		text_add_bytes(&out, n > 0 ? s : "?", n > 0 ? n : 1);
	}
	return json_string(buf);
}

static void add_who(json_t *o, const struct log_facts *who)
{
	char ptr[32];

	snprintf(ptr, sizeof ptr, "%p", who->object);
	json_object_set_new(o, "side",
	    json_string(who->side == 'C' ? "client" : "server"));
	json_object_set_new(o, "ptr", json_string(ptr));
	if (who->peer != 0) {
		json_object_set_new(o, "peer", json_integer(who->peer));
	} else {
		json_object_set_new(o, "database", text_of(who->database));
		json_object_set_new(o, "user", text_of(who->user));
	}
	json_object_set_new(o, "address", text_of(who->address));
}

size_t log_json_write(const struct log_event *ev, char *buf, size_t size)
{
	json_t *const o = json_object();

	if (o == NULL)
		return 0;
	json_object_set_new(o, "time", json_string(ev->time));
	json_object_set_new(o, "pid", json_integer(getpid()));
	json_object_set_new(o, "level", json_string(ev->level));
	if (ev->who != NULL)
		add_who(o, ev->who);
	json_object_set_new(o, "message", text_of(ev->message));
	size_t n = json_dumpb(o, buf, size, JSON_COMPACT);

	json_decref(o);
	if (n == 0 || n >= size)
		return 0;
	buf[n++] = '\n';
	return n;
}
