/* version.h - what we call ourselves towards clients.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_VERSION_H
#define CONSOLE_VERSION_H

#include "conf/options.h"

/*
 * The PostgreSQL whose behaviour drivers may count on, as far as a number can
 * tell it.
 */
#define POSTGRESQL_VERSION "15.0"
#define POSTGRESQL_VERSION_NUM "150000"

/* As console_version says. (spec/config-files.md section 22) */
struct version {
	const char *text;	/* monitoring reads its first two words */
	const char *server;	/* the console's server_version */
	const char *product;	/* its version() */
};

const struct version *version_of(enum console_version v);

#endif
