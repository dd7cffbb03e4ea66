/* jwks_file.c - a file of public keys, read again when it changes.
 * SPDX-License-Identifier: ISC */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/input.h"
#include "base/jwt.h"
#include "base/mem.h"

/* A change within so many seconds after another one may leave no trace. */
#define SETTLED 2

struct jwks_file {
	atomic_uint refs;
	char *path;		/* owned */
	pthread_mutex_t lock;	/* of all that follows */
	bool known;		/* what st describes is in keys or why */
	struct stat st;
	struct jwks *keys;	/* counted; NULL: it cannot be used */
	struct err why;		/* keys is NULL */
};

struct jwks_file *jwks_file_new(const char *path)
{
	struct jwks_file *f = mem_zalloc(sizeof(*f));

	if (f == NULL)
		return NULL;
	f->path = mem_strdup(path);
	if (f->path == NULL) {
		mem_free(f);
		return NULL;
	}
	f->refs = 1;
	pthread_mutex_init(&f->lock, NULL);
	return f;
}

struct jwks_file *jwks_file_ref(struct jwks_file *f)
{
	f->refs++;
	return f;
}

void jwks_file_unref(struct jwks_file **fp)
{
	struct jwks_file *const f = *fp;

	*fp = NULL;
	if (f == NULL || --f->refs > 0)
		return;
	pthread_mutex_destroy(&f->lock);
	jwks_unref(&f->keys);
	mem_free(f->path);
	mem_free(f);
}

const char *jwks_file_path(const struct jwks_file *f)
{
	return f->path;
}

static bool same_moment(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_unchanged(const struct jwks_file *f, const struct stat *st)
{
	return f->known && st->st_dev == f->st.st_dev &&
	    st->st_ino == f->st.st_ino && st->st_size == f->st.st_size &&
	    same_moment(&st->st_mtim, &f->st.st_mtim) &&
	    same_moment(&st->st_ctim, &f->st.st_ctim);
}

/* Into f->keys, or f->why. Returns: was all of it looked at? */
static bool read_keys(struct jwks_file *f, int fd)
{
	/* one byte more than there may be: it is too long then */
	char *const text = mem_alloc(JWKS_MAX + 1);
	const ssize_t n = text == NULL ? -1 :
	    input_read(fd, text, JWKS_MAX + 1);

	if (text == NULL)
		err_nomem(&f->why);
	else if (n < 0)
		err_set(&f->why, ERRCODE_IO_ERROR, "%s", input_why(errno));
	else
		f->keys = jwks_parse(text, (size_t)n, &f->why);
	mem_free(text);
	return n >= 0 && (f->keys != NULL || !err_is_nomem(&f->why));
}

static void look(struct jwks_file *f, int64_t now)
{
	const int fd = input_open(f->path);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && is_unchanged(f, &st)) {
		close(fd);
		return;
	}
	f->known = false;
	jwks_unref(&f->keys);
	if (fd < 0 || fstat(fd, &f->st) < 0) {
		err_set(&f->why, ERRCODE_UNDEFINED_FILE, "%s",
		    input_why(errno));
	} else {
		/* what counts is how old the change was when it was read */
		f->known = read_keys(f, fd) &&
		    now - f->st.st_ctim.tv_sec > SETTLED;
	}
	if (fd >= 0)
		close(fd);
}

struct jwks *jwks_file_get(struct jwks_file *f, int64_t now, struct err *e)
{
	struct jwks *keys = NULL;

	pthread_mutex_lock(&f->lock);
	look(f, now);
	input_watch_end();
	if (f->keys != NULL)
		keys = jwks_ref(f->keys);
	else
		*e = f->why;
	pthread_mutex_unlock(&f->lock);
	if (keys == NULL && !err_is_nomem(e))
		err_prepend(e, "JWKS file \"%s\": ", f->path);
	return keys;
}
