/* ready.c - the start is over: whom to tell, and the pid file.
 * SPDX-License-Identifier: ISC */
#include "app/ready.h"

#include <stdlib.h>

#include "app/app.h"
#include "app/daemon.h"
#include "app/notify.h"
#include "app/pidfile.h"
#include "base/err.h"
#include "base/log.h"
#include "console/version.h"
#include "io/library.h"
#include "io/loop.h"

void ready_take_pidfile(struct app *app)
{
	const char *const path = app->config->set.pidfile;
	struct err e;

	if (path[0] == '\0')
		return;
	if (pidfile_check(path, 0, &e) == 0 && pidfile_write(path, &e) == 0)
		app->pidfile_written = true;
	else
		log_error("%s: going on without it", e.text);
}

/* With Type=notify the start would seem to hang. */
static void warn_of_notify(void)
{
	if (getenv("NOTIFY_SOCKET") != NULL && !notify_is_built())
		log_warning("NOTIFY_SOCKET is set, but the service manager "
		    "will not be notified");
}

void ready_tell(struct app *app)
{
	warn_of_notify();
	log_info("process up: %s, libevent %s (%s), adns: %s, tls: %s",
	    version_of(app->config->set.console_version)->text,
	    library_libevent(), loop_method(app->loop),
	    library_dns(), library_tls());
	notify_ready();
	daemon_tell_up(app);
}
