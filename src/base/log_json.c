/* log_json.c - a line of the log as a JSON object.
 * SPDX-License-Identifier: ISC */
#include "base/log_json.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define TEXT_MAX 4096

/*
 * Clients choose bytes as they like, but JSON is UTF-8: in a text that is not,
 * all that is not ASCII is replaced.
 */
static json_t *text_of(const char *s)
{
	char ascii[TEXT_MAX];
	json_t *const j = json_string(s);
	size_t n = 0;

	if (j != NULL)
		return j;
	for (; s[n] != '\0' && n < sizeof ascii - 1; n++)
		ascii[n] = (s[n] & 0x80) != 0 ? '?' : s[n];
	ascii[n] = '\0';
	return json_string(ascii);
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
