/* stop.c - for LD_PRELOAD: whoever is about to send the text $STOP_AT stops,
 * or, with $STOP_MS, that thread does nothing for as many milliseconds.
 * SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

static void stop_at(const void *p, size_t n)
{
	const char *const text = getenv("STOP_AT"), *const ms = getenv("STOP_MS");

	if (text == NULL || memmem(p, n, text, strlen(text)) == NULL)
		return;
	if (ms == NULL)
		raise(SIGSTOP);
	else
		poll(NULL, 0, atoi(ms));
}

ssize_t send(int fd, const void *p, size_t n, int flags)
{
	ssize_t (*const real)(int, const void *, size_t, int) =
	    (ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT,
	    "send");

	stop_at(p, n);
	return real(fd, p, n, flags);
}

ssize_t write(int fd, const void *p, size_t n)
{
	ssize_t (*const real)(int, const void *, size_t) =
	    (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");

	stop_at(p, n);
	return real(fd, p, n);
}
