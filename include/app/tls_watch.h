/* tls_watch.h - certificates that change on disk are read again.
 * SPDX-License-Identifier: ISC */
#ifndef APP_TLS_WATCH_H
#define APP_TLS_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "upstream/tls_setup.h"

struct app;

/* Of the first worker. */
struct tls_watch {
	usec_t looked_at;
	bool looking;			/* a thread does */
	bool failed;			/* files of this print could not be used: */
	uint8_t failed_print[TLS_PRINT];
	uint8_t seen_print[TLS_PRINT];	/* by the last look */
};

/* Each tick, on the first worker. (tls_reload) */
void tls_watch_tick(struct app *app, usec_t now);

#endif
