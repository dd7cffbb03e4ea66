/* notify_systemd.c - systemd, by its library: notification, sockets, journal.
 * SPDX-License-Identifier: ISC */
#include "app/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

/* entries tell no source line: it would be the same for all */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

_Static_assert(NOTIFY_FIRST_FD == SD_LISTEN_FDS_START,
    "sd_listen_fds(3) says where they begin");

bool notify_is_built(void)
{
	return true;
}

/* Nobody can be told when this fails, and nothing depends on it. */
static void notify_systemd_tell(const char *state)
{
	(void)sd_notify(0, state);
}

void notify_ready(void)
{
	notify_systemd_tell("READY=1");
}

/* systemd.service(5), Type=notify-reload */
void notify_reloading(void)
{
	(void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
	    time_precise());
}

void notify_stopping(void)
{
	notify_systemd_tell("STOPPING=1");
}

void notify_status(const char *text)
{
	(void)sd_notifyf(0, "STATUS=%s", text);
}

void notify_alive(void)
{
	notify_systemd_tell("WATCHDOG=1");
}

usec_t notify_watchdog(void)
{
	uint64_t interval;

	return sd_watchdog_enabled(0, &interval) > 0 ? (usec_t)interval : 0;
}

int notify_take_sockets(void)
{
	const int n = sd_listen_fds(1);

	if (n >= 0)
		return n;
	errno = -n;
	return -1;
}

static void notify_systemd_to_journal(int priority, const char *message)
{
	(void)sd_journal_send("MESSAGE=%s", message, "PRIORITY=%i", priority,
	    NULL);
}

notify_journal_fn *notify_journal(void)
{
	return notify_systemd_to_journal;
}
