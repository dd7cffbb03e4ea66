/* input.c - files that are read: none that keeps us waiting, or is a trap.
 * SPDX-License-Identifier: ISC */
#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

#define HOW (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
#define LINKS_MAX 40		/* as path_resolution(7) has it */

/* Which no call that we make has in this sense. */
#define NOT_REGULAR ENOSTR
#define LINK_OF_ANOTHER EXDEV
#define STILL_READ EALREADY

ssize_t input_read(int fd, char *buf, size_t size)
{
	size_t len = 0;

	while (len < size) {
		const ssize_t n = read(fd, buf + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

const char *input_why(int cause)
{
	if (cause == NOT_REGULAR)
		return "not a regular file";
	if (cause == LINK_OF_ANOTHER)
		return "not as root: a link of another user leads there";
	if (cause == STILL_READ)
		return "earlier reloads still read it";
	if (cause == EACCES)
		return "Permission denied (the user that runs pgsluice must "
		    "be able to read it)";
	return strerror(cause);
}

static int input_fail(int fd, int cause)
{
	if (fd >= 0)
		close(fd);
	errno = cause;
	return -1;
}

/* Takes fd, and gives it back when it can be read. */
static int accept_kind(int fd)
{
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return input_fail(fd, errno);
	if (S_ISDIR(st.st_mode))
		return input_fail(fd, EISDIR);
	if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
		return input_fail(fd, NOT_REGULAR);
	return fd;
}

/* --- as root: step by step, so that nobody can change what was looked at --- */

struct walk {
	int dir;		/* owned: where we are */
	char rest[PATH_MAX];	/* rest of the path */
	unsigned links;
	bool foreign;		/* one of the links was not root's: */
	uid_t owner;		/* owner of that link */
};

static int input_enter(struct walk *w, int fd)
{
	if (fd < 0)
		return -1;
	close(w->dir);
	w->dir = fd;
	return 0;
}

static int go_to_root(struct walk *w)
{
	return w->rest[0] != '/' ? 0 : input_enter(w, open("/", O_PATH |
	    O_DIRECTORY | O_CLOEXEC));
}

/* Cut the next name off the rest; "" at its end. */
static void next_name(struct walk *w, char *name)
{
	const char *const at = w->rest + strspn(w->rest, "/");
	const size_t n = strcspn(at, "/");
	const size_t left = strlen(at + n) + 1;

	memcpy(name, at, n);
	name[n] = '\0';
	memmove(w->rest, at + n, left);
}

/* link is a descriptor of one: go on with what it says. */
static int follow(struct walk *w, int link, const struct stat *st)
{
	char to[PATH_MAX], all[PATH_MAX];
	const ssize_t n = readlinkat(link, "", to, sizeof to - 1);
	struct text t;

	if (n < 0)
		return -1;
	to[n] = '\0';
	if (st->st_uid != 0) {
		if (w->foreign && w->owner != st->st_uid)
			return input_fail(-1, LINK_OF_ANOTHER);
		w->foreign = true;
		w->owner = st->st_uid;
	}
	text_init(&t, all, sizeof all);
	text_addf(&t, "%s/%s", to, w->rest);
	if (t.cut)
		return input_fail(-1, ENAMETOOLONG);
	if (++w->links > LINKS_MAX)
		return input_fail(-1, ELOOP);
	/* a slash of ours behind the last name must not make it a folder */
	while (t.len > 1 && all[t.len - 1] == '/')
		all[--t.len] = '\0';
	memcpy(w->rest, all, t.len + 1);
	return go_to_root(w);
}

/* name is no link, and the last one. */
static int open_last(const struct walk *w, const char *name)
{
	const int fd = accept_kind(openat(w->dir, name, HOW | O_NOFOLLOW));
	struct stat st;

	if (fd < 0 || !w->foreign)
		return fd;
	if (fstat(fd, &st) < 0)
		return input_fail(fd, errno);
	return st.st_uid == w->owner ? fd : input_fail(fd, LINK_OF_ANOTHER);
}

/* One name further: *out is set at the end of the path. 0 or -1. */
static int input_step(struct walk *w, int *out)
{
	char name[PATH_MAX];
	struct stat st;

	next_name(w, name);
	if (name[0] == '\0')
		return input_fail(-1, EISDIR);
	const int fd = openat(w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		return input_fail(fd, errno);
	if (S_ISLNK(st.st_mode)) {
		const int rc = follow(w, fd, &st);
		const int cause = errno;

		close(fd);
		errno = cause;
		return rc;
	}
	if (w->rest[0] != '\0')
		return input_enter(w, fd);
	close(fd);
	*out = open_last(w, name);
	return *out < 0 ? -1 : 0;
}

static int open_as_root(const char *path)
{
	struct walk w = { .dir = -1 };
	int fd = -1;

	if (path[0] == '\0')
		return input_fail(-1, ENOENT);
	if (!text_copy(w.rest, sizeof w.rest, path))
		return input_fail(-1, ENAMETOOLONG);
	w.dir = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY |
	    O_CLOEXEC);
	if (w.dir < 0)
		return -1;
	while (fd < 0 && input_step(&w, &fd) == 0)
		;
	const int cause = errno;

	close(w.dir);
	errno = cause;
	return fd;
}

int input_begin(const char *path)
{
	return input_watch_begin(path) == 0 ? 0 : input_fail(-1, STILL_READ);
}

int input_open(const char *path)
{
	if (input_begin(path) < 0)
		return -1;
	if (geteuid() == 0)
		return open_as_root(path);
	return accept_kind(open(path, HOW));
}

int input_check(const char *path)
{
	const int fd = input_open(path);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static _Thread_local struct input_watch *mine;

void input_watch_init(struct input_watch *w, const char *barred)
{
	pthread_mutex_init(&w->lock, NULL);
	w->steps = 0;
	w->path[0] = w->barred[0] = '\0';
	if (barred != NULL)
		text_copy(w->barred, sizeof w->barred, barred);
}

void input_watch_fini(struct input_watch *w)
{
	pthread_mutex_destroy(&w->lock);
}

void input_watch_set(struct input_watch *w)
{
	mine = w;
}

static bool is_barred(const char *path)
{
	return path[0] != '\0' && strcmp(path, mine->barred) == 0;
}

int input_watch_begin(const char *path)
{
	if (mine == NULL)
		return 0;
	pthread_mutex_lock(&mine->lock);
	mine->steps += 1 + mine->steps % 2;
	text_copy(mine->path, sizeof mine->path, path);
	pthread_mutex_unlock(&mine->lock);
	if (!is_barred(path))
		return 0;
	input_watch_end();
	return -1;
}

void input_watch_end(void)
{
	if (mine == NULL)
		return;
	pthread_mutex_lock(&mine->lock);
	mine->steps += mine->steps % 2;
	pthread_mutex_unlock(&mine->lock);
}

bool input_watch_look(struct input_watch *w, char *path,
    unsigned long *steps)
{
	pthread_mutex_lock(&w->lock);
	const bool waits = w->steps % 2 == 1;

	*steps = w->steps;
	if (waits)
		memcpy(path, w->path, sizeof w->path);
	pthread_mutex_unlock(&w->lock);
	return waits;
}
