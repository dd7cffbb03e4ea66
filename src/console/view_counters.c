/* view_counters.c - SHOW COUNTERS.
 * SPDX-License-Identifier: ISC */
#include "base/text.h"
#include "console/admin.h"
#include "console/views.h"
#include "pool/tally.h"

#define LABEL_BYTES 160

#define COUNTERS_VIEW(X) \
	X(TEXT, "name", PLAIN, cell_text(out->name)) \
	X(TEXT, "label", PLAIN, cell_text(label)) \
	X(INT8, "value", PLAIN, cell_number((int64_t)n->value))

static const struct column counters_columns[] = {
	COUNTERS_VIEW(VIEW_COLUMN) };

struct out {
	struct row_sink *sink;
	const char *name;
};

static int put(void *arg, const struct tally_count *n)
{
	const struct out *const out = arg;
	struct row_sink *const sink = out->sink;
	char label[LABEL_BYTES];
	struct text t;

	text_init(&t, label, sizeof label);
	for (size_t i = 0; i < n->label_count; i++)
		text_addf(&t, "%s%s=%s", i > 0 ? ", " : "",
		    n->labels[i].name, n->labels[i].value);
	return sink->row(sink, VIEW_ROW(COUNTERS_VIEW));
}

static void counters_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	struct tally sum = { .errors = { { 0 } } };

	(void)v;
	for (; a != NULL; a = a->next)
		tally_add(&sum, &a->ss->tally);
	for (int i = 0; i < TALLY_TABLES; i++) {
		const enum tally_table table = (enum tally_table)i;
		struct out out = { sink, tally_name(table) };

		if (tally_each(&sum, table, put, &out) != 0)
			return;
	}
}

struct view_group view_group_counters(void)
{
	static const struct view views[] = {
		{ .topic = "COUNTERS", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(counters_columns),
		    .rows = counters_rows },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}
