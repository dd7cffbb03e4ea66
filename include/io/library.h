/* library.h - which libraries this process runs with.
 * SPDX-License-Identifier: ISC */
#ifndef IO_LIBRARY_H
#define IO_LIBRARY_H

const char *library_libevent(void);	/* "2.1.12-stable" */
const char *library_dns(void);		/* "c-ares 1.18.1" */
const char *library_tls(void);		/* "OpenSSL 3.0.11 19 Sep 2023" */

#endif
