/* turnstile.c - one process at a time takes over from another.
 * SPDX-License-Identifier: ISC */
#include "app/turnstile.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/errcodes.h"
#include "io/socket.h"

/*
 * Of the abstract namespace: what we hold ends with us, however we end, and
 * leaves no file. Its name is made of the file that all of us have to go
 * through.
 */
static bool name_it(const char *path, char *name, size_t size)
{
	struct stat st;

	return stat(path, &st) == 0 && snprintf(name, size,
	    "@pgsluice/takeover/%ju/%jx/%ju", (uintmax_t)geteuid(),
	    (uintmax_t)st.st_dev, (uintmax_t)st.st_ino) < (int)size;
}

/* Anybody may have the name; it means something if one of us has. */
static bool is_held(const char *name)
{
	struct err ignored;
	const int fd = socket_connect_unix(name, &ignored);

	if (fd < 0)
		return false;
	const bool ours = socket_peer_is_ours(fd, name, &ignored) == 0;

	close(fd);
	return ours;
}

int turnstile_enter(const char *path, int *fd, struct err *e)
{
	static const struct socket_listen o = { .backlog = 16 };
	char name[SOCKET_PATH_MAX];
	struct err ignored;

	*fd = -1;
	if (!name_it(path, name, sizeof name))
		return 0;
	*fd = socket_listen_unix(name, &o, &ignored);
	if (*fd >= 0 || !is_held(name))
		return 0;
	return err_set(e, ERRCODE_OBJECT_IN_USE,
	    "another process is about to do so");
}
