/* fuzz_userlist.c - any bytes as an auth file.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "conf/userlist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_report(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	assert(level == LEVEL_ERROR || level == LEVEL_WARNING);
	assert(text[0] != '\0');
}

/* Where a record stands there are quotes, and no name without them. */
static void on_record(void *arg, const char *name, size_t at, size_t len)
{
	const char *const text = (const char *)arg + at;

	assert(len >= strlen(name) + 4 && text[0] == '"');
	assert(memchr(text + 1, '"', len - 1) != NULL);
}

static int on_user(const char *name, const char *secret, void *arg)
{
	assert(strlen(name) < 128 && strlen(secret) < 65531);
	assert(secret_kind(secret) != SECRET_NONE || secret[0] == '\0');
	assert(userlist_find(arg, name) == secret);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct userlist_source src = {
		.text = (const char *)data, .len = size, .path = "f",
		.report = on_report, .record = on_record, .arg = (void *)data,
	};
	struct userlist *u = userlist_parse(&src);

	if (u == NULL)
		return 0;
	assert(userlist_each(u, on_user, u) == 0);
	userlist_unref(&u);
	return 0;
}
