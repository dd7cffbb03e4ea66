/* exposition.h - metrics as text: of OpenMetrics 1.0, or of Prometheus 0.0.4.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_EXPOSITION_H
#define HTTP_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text;

#define EXPOSITION_LABEL_BYTES 128	/* of a value that are shown */
#define EXPOSITION_LABELS 6
/* The longest sample: each byte of a value may take two. */
#define EXPOSITION_SAMPLE_BYTES \
	(256 + EXPOSITION_LABELS * (2 * EXPOSITION_LABEL_BYTES + 64))

enum metric_type { METRIC_GAUGE, METRIC_COUNTER, METRIC_SUMMARY, METRIC_INFO };

/* Samples of one name. A counter's is without _total, an info's without _info. */
struct metric {
	const char *name;
	enum metric_type type;
	const char *unit;	/* the name ends in the unit; NULL: none */
	const char *help;	/* without quotes, backslashes, ends of lines */
};

struct label {
	const char *name, *value;	/* value NULL: "" */
};

struct sample {
	const struct label *labels;
	size_t label_count;
	const char *suffix;	/* of the name, as "_count"; NULL: the type's */
	int64_t value;
	bool micro;		/* value is in millionths */
	bool none;		/* there is no value: NaN */
};

/* One text. */
struct exposition {
	struct text *t;		/* borrowed: what is being written now */
	bool open;		/* OpenMetrics */
	const struct metric *metric;	/* metric of coming samples */
	uint64_t max;		/* samples with labels; 0: no limit */
	uint64_t count, left_out;
};

/* The content type for this Accept:, and which of the two formats it is. */
const char *exposition_type(const char *accept, bool *open);

void exposition_begin(struct exposition *x, const struct metric *m);
/* One that there is no room for under x->max is counted only. */
void exposition_put(struct exposition *x, const struct sample *s);
void exposition_end(struct exposition *x);

/* Is s all UTF-8? */
bool exposition_is_text(const char *s);

#endif
