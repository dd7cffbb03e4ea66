/* version.c - what we call ourselves towards clients.
 * SPDX-License-Identifier: ISC */
#include "console/version.h"

#define TEXT(number) \
	"PgBouncer " number " (" PACKAGE_NAME " " PACKAGE_VERSION ")"
#define RELEASE(number) { \
	.text = TEXT(number), \
	.server = number "/bouncer", \
	.product = TEXT(number) " console, speaks like PostgreSQL " \
	    POSTGRESQL_VERSION }

const struct version *version_of(enum console_version v)
{
	static const struct version versions[] = {
		[CONSOLE_1_25] = RELEASE("1.25.2"),
		[CONSOLE_1_26] = RELEASE("1.26.1"),
	};

	return &versions[v];
}
