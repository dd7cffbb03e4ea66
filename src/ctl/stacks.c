/* stacks.c - calls that were seen, folded.
 * SPDX-License-Identifier: ISC */
#include "ctl/stacks.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

static struct stack *add(struct stacks *s, const char *text, size_t len)
{
	struct stack *const it = mem_zalloc(sizeof(*it) + len + 1);

	if (it == NULL)
		return NULL;
	memcpy(it->text, text, len);
	HASH_ADD_KEYPTR(hh, s->all, it->text, len, it);
	if (it->hh.tbl != NULL)
		return it;
	mem_free(it);
	return NULL;
}

int stacks_add(struct stacks *s, const char *text, uint64_t weight)
{
	const size_t len = strlen(text);
	struct stack *it;

	s->weight += weight;
	s->times++;
	HASH_FIND(hh, s->all, text, len, it);
	if (it == NULL && HASH_COUNT(s->all) >= STACKS_MAX) {
		s->homeless += weight;
		return 0;
	}
	if (it == NULL)
		it = add(s, text, len);
	if (it == NULL)
		return -1;
	it->weight += weight;
	it->times++;
	return 0;
}

/* ';' comes before all else. */
static int order(char c)
{
	return c == '\0' ? 0 : c == ';' ? 1 : (unsigned char)c + 2;
}

static int compare(const struct stack *a, const struct stack *b)
{
	size_t i = 0;

	while (a->text[i] == b->text[i] && a->text[i] != '\0')
		i++;
	return order(a->text[i]) - order(b->text[i]);
}

void stacks_sort(struct stacks *s)
{
	HASH_SORT(s->all, compare);
}

void stacks_write(const struct stacks *s, FILE *out)
{
	for (const struct stack *it = s->all; it != NULL; it = it->hh.next)
		fprintf(out, "%s %" PRIu64 "\n", it->text, it->weight);
}

void stacks_fini(struct stacks *s)
{
	struct stack *it, *next;

	HASH_ITER(hh, s->all, it, next) {
		HASH_DEL(s->all, it);
		mem_free(it);
	}
	*s = (struct stacks){ 0 };
}

const char *stack_leaf(const struct stack *s, bool outside_kernel, char *buf,
    size_t size)
{
	static const char kernel[] = "kernel:";
	const char *end = s->text + strlen(s->text), *begin;

	for (;;) {
		begin = memrchr(s->text, ';', (size_t)(end - s->text));
		begin = begin == NULL ? s->text : begin + 1;
		if (!outside_kernel || begin == s->text ||
		    strncmp(begin, kernel, sizeof(kernel) - 1) != 0)
			break;
		end = begin - 1;
	}
	size_t n = (size_t)(end - begin);

	n = n < size ? n : size - 1;
	memcpy(buf, begin, n);
	buf[n] = '\0';
	return buf;
}
