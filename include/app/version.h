/* version.h - what we call ourselves towards those who ask.
 * SPDX-License-Identifier: ISC */
#ifndef APP_VERSION_H
#define APP_VERSION_H

/*
 * Monitoring reads the first word and the number behind it, which tell whose
 * behaviour we keep to. (config-files.md section 22)
 */
#define VERSION_TEXT "PgBouncer " PGBOUNCER_COMPAT_VERSION \
	" (" PACKAGE_NAME " " PACKAGE_VERSION ")"

#endif
