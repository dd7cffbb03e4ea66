/* listener.h - listening sockets, TCP and Unix, and what they accept.
 * SPDX-License-Identifier: ISC */
#ifndef APP_LISTENER_H
#define APP_LISTENER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/net.h"

struct app;
struct err;
struct loop_watch;
struct settings;

struct listener {
	struct listener *next;
	struct app *app;
	struct loop_watch *watch;	/* owned */
	int fd;
	struct net_addr addr;
	char *path;		/* Unix; owned; NULL for TCP */
};

/* Open all that the settings name (config-files.md section 17). 0 or -1. */
int listener_open_all(struct app *app, struct err *e);
/* tcp_only: SHUTDOWN WAIT_FOR_*; Unix sockets stay open. */
void listener_close_all(struct app *app, bool tcp_only);
/* Remove the socket files; for an exit that comes without warning. */
void listener_unlink_all(const struct app *app);
/* Stop and go on accepting (SUSPEND, running out of descriptors). */
void listener_pause_all(struct app *app);
void listener_resume_all(struct app *app);
/* After a reload: socket options that accepted connections inherit. */
void listener_retune_all(struct app *app);

/*
 * "<unix_socket_dir>/.s.PGSQL.<listen_port>" in buf; may begin with '@'.
 * Returns buf, or NULL when there is none, or no room for it.
 */
char *listener_unix_path(const struct settings *set, char *buf, size_t size);

#endif
