/* log_json.c - a line of the log as a JSON object.
 * SPDX-License-Identifier: ISC */
#include "base/log_json.h"

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"

#define TEXT_MAX 4096

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
		n = text_character(s);
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
	if (who->traceparent != NULL)
		json_object_set_new(o, "traceparent",
		    text_of(who->traceparent));
}

/* JSON leaves some of them as they are, but a terminal obeys them. */
static int add_escaped(const char *at, size_t n, void *arg)
{
	struct text *const out = arg;
	const char *const end = at + n;

	while (at < end) {
		const size_t skip = text_control(at, (size_t)(end - at));

		if (skip > 0)
			text_addf(out, "\\u%04x",
			    (unsigned)text_code_point(at, skip));
		else
			text_add_bytes(out, at, 1);
		at += skip > 0 ? skip : 1;
	}
	return out->cut ? -1 : 0;
}

size_t log_json_write(const struct log_event *ev, char *buf, size_t size)
{
	json_t *const o = json_object();
	struct text out;

	if (o == NULL)
		return 0;
	json_object_set_new(o, "time", json_string(ev->time));
	json_object_set_new(o, "pid", json_integer(getpid()));
	json_object_set_new(o, "level", json_string(ev->level));
	if (ev->who != NULL)
		add_who(o, ev->who);
	json_object_set_new(o, "message", text_of(ev->message));
	text_init(&out, buf, size);
	const int rc = json_dump_callback(o, add_escaped, &out, JSON_COMPACT);

	json_decref(o);
	text_add(&out, "\n");
	return rc < 0 || out.cut ? 0 : out.len;
}
