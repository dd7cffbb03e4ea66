/* log_line.c - the form of a line of the log: text or JSON.
 * SPDX-License-Identifier: ISC */
#include "base/log_line.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"

static const struct {
	const char *word;
	int priority; /* syslog's */
} levels[] = {
	[LEVEL_FATAL] = { "FATAL", LOG_CRIT },
	[LEVEL_ERROR] = { "ERROR", LOG_ERR },
	[LEVEL_WARNING] = { "WARNING", LOG_WARNING },
	[LEVEL_INFO] = { "LOG", LOG_INFO },
	[LEVEL_DEBUG] = { "DEBUG", LOG_DEBUG },
	[LEVEL_NOISE] = { "NOISE", LOG_DEBUG },
};

const char *log_line_level(enum log_level level)
{
	return levels[level].word;
}

int log_line_priority(enum log_level level)
{
	return levels[level].priority;
}

struct timespec log_line_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now;
}

const char *log_line_time(const struct timespec *when, bool rfc3339,
    char *buf, size_t size)
{
	struct tm tm;
	char day[32] = "", zone[32] = "";
	struct text out;

	text_init(&out, buf, size);
	if (localtime_r(&when->tv_sec, &tm) != NULL) {
		strftime(day, sizeof day, rfc3339 ? "%Y-%m-%dT%H:%M:%S" :
		    "%Y-%m-%d %H:%M:%S", &tm);
		strftime(zone, sizeof zone, rfc3339 ? "%z" : "%Z", &tm);
	}
	text_addf(&out, "%s.%03ld", day, when->tv_nsec / 1000000);
	if (!rfc3339)
		text_addf(&out, " %s", zone);
	else if (strlen(zone) > 3)
		text_addf(&out, "%.3s:%s", zone, zone + 3);
	return buf;
}

static bool log_line_is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A byte that is not UTF-8 may be a control character of another terminal. */
static bool is_raw_c1(char c)
{
	return (unsigned char)c >= 0x80 && (unsigned char)c < 0xa0;
}

void log_line_cook(const char *message, size_t n, char *buf, size_t size)
{
	const char *const end = message + n;
	bool multi = false;
	struct text out;
	size_t step;

	text_init(&out, buf, size);
	for (const char *c = message; c < end; c += step) {
		/* also a carriage return, which hides what stands before it */
		const size_t control = *c == '\t' ? 0 :
		    text_control(c, (size_t)(end - c));
		const size_t whole = text_character(c);

		step = control > 0 ? control : whole > 0 ? whole : 1;
		if (*c == '\n') {
			multi = true;
			text_add(&out, "\n\t");
		} else if (control > 0 || (whole == 0 && is_raw_c1(*c))) {
			text_add(&out, "?");
		} else {
			text_add_bytes(&out, c, step);
		}
	}
	while (multi && out.len > 0 && log_line_is_blank(out.at[out.len - 1]))
		out.at[--out.len] = '\0';
}

static size_t log_line_write_text(const struct log_line *l, char *buf,
    size_t size)
{
	char stamp[64];
	struct text out;

	text_init(&out, buf, size);
	text_addf(&out, "%s [%ld] %s %s\n",
	    log_line_time(&l->when, false, stamp, sizeof stamp), (long)getpid(),
	    levels[l->level].word, l->cooked);
	return out.len;
}

size_t log_line_write(const struct log_line *l, bool json, char *buf,
    size_t size)
{
	char stamp[64];
	size_t n = 0;

	if (json)
		n = log_json_write(&(struct log_event){
			.time = log_line_time(&l->when, true, stamp, sizeof stamp),
			.level = levels[l->level].word,
			.who = l->who,
			.message = l->raw,
		}, buf, size);
	return n > 0 ? n : log_line_write_text(l, buf, size);
}

#define TEXT_MAX 4096

/* Clients choose bytes as they like, but JSON is UTF-8: others are replaced. */
static json_t *log_line_text_of(const char *s)
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
		json_object_set_new(o, "database",
		    log_line_text_of(who->database));
		json_object_set_new(o, "user", log_line_text_of(who->user));
	}
	json_object_set_new(o, "address", log_line_text_of(who->address));
	if (who->traceparent != NULL)
		json_object_set_new(o, "traceparent",
		    log_line_text_of(who->traceparent));
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
	json_object_set_new(o, "message", log_line_text_of(ev->message));
	text_init(&out, buf, size);
	const int rc = json_dump_callback(o, add_escaped, &out, JSON_COMPACT);

	json_decref(o);
	text_add(&out, "\n");
	return rc < 0 || out.cut ? 0 : out.len;
}
