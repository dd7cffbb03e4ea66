/* profile_report.c - what a profile says: tables, files.
 * SPDX-License-Identifier: ISC */
#include "ctl/profile_report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "ctl/flame.h"
#include "ctl/perf_script.h"
#include "ctl/printable.h"
#include "ctl/profile_perf.h"
#include "ctl/reasons.h"

#define FUNCTIONS 15		/* in the table */
#define MS (USEC / 1000)
#define NAMELESS 30		/* percent: more is worth a word */

/* --- tables --- */

static double percent(uint64_t part, uint64_t of)
{
	return of == 0 ? 0 : 100 * (double)part / (double)of;
}

static void print_row(const struct profile_report *r, FILE *out,
    const struct stack *row)
{
	const double share = percent(row->weight, r->stacks.weight);

	if (r->off_cpu)
		fprintf(out, "%6.1f %%  %10.1f ms  ", share,
		    (double)row->weight / MS);
	else
		fprintf(out, "%6.1f %%  %8llu  ", share,
		    (unsigned long long)row->weight);
	printable_put(out, row->text);
	fputc('\n', out);
}

static int by_weight(const struct stack *a, const struct stack *b)
{
	return a->weight < b->weight ? 1 : a->weight > b->weight ? -1 : 0;
}

/* The rows with the most weight, `most` at most, none without weight. */
static void print_rows(const struct profile_report *r, FILE *out,
    struct stacks *rows, size_t most)
{
	HASH_SORT(rows->all, by_weight);
	for (const struct stack *row = rows->all; row != NULL && most > 0;
	    row = row->hh.next, most--) {
		if (row->weight > 0)
			print_row(r, out, row);
	}
}

static void print_reasons(const struct profile_report *r, FILE *out)
{
	struct stacks rows = { 0 };
	uint64_t sums[REASONS];
	int rc = 0;

	reasons_sum(&r->stacks, r->off_cpu, sums);
	for (int i = 0; i < REASONS && rc == 0; i++)
		rc = stacks_add(&rows, reason_name((enum reason)i), sums[i]);
	fputs("\nBy reason\n", out);
	print_rows(r, out, &rows, REASONS);
	stacks_fini(&rows);
}

/* A profile of many functions without a name tells little. */
static void print_advice(const struct profile_report *r, FILE *out,
    const struct stacks *leaves)
{
	uint64_t nameless = 0;

	for (const struct stack *it = leaves->all; it != NULL;
	    it = it->hh.next)
		nameless += it->text[0] == '[' ? it->weight : 0;
	if (!r->off_cpu && percent(nameless, r->stacks.weight) > NAMELESS)
		fputs("\nMany functions have no name here: install the debug "
		    "symbols (Debian:\npgsluice-dbgsym), and run this as root "
		    "for those of the kernel.\n", out);
}

static void print_functions(const struct profile_report *r, FILE *out)
{
	struct stacks leaves = { 0 };
	char name[PERF_NAME_BYTES];
	int rc = 0;

	for (const struct stack *it = r->stacks.all; it != NULL && rc == 0;
	    it = it->hh.next)
		rc = stacks_add(&leaves, stack_leaf(it, r->off_cpu, name,
		    sizeof(name)), it->weight);
	/* all waits are in the same few functions of the kernel */
	fprintf(out, "\nBy function, the innermost%s\n", r->off_cpu ?
	    " outside the kernel" : "");
	print_rows(r, out, &leaves, FUNCTIONS);
	print_advice(r, out, &leaves);
	stacks_fini(&leaves);
}

void profile_report_print(const struct profile_report *r, FILE *out)
{
	const struct stacks *const s = &r->stacks;
	const double seconds = (double)r->took / (double)USEC;

	printable_put(out, r->title);
	if (r->off_cpu)
		fprintf(out, ": %.1f s, of these %.1f s away from the CPU, "
		    "%llu times\n", seconds, (double)s->weight / (double)USEC,
		    (unsigned long long)s->times);
	else
		fprintf(out, ": %.1f s, %llu samples, which is %.0f %% of a "
		    "CPU\n", seconds, (unsigned long long)s->weight,
		    100 * (double)s->weight / PROFILE_HZ / seconds);
	print_reasons(r, out);
	print_functions(r, out);
}

/* --- files --- */

int profile_report_prepare(const char *dir, struct err *e)
{
	struct stat st;

	if (mkdir(dir, 0777) != 0 && errno != EEXIST)
		return err_set(e, ERRCODE_IO_ERROR,
		    "could not make the folder \"%s\": %s", dir,
		    strerror(errno));
	if (stat(dir, &st) != 0 || (!S_ISDIR(st.st_mode) &&
	    (errno = ENOTDIR) != 0) || access(dir, W_OK | X_OK) != 0)
		return err_set(e, ERRCODE_IO_ERROR,
		    "could not write into \"%s\": %s", dir, strerror(errno));
	return 0;
}

/* A new file: no link that somebody left there is followed. */
static FILE *create(const char *path)
{
	if (unlink(path) != 0 && errno != ENOENT)
		return NULL;
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0666);
	FILE *const f = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && f == NULL)
		close(fd);
	return f;
}

static void write_folded(const struct profile_report *r, FILE *out)
{
	stacks_write(&r->stacks, out);
}

static void write_flame(const struct profile_report *r, FILE *out)
{
	char title[sizeof(r->title) + 80];
	struct text t;

	text_init(&t, title, sizeof(title));
	text_addf(&t, "%s: %s, %.1f s", r->title,
	    r->off_cpu ? "away from the CPU" : "on the CPU",
	    (double)r->took / (double)USEC);
	flame_write(&(struct flame){ .stacks = &r->stacks, .title = title,
	    .unit = r->off_cpu ? "ms" : "samples",
	    .per_unit = r->off_cpu ? MS : 1 }, out);
}

int profile_report_save(const struct profile_report *r, const char *dir,
    struct err *e)
{
	static const struct {
		const char *ending;
		void (*write)(const struct profile_report *r, FILE *out);
	} files[] = { { "folded", write_folded }, { "svg", write_flame } };
	char path[PATH_MAX];
	struct text t;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		text_init(&t, path, sizeof(path));
		text_addf(&t, "%s/%s-cpu.%s", dir, r->off_cpu ? "off" : "on",
		    files[i].ending);
		FILE *const f = create(path);

		if (f != NULL)
			files[i].write(r, f);
		const bool bad = f == NULL || ferror(f);

		if ((f != NULL && fclose(f) != 0) || bad)
			return err_set(e, ERRCODE_IO_ERROR,
			    "could not write \"%s\": %s", path,
			    strerror(errno));
	}
	return 0;
}
