/* flame.c - a flame graph as SVG.
 *
 * Sorted stacks are a tree that is walked: from one to the next the frames that
 * are no more are closed, and drawn, and new ones are opened.
 * SPDX-License-Identifier: ISC */
#include "ctl/flame.h"

#include <string.h>

#include "base/text.h"
#include "ctl/perf_script.h"
#include "ctl/stacks.h"

#define WIDTH 1200.0
#define ROW 17
#define HEAD (2 * ROW)
#define CHAR_WIDTH 6.7
#define NARROW 0.25		/* not drawn */

struct frame {
	const char *name;	/* borrowed from a stack */
	size_t len;
	uint64_t begin;		/* weight to the left of the frame */
};

struct drawing {
	const struct flame *flame;
	FILE *out;
	struct frame open[PERF_FRAMES_MAX];
	size_t depth;
	uint64_t at;		/* weight so far */
	double scale;		/* width of one */
};

/* --- text --- */

/* One character as XML has it. Returns its bytes. */
static size_t put_character(FILE *out, const char *s)
{
	static const char special[] = "&<>\"'";
	static const char *const names[] = { "&amp;", "&lt;", "&gt;", "&quot;",
		"&#39;" };
	const char *const found = strchr(special, *s);
	const size_t n = text_character(s);

	if (found != NULL)
		fputs(names[found - special], out);
	else if (n == 0 || text_control(s, n) > 0 ||
	    strncmp(s, "\xef\xbf\xbe", 3) == 0 ||
	    strncmp(s, "\xef\xbf\xbf", 3) == 0)
		fputc('?', out);
	else
		fwrite(s, 1, n, out);
	return n > 0 ? n : 1;
}

/* As much of n bytes as has room; returns whether that is all. */
static bool put_text(FILE *out, const char *s, size_t n, size_t room)
{
	const char *const end = s + n;

	for (; s < end && room > 0; room--)
		s += put_character(out, s);
	return s >= end;
}

/* --- frames --- */

static bool begins(const struct frame *f, const char *with)
{
	return strncmp(f->name, with, strlen(with)) == 0;
}

/* The program's own functions stand out; each function has one shade. */
static void put_colour(FILE *out, const struct frame *f)
{
	const bool kernel = begins(f, "kernel:");
	const bool own = !kernel && memchr(f->name, ':', f->len) == NULL &&
	    f->name[0] != '[';
	unsigned shade = 0;

	for (size_t i = 0; i < f->len; i++)
		shade = shade * 31 + (unsigned char)f->name[i];
	shade %= 50;
	fprintf(out, "rgb(%u,%u,%u)", kernel ? 120 + shade : 240,
	    kernel ? 170 + shade / 2 : (own ? 130 : 190) + shade,
	    kernel ? 230 : own ? 80 : 90);
}

static void draw(const struct drawing *d, const struct frame *f, size_t level)
{
	const struct flame *const g = d->flame;
	const uint64_t weight = d->at - f->begin;
	const double x = (double)f->begin * d->scale;
	const double width = (double)weight * d->scale;
	const int y = HEAD + (int)level * ROW;
	const size_t room = (size_t)(width / CHAR_WIDTH);

	if (width < NARROW)
		return;
	fputs("<g><title>", d->out);
	put_text(d->out, f->name, f->len, f->len);
	fprintf(d->out, ": %.*f %s, %.1f %%</title><rect x=\"%.2f\" y=\"%d\" "
	    "width=\"%.2f\" height=\"%d\" fill=\"", g->per_unit > 1,
	    (double)weight / (double)g->per_unit, g->unit,
	    100 * (double)weight / (double)g->stacks->weight, x, y, width,
	    ROW - 1);
	put_colour(d->out, f);
	fputs("\"/>", d->out);
	if (room > 3) {
		fprintf(d->out, "<text x=\"%.2f\" y=\"%d\">", x + 2, y + 12);
		if (!put_text(d->out, f->name, f->len, f->len <= room ? room :
		    room - 2))
			fputs("..", d->out);
		fputs("</text>", d->out);
	}
	fputs("</g>\n", d->out);
}

static void close_to(struct drawing *d, size_t depth)
{
	while (d->depth > depth) {
		d->depth--;
		draw(d, &d->open[d->depth], d->depth + 1);
	}
}

static bool is_open(const struct drawing *d, size_t level, const char *name,
    size_t len)
{
	return level < d->depth && d->open[level].len == len &&
	    memcmp(d->open[level].name, name, len) == 0;
}

static void walk(struct drawing *d, const struct stack *s)
{
	const char *name = s->text;
	bool same = true;

	for (size_t level = 0; level < PERF_FRAMES_MAX; level++) {
		const size_t len = strcspn(name, ";");

		same = same && is_open(d, level, name, len);
		if (!same) {
			close_to(d, level);
			d->open[d->depth++] = (struct frame){ name, len, d->at };
		}
		if (name[len] == '\0') {
			close_to(d, level + 1);
			break;
		}
		name += len + 1;
	}
	d->at += s->weight;
}

/* --- the whole --- */

static size_t deepest(const struct stacks *s)
{
	size_t most = 1;

	for (const struct stack *it = s->all; it != NULL; it = it->hh.next) {
		size_t n = 1;

		for (const char *c = it->text; *c != '\0'; c++)
			n += *c == ';';
		if (n > most)
			most = n;
	}
	return most < PERF_FRAMES_MAX ? most : PERF_FRAMES_MAX;
}

void flame_write(const struct flame *f, FILE *out)
{
	struct drawing d = { .flame = f, .out = out };
	const int height = HEAD + ((int)deepest(f->stacks) + 1) * ROW + 4;
	const struct frame all = { "all", 3, 0 };

	d.scale = f->stacks->weight > 0 ? WIDTH / (double)f->stacks->weight : 0;
	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
	    "width=\"%d\" height=\"%d\"\n font-family=\"monospace\" "
	    "font-size=\"11\">\n"
	    "<rect width=\"100%%\" height=\"100%%\" fill=\"#fffef8\"/>\n"
	    "<style>rect:hover{stroke:#000}text{pointer-events:none}</style>\n"
	    "<text x=\"4\" y=\"20\" font-size=\"14\">", (int)WIDTH, height,
	    (int)WIDTH, height);
	put_text(out, f->title, strlen(f->title), 160);
	fputs("</text>\n", out);
	for (const struct stack *it = f->stacks->all; it != NULL;
	    it = it->hh.next)
		walk(&d, it);
	close_to(&d, 0);
	d.at = f->stacks->weight;
	draw(&d, &all, 0);
	fputs("</svg>\n", out);
}
