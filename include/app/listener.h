/* listener.h - sockets that listen: opened, accepted from, rested, closed.
 * SPDX-License-Identifier: ISC */
#ifndef APP_LISTENER_H
#define APP_LISTENER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/net.h"
#include "base/time.h"

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
	unsigned turn;		/* of the loop that accepted last */
	unsigned streak;	/* turns in a row that left, perhaps, some */
	usec_t deaf;		/* ignores new clients from then; 0: or does */
	usec_t closing;		/* is closed from then on; 0 = stays, so far */
	bool paused;
	bool passed;		/* by the service manager: its file stays */
	bool adopted;		/* opened by others; not found in settings yet */
};

/*
 * Take over fd, which somebody else has opened, for listener_open_all() to
 * find. 0, or -1 with e: fd is closed then.
 */
int listener_adopt(struct app *app, int fd, struct err *e);
/* Adopt the sockets of the service manager. 0 or -1. */
int listener_adopt_passed(struct app *app, int count, struct err *e);

/*
 * From now on clients of the Unix sockets see this process as their peer
 * (SO_PEERCRED), not the one that opened the sockets: pgsluicectl waits for its
 * end by that.
 */
void listener_claim_all(const struct app *app);

/*
 * Open all that the settings name (spec/config-files.md section 17) and that was
 * not adopted; what was adopted but is not named is closed. 0 or -1.
 */
int listener_open_all(struct app *app, struct err *e);
/* Close l and forget it; its file stays. */
void listener_drop(struct listener *l);
void listener_close_all(struct app *app);

/*
 * Let TCP go (SHUTDOWN WAIT_FOR_*), and no client be lost that is connected by
 * now. Where others listen at the same address too (so_reuseport), that takes
 * two steps; else the listener is closed at once. Not all: a listener that
 * nobody else can have stays.
 */
void listener_drain(struct app *app, bool all);
/* Accept every client that has connected by now. */
void listener_accept_rest(struct app *app);
/* From time to time: is the moment over, or an error? Go on. */
void listener_tick(struct app *app, usec_t now);
/* Does one of them still drain? */
bool listener_is_draining(const struct app *app);
/* A client is gone that had the descriptor which is held back. */
void listener_return_reserve(struct app *app);

/* Remove the socket files; for an exit that comes without warning. */
void listener_unlink_all(const struct app *app);
/* Stop and go on accepting (SUSPEND). */
void listener_pause_all(struct app *app);
void listener_resume_all(struct app *app);
/* After a reload: socket options that accepted connections inherit. */
void listener_retune_all(struct app *app);

/*
 * "<unix_socket_dir>/.s.PGSQL.<listen_port>" in buf; may begin with '@'.
 * Returns buf, or NULL when there is none, or no room for it.
 */
char *listener_unix_path(const struct settings *set, char *buf, size_t size);
/* Is something of another user in the way there, or its lock file? */
bool listener_unix_is_foreign(const char *path);
/* "unix:<path>" or "<ip>:<port>" in buf, as in the log. Returns buf. */
char *listener_name(const struct listener *l, char *buf, size_t size);

#endif
