/* log_line.c - the form of a line of the log: text or JSON.
 * SPDX-License-Identifier: ISC */
#include "base/log_line.h"

#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/log_json.h"
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

static bool is_blank(char c)
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
	while (multi && out.len > 0 && is_blank(out.at[out.len - 1]))
		out.at[--out.len] = '\0';
}

static size_t write_text(const struct log_line *l, char *buf, size_t size)
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
	return n > 0 ? n : write_text(l, buf, size);
}
