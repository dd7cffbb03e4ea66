/* log_ring.c - the end of the log, kept to be read by HTTP.
 * SPDX-License-Identifier: ISC */
#include "http/log_ring.h"

#include <string.h>

#include "base/log_line.h"
#include "base/mem.h"
#include "base/text.h"
#include "http/json.h"
#include "proto/writer.h"

struct line {
	enum log_level level;
	struct timespec when;
	char text[LOG_RING_TEXT + 4];	/* and three dots */
};

struct log_ring {
	uint64_t taken;		/* so far: the number of the last */
	size_t size;
	struct line lines[];
};

struct log_ring *log_ring_new(size_t lines)
{
	struct log_ring *const r = mem_zalloc(sizeof *r +
	    lines * sizeof r->lines[0]);

	if (r != NULL)
		r->size = lines;
	return r;
}

void log_ring_free(struct log_ring **r)
{
	mem_free(*r);
	*r = NULL;
}

size_t log_ring_size(const struct log_ring *r)
{
	return r->size;
}

/* Whole characters only. */
static void copy_cut(struct text *out, const char *s)
{
	while (*s != '\0') {
		const size_t n = text_character(s), step = n > 0 ? n : 1;

		if (out->len + step > LOG_RING_TEXT) {
			text_add(out, "...");
			return;
		}
		text_add_bytes(out, s, step);
		s += step;
	}
}

void log_ring_put(void *arg, const struct log_line *l)
{
	struct log_ring *const r = arg;
	struct text out;

	if (l->level > LEVEL_INFO || r->size == 0)
		return;
	struct line *const at = &r->lines[r->taken++ % r->size];

	at->level = l->level;
	at->when = l->when;
	text_init(&out, at->text, sizeof at->text);
	copy_cut(&out, l->cooked);
}

static void put_line(struct writer *w, const struct log_ring *r, uint64_t i)
{
	const struct line *const l = &r->lines[i % r->size];
	char stamp[64];

	json_put_raw(w, "{\"number\":");
	json_put_unsigned(w, i + 1);
	json_put_raw(w, ",\"time\":");
	json_put_string(w, log_line_time(&l->when, true, stamp, sizeof stamp));
	json_put_raw(w, ",\"level\":");
	json_put_string(w, log_line_level(l->level));
	json_put_raw(w, ",\"text\":");
	json_put_string(w, l->text);
	json_put_raw(w, "}");
}

void log_ring_write(const struct log_ring *r, uint64_t since,
    struct writer *w)
{
	const uint64_t oldest = r->taken < r->size ? 0 : r->taken - r->size;
	const char *between = "[\n";

	for (uint64_t i = since > oldest ? since : oldest; i < r->taken; i++) {
		json_put_raw(w, between);
		put_line(w, r, i);
		between = ",\n";
	}
	json_put_raw(w, between[0] == '[' ? "[]\n" : "\n]\n");
}
