/* file.c - a whole file in memory, for the parsers of this rank.
 * SPDX-License-Identifier: ISC */
#include "conf/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/mem.h"

/* As mem_resize, but leaves no copy of a secret behind. */
static int grow(struct file_text *f, size_t size)
{
	char *p = mem_alloc(size + 1);

	if (p == NULL) {
		errno = ENOMEM;
		return -1;
	}
	if (f->len > 0)
		memcpy(p, f->at, f->len);
	if (f->at != NULL)
		secret_wipe(f->at, f->len);
	mem_free(f->at);
	f->at = p;
	return 0;
}

static int read_all(int fd, struct file_text *f)
{
	/* One more than the size, so that the last read finds the end. */
	size_t room = (size_t)f->st.st_size + 1;

	if (f->st.st_size < 0 || room > FILE_TEXT_MAX) {
		errno = EFBIG;
		return -1;
	}
	if (grow(f, room) != 0)
		return -1;
	for (;;) {
		const ssize_t n = read(fd, f->at + f->len, room - f->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		f->len += (size_t)n;
		if (f->len < room)
			continue;
		room *= 2;
		if (room > FILE_TEXT_MAX) {
			errno = EFBIG;
			return -1;
		}
		if (grow(f, room) != 0)
			return -1;
	}
	f->at[f->len] = '\0';
	return 0;
}

int file_read(const char *path, struct file_text *f)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int rc = -1;

	if (fd < 0)
		return -1;
	if (fstat(fd, &f->st) == 0)
		rc = read_all(fd, f);

	const int saved = errno;
	close(fd);
	if (rc != 0)
		file_text_fini(f);
	errno = saved;
	return rc;
}

void file_text_fini(struct file_text *f)
{
	if (f->at != NULL)
		secret_wipe(f->at, f->len);
	mem_free(f->at);
	*f = (struct file_text){ 0 };
}
