/* fuzz_userlist.c - any bytes as an auth file.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "conf/userlist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_report(void *arg, const char *text)
{
	(void)arg;
	assert(text[0] != '\0');
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
	struct userlist *u = userlist_parse((const char *)data, size, "f",
	    on_report, NULL);

	if (u == NULL)
		return 0;
	assert(userlist_each(u, on_user, u) == 0);
	userlist_unref(&u);
	return 0;
}
