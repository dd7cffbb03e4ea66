/* perf_script.c - what "perf script" prints, as stacks.
 * SPDX-License-Identifier: ISC */
#include "ctl/perf_script.h"

#include <string.h>

#include "base/text.h"
#include "ctl/stacks.h"

#define UNKNOWN "[unknown]"

/* --- names --- */

/* n bytes at s, without what has a meaning in a folded stack. */
static void add_clean(struct text *t, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char c = s[i] == ';' ? ':' :
		    (unsigned char)s[i] < ' ' || s[i] == '\x7f' ? '?' : s[i];

		text_add_bytes(t, &c, 1);
	}
}

/* Length of the n bytes at s up to where one of the texts begins. */
static size_t cut_at(const char *s, size_t n, const char *const *texts)
{
	for (; *texts != NULL; texts++) {
		const char *const at = n > 1 ?
		    memmem(s + 1, n - 1, *texts, strlen(*texts)) : NULL;

		if (at != NULL)
			n = (size_t)(at - s);
	}
	return n;
}

/* The length of a name without suffixes of the compiler and the C library. */
static size_t symbol_length(const char *s)
{
	static const char *const suffixes[] = { ".cold", ".constprop", ".isra",
		".localalias", ".lto_priv", ".part", "@", NULL };

	return cut_at(s, strlen(s), suffixes);
}

/* "[kernel.kallsyms]", "[nf_tables]", "/lib/modules/6.1/.../nf_tables.ko" */
static bool is_kernel(const char *file)
{
	static const char *const others[] = { UNKNOWN, "[vdso]", "[vsyscall]",
		"[heap]", "[stack]", "[anon]", "[uprobes]" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (strcmp(file, others[i]) == 0)
			return false;
	}
	return file[0] == '[' || strstr(file, ".ko") != NULL;
}

/* "/usr/lib/libc.so.6" is libc: the name of a file, without its version. */
static void add_module(struct text *t, const char *file)
{
	static const char *const versions[] = { ".so", " (deleted)", NULL };
	const char *const slash = strrchr(file, '/');

	if (is_kernel(file)) {
		text_add(t, "kernel");
		return;
	}
	if (slash != NULL)
		file = slash + 1;
	add_clean(t, file, cut_at(file, strlen(file), versions));
}

/*
 * "function" of the program, "kernel:function", "libc:function", "[libc]" for
 * one without a name. file is what perf has in parentheses.
 */
static void name_frame(struct text *t, const struct perf_script *p,
    const char *symbol, const char *file)
{
	char module[PERF_NAME_BYTES / 2];
	struct text m;

	text_init(&m, module, sizeof(module));
	add_module(&m, file);
	if (strcmp(symbol, UNKNOWN) == 0) {
		text_add(t, module[0] == '[' ? "" : "[");
		text_add(t, module);
		text_add(t, module[0] == '[' ? "" : "]");
		return;
	}
	if (strcmp(file, UNKNOWN) != 0 && strcmp(module, p->program) != 0) {
		text_add(t, module);
		text_add(t, ":");
	}
	add_clean(t, symbol, symbol_length(symbol));
}

/* --- samples --- */

/* The sample's frames as one text, the outermost first. */
static void fold(const struct perf_script *p, struct text *t)
{
	unsigned n = 0;

	/* the innermost ones that there is room for */
	for (size_t len = 1; n < p->frames; n++) {
		len += strlen(p->names[n]) + 1;
		if (len > t->size)
			break;
	}
	/* where frame pointers end there may be anything */
	while (n > 1 && strcmp(p->names[n - 1], UNKNOWN) == 0)
		n--;
	if (n == 0)
		text_add(t, UNKNOWN);
	while (n-- > 0) {
		text_add(t, p->names[n]);
		if (n > 0)
			text_add(t, ";");
	}
}

static void count(struct perf_script *p, const char *stack, usec_t weight)
{
	if (stacks_add(p->stacks, stack, (uint64_t)weight) != 0)
		p->failed = true;
}

static void end_sample(struct perf_script *p)
{
	struct text t;

	if (!p->open)
		return;
	p->open = false;
	if (p->away != 0 && p->thread != p->away) {
		if (p->left != 0 && p->at > p->left)
			count(p, p->stack, p->at - p->left);
		p->left = 0;
		return;
	}
	text_init(&t, p->stack, sizeof(p->stack));
	fold(p, &t);
	if (p->away == 0)
		count(p, p->stack, 1);
	else
		p->left = p->at;
}

/* At most 12 digits; *s is behind them. Returns -1: none, or more. */
static int64_t digits(const char **s)
{
	const char *const begin = *s;
	int64_t n = 0;

	while (**s >= '0' && **s <= '9' && *s - begin < 12)
		n = n * 10 + *(*s)++ - '0';
	return *s == begin || (**s >= '0' && **s <= '9') ? -1 : n;
}

/* "15530  2427.000951: ": of a thread, at seconds. */
static void begin_sample(struct perf_script *p, const char *line)
{
	const char *s = line + strspn(line, " ");
	const int64_t thread = digits(&s);
	usec_t fraction = 0;

	end_sample(p);
	s += strspn(s, " ");
	const int64_t seconds = digits(&s);

	if (thread < 0 || seconds < 0 || *s != '.')
		return;		/* perf says something else */
	s++;
	for (usec_t unit = USEC / 10; *s >= '0' && *s <= '9'; s++, unit /= 10)
		fraction += (*s - '0') * unit;
	p->open = true;
	p->frames = 0;
	p->thread = (pid_t)thread;
	p->at = seconds * USEC + fraction;
}

/* "\t  14fdc name of a function (/usr/bin/dash)" */
static void add_frame(struct perf_script *p, const char *line)
{
	char buf[1024], *symbol = buf, *file = NULL;
	struct text t;

	if (!p->open || p->frames == PERF_FRAMES_MAX)
		return;
	text_copy(buf, sizeof(buf), line);
	buf[strcspn(buf, "\r\n")] = '\0';
	symbol += strspn(symbol, "\t ");
	symbol += strcspn(symbol, " ");		/* the address */
	symbol += strspn(symbol, " ");
	for (char *s = symbol; (s = strstr(s, " (")) != NULL; s += 2) {
		if (s[2] == '/' || s[2] == '[')
			file = s;
	}
	if (file != NULL) {
		*file = '\0';
		file += 2;
		const size_t n = strlen(file);

		if (n > 0 && file[n - 1] == ')')
			file[n - 1] = '\0';
	}
	text_init(&t, p->names[p->frames++], PERF_NAME_BYTES);
	name_frame(&t, p, symbol[0] != '\0' ? symbol : UNKNOWN,
	    file != NULL && file[0] != '\0' ? file : UNKNOWN);
}

void perf_script_line(struct perf_script *p, const char *line)
{
	if (line[0] == '\t')
		add_frame(p, line);
	else if (line[strspn(line, " \r\n")] == '\0')
		end_sample(p);
	else if (line[0] != '#')
		begin_sample(p, line);
}

int perf_script_end(struct perf_script *p)
{
	end_sample(p);
	return p->failed ? -1 : 0;
}
