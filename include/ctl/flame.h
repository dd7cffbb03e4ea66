/* flame.h - a flame graph: stacks as a picture, an SVG that needs nothing else.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_FLAME_H
#define CTL_FLAME_H

#include <stdint.h>
#include <stdio.h>

struct stacks;

struct flame {
	const struct stacks *stacks;	/* sorted */
	const char *title;
	const char *unit;	/* unit of counts: "samples", "ms" */
	uint64_t per_unit;	/* of weight: 1, 1000 */
};

/*
 * The outermost functions are at the top, as wide as what was spent in them
 * and in what they called; a tooltip has the name and the share. Names are
 * texts of others. What is narrower than can be seen is left out.
 */
void flame_write(const struct flame *f, FILE *out);

#endif
