/* hang.c - for LD_PRELOAD: a disk that does not answer. Whoever opens a file
 * waits as long as there is another of its name with ".hang" behind it.
 * SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

int open(const char *path, int flags, ...)
{
	int (*const real)(const char *, int, ...) =
	    (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	char latch[PATH_MAX];
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if ((flags & (O_CREAT | __O_TMPFILE)) != 0)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	snprintf(latch, sizeof latch, "%s.hang", path);
	while (access(latch, F_OK) == 0)
		poll(NULL, 0, 10);
	return real(path, flags, mode);
}
