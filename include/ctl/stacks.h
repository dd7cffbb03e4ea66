/* stacks.h - calls that were seen, folded: "main;loop_run;recv", and how often.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_STACKS_H
#define CTL_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/hash.h"

#define STACKS_MAX 200000	/* different ones; more are only counted */

struct stack {
	UT_hash_handle hh;
	uint64_t weight;	/* samples, or microseconds */
	uint64_t times;		/* times the stack was added */
	char text[];		/* the outermost first, ';' between */
};

/* All zero at first. */
struct stacks {
	struct stack *all;	/* owned; by text */
	uint64_t weight, times;	/* of all stacks, those beyond the cap too */
	uint64_t homeless;	/* weight of stacks beyond the cap */
};

/* 0, or -1: no memory. */
int stacks_add(struct stacks *s, const char *text, uint64_t weight);
/* As a tree is walked: stacks with the same beginning are together. */
void stacks_sort(struct stacks *s);
/* A line each, as flame graph programs read them. */
void stacks_write(const struct stacks *s, FILE *out);
void stacks_fini(struct stacks *s);

/* The innermost function; or the one that called into the kernel. Returns buf. */
const char *stack_leaf(const struct stack *s, bool outside_kernel, char *buf,
    size_t size);

#endif
