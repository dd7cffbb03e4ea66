/* fuzz_msg_report.c - ErrorResponse bodies from a hostile server.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <string.h>

#include "proto/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each is "" or ends inside the body. */
static void check_string(const char *s, const uint8_t *data, size_t size)
{
	const uint8_t *const p = (const uint8_t *)s;

	assert(s != NULL);
	if (s[0] != '\0')
		assert(p > data && p + strlen(s) < data + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct report r, again;
	struct writer w;
	const int result = report_parse(&r, data, size);

	check_string(r.severity, data, size);
	check_string(r.code, data, size);
	check_string(r.message, data, size);
	check_string(r.detail, data, size);
	check_string(r.hint, data, size);
	if (result != 0)
		return 0;

	/* What we make of it means the same. */
	writer_init(&w, 4 * size + 64);
	report_write_error(&w, r.severity, r.code, r.message);
	assert(!w.failed);
	assert(msg_size(w.at, UINT32_MAX) == w.len);
	assert(
	    report_parse(&again, w.at + MSG_HEADER, w.len - MSG_HEADER) == 0);
	assert(strcmp(again.severity, r.severity) == 0);
	assert(strcmp(again.code, r.code) == 0);
	assert(strcmp(again.message, r.message) == 0);
	writer_fini(&w);
	return 0;
}
