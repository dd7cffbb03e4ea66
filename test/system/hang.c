/* hang.c - for LD_PRELOAD: a disk that does not answer. Whoever opens a file
 * waits as long as there is another of its name with ".hang" behind it, and none
 * with ".go", which lets one go on. ".waits" says that he is there. Who only
 * looks at it waits as if its name had ".look" behind it; who signs, in TLS, as
 * if he opened the file $SIGNS.
 * SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static void wait_at(const char *path)
{
	int (*const real)(const char *, int, ...) =
	    (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	char hang[PATH_MAX], go[PATH_MAX], waits[PATH_MAX];

	snprintf(hang, sizeof hang, "%s.hang", path);
	if (access(hang, F_OK) != 0)
		return;
	snprintf(go, sizeof go, "%s.go", path);
	snprintf(waits, sizeof waits, "%s.waits", path);
	const int fd = real(waits, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
	while (access(hang, F_OK) == 0 && access(go, F_OK) != 0)
		poll(NULL, 0, 10);
	unlink(waits);
	unlink(go);
}

int open(const char *path, int flags, ...)
{
	int (*const real)(const char *, int, ...) =
	    (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if ((flags & (O_CREAT | __O_TMPFILE)) != 0)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	wait_at(path);
	return real(path, flags, mode);
}

int lstat(const char *path, struct stat *st)
{
	int (*const real)(const char *, struct stat *) =
	    (int (*)(const char *, struct stat *))dlsym(RTLD_NEXT, "lstat");
	char look[PATH_MAX];

	snprintf(look, sizeof look, "%s.look", path);
	wait_at(look);
	return real(path, st);
}

/* Of libcrypto, by libssl; a signature of NULL asks how long it would be. */
int EVP_DigestSign(void *ctx, unsigned char *sig, size_t *len,
    const unsigned char *data, size_t n)
{
	int (*const real)(void *, unsigned char *, size_t *,
	    const unsigned char *, size_t) = (int (*)(void *, unsigned char *,
	    size_t *, const unsigned char *, size_t))dlsym(RTLD_NEXT,
	    "EVP_DigestSign");
	const char *const path = getenv("SIGNS");

	if (sig != NULL && path != NULL)
		wait_at(path);
	return real(ctx, sig, len, data, n);
}
