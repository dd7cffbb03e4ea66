/* exposition.c - metrics as text: of OpenMetrics 1.0, or of Prometheus 0.0.4.
 * SPDX-License-Identifier: ISC */
#include "http/exposition.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

/* Name and type in either format. */
static const struct {
	const char *open, *plain;	/* the word */
	const char *suffix;	/* of samples */
	bool whole;		/* ... and of the metric in Prometheus' text */
} types[] = {
	[METRIC_GAUGE] = { "gauge", "gauge", "", false },
	[METRIC_COUNTER] = { "counter", "counter", "_total", true },
	[METRIC_SUMMARY] = { "summary", "summary", "", false },
	[METRIC_INFO] = { "info", "gauge", "_info", true },
};

const char *exposition_type(const char *accept, bool *open)
{
	*open = strstr(accept, "application/openmetrics-text") != NULL;
	return *open ? "application/openmetrics-text; version=1.0.0; "
	    "charset=utf-8" : "text/plain; version=0.0.4; charset=utf-8";
}

void exposition_begin(struct exposition *x, const struct metric *m)
{
	const char *const tail = types[m->type].whole && !x->open ?
	    types[m->type].suffix : "";

	x->metric = m;
	text_addf(x->t, "# HELP %s%s %s\n", m->name, tail, m->help);
	text_addf(x->t, "# TYPE %s%s %s\n", m->name, tail,
	    x->open ? types[m->type].open : types[m->type].plain);
	if (x->open && m->unit != NULL)
		text_addf(x->t, "# UNIT %s %s\n", m->name, m->unit);
}

bool exposition_is_text(const char *s)
{
	while (*s != '\0') {
		const size_t n = text_character(s);

		if (n == 0)
			return false;
		s += n;
	}
	return true;
}

/* FNV-1a: the same name gives the same label on all days. */
static uint32_t exposition_hash_of(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h;
}

static void add_character(struct text *t, const char *s, size_t n)
{
	if (*s == '\n')
		text_add(t, "\\n");
	else if (*s == '"' || *s == '\\')
		text_addf(t, "\\%c", *s);
	else
		text_add_bytes(t, s, n);
}

/*
 * One that is too long, or is not UTF-8, is shown as far as it can be, and told
 * from others of the kind by a hash: two series with the same labels would
 * spoil the whole scrape.
 */
static void add_value(struct text *t, const char *s)
{
	const char *const end = s + EXPOSITION_LABEL_BYTES, *at = s;
	bool odd = false;

	while (*at != '\0' && !odd) {
		const size_t n = text_character(at);

		odd = n == 0 || at + n > end;
		if (!odd)
			add_character(t, at, n);
		at += n;
	}
	if (odd)
		text_addf(t, "~%08" PRIx32, exposition_hash_of(s));
}

static void add_labels(struct text *t, const struct sample *s)
{
	for (size_t i = 0; i < s->label_count; i++) {
		text_addf(t, "%s%s=\"", i == 0 ? "{" : ",", s->labels[i].name);
		if (s->labels[i].value != NULL)
			add_value(t, s->labels[i].value);
		text_add(t, "\"");
	}
	if (s->label_count > 0)
		text_add(t, "}");
}

static void add_number(struct text *t, const struct sample *s)
{
	const uint64_t n = s->value < 0 ? 0 - (uint64_t)s->value :
	    (uint64_t)s->value;
	const char *const sign = s->value < 0 ? "-" : "";

	if (s->none)
		text_add(t, " NaN\n");
	else if (s->micro)
		text_addf(t, " %s%" PRIu64 ".%06" PRIu64 "\n", sign,
		    n / 1000000, n % 1000000);
	else
		text_addf(t, " %s%" PRIu64 "\n", sign, n);
}

void exposition_put(struct exposition *x, const struct sample *s)
{
	if (s->label_count > 0 && x->max > 0 && x->count >= x->max) {
		x->left_out++;
		return;
	}
	x->count += s->label_count > 0;
	text_add(x->t, x->metric->name);
	text_add(x->t, s->suffix != NULL ? s->suffix :
	    types[x->metric->type].suffix);
	add_labels(x->t, s);
	add_number(x->t, s);
}

void exposition_end(struct exposition *x)
{
	if (x->open)
		text_add(x->t, "# EOF\n");
}
