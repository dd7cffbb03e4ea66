/* fuzz_startup_params.c - what is read is written, and read again, as the same.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/startup_params.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM (4 * STARTUP_PARAMS_BYTES)

static void write_all(const struct startup_params *p, struct text *t)
{
	for (size_t i = 0; i < p->count; i++) {
		text_addf(t, "%s%s='", p->at[i].name, p->at[i].forced ? "!" :
		    "");
		for (const char *s = p->at[i].value; *s != '\0'; s++)
			text_addf(t, "%s%c", *s == '\'' ? "'" : "", *s);
		text_add(t, "' ");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char buf[ROOM];
	char *const text = mem_strndup((const char *)data, size);
	struct startup_params p = { .count = 0 }, again = { .count = 0 };
	struct err e;
	struct text t;

	assert(text != NULL);
	text_init(&t, buf, sizeof buf);
	if (startup_params_add(&p, text, &e) == 0) {
		assert(p.count <= STARTUP_PARAMS_MAX);
		write_all(&p, &t);
		/* apostrophes are twice as long as they were */
		if (t.len <= STARTUP_PARAMS_BYTES && !t.cut) {
			assert(startup_params_add(&again, buf, &e) == 0);
			assert(again.count == p.count);
			assert(startup_params_mark(&again) ==
			    startup_params_mark(&p));
		}
	} else {
		assert(e.text[0] != '\0');
	}
	startup_params_fini(&p);
	startup_params_fini(&again);
	mem_free(text);
	return 0;
}
