/* notify_none.c - no service manager: this build does not know any.
 * SPDX-License-Identifier: ISC */
#include "app/notify.h"

#include <stddef.h>

bool notify_is_built(void)
{
	return false;
}

void notify_ready(void)
{
}

void notify_reloading(void)
{
}

void notify_stopping(void)
{
}

void notify_status(const char *text)
{
	(void)text;
}

void notify_alive(void)
{
}

usec_t notify_watchdog(void)
{
	return 0;
}

int notify_take_sockets(void)
{
	return 0;
}

notify_journal_fn *notify_journal(void)
{
	return NULL;
}
