/* notify.h - the service manager: what it is told, and what it hands to us.
 * SPDX-License-Identifier: ISC */
#ifndef APP_NOTIFY_H
#define APP_NOTIFY_H

#include <stdbool.h>

#include "base/time.h"

/*
 * Two files have all of this: notify_systemd.c, and notify_none.c for a build
 * without libsystemd, where nothing is told. (spec/config-files.md section 18)
 */
bool notify_is_built(void);

/* Without NOTIFY_SOCKET these do nothing. */
void notify_ready(void);
void notify_reloading(void);	/* notify_ready() follows */
void notify_stopping(void);
void notify_status(const char *text);
void notify_alive(void);
/* At least how often notify_alive() is expected; 0: nobody watches. */
usec_t notify_watchdog(void);

/*
 * Sockets that were passed, from descriptor NOTIFY_FIRST_FD on; before any
 * fork. A second call finds none. Returns how many, or -1 and errno.
 */
#define NOTIFY_FIRST_FD 3
int notify_take_sockets(void);

/* One entry of the journal, for log_setup(); or NULL. priority: syslog's. */
typedef void notify_journal_fn(int priority, const char *message);
notify_journal_fn *notify_journal(void);

#endif
