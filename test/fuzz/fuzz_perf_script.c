/* fuzz_perf_script.c - samples of perf, their reasons, their picture.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/flame.h"
#include "ctl/perf_script.h"
#include "ctl/reasons.h"
#include "ctl/stacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void draw(struct stacks *s)
{
	char *svg = NULL;
	size_t size;
	FILE *const out = open_memstream(&svg, &size);

	if (out == NULL)
		return;
	stacks_sort(s);
	flame_write(&(struct flame){ s, "fuzz", "samples", 1 }, out);
	fclose(out);
	free(svg);
}

/* The first byte says whether it is time away, of thread 7. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct perf_script script;
	struct stacks stacks = { 0 };
	uint64_t sums[REASONS], all = 0;
	char line[2048];

	if (size == 0)
		return 0;
	memset(&script, 0, sizeof script);
	script.stacks = &stacks;
	script.program = "pgsluice";
	script.away = data[0] % 2 == 0 ? 0 : 7;
	for (size_t at = 1; at < size;) {
		size_t n = 0;

		while (n < sizeof line - 1 && at < size) {
			line[n++] = (char)data[at];
			if (data[at++] == '\n')
				break;
		}
		line[n] = '\0';
		perf_script_line(&script, line);
	}
	if (perf_script_end(&script) == 0) {
		reasons_sum(&stacks, script.away != 0, sums);
		for (int i = 0; i < REASONS; i++)
			all += sums[i];
		if (all != stacks.weight)
			abort();
		draw(&stacks);
	}
	stacks_fini(&stacks);
	return 0;
}
