/* log_out.c - the destinations of the log: stderr, a file, syslog.
 * SPDX-License-Identifier: ISC */
#include "base/log_out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "base/log_line.h"
#include "base/text.h"

#define ROOM_MS 1000	/* until another file may be behind the number */
#define LOG_MODE 0640
#define OFF_MS 200	/* time for lines before their file is closed */

/* The log thread's alone, but for fd, which stays the same once it is open. */
struct output {
	int fd;			/* -1: none yet */
	int cause;		/* errno of the last failure; 0: no room */
	unsigned long lost;	/* lines nobody was told of yet */
	bool torn;		/* the last line written has no end */
};

static struct {
	struct output outputs[LOG_DESTS];
	const struct log_queue *queue;	/* NULL: nobody */
	void (*journal)(int priority, const char *message);
	atomic_bool json;
	bool syslog_open;		/* of its thread, with this name */
	char ident[128];
} out = {
	.outputs = {
		[LOG_TO_STDERR] = { .fd = STDERR_FILENO },
		[LOG_TO_FILE] = { .fd = -1 },
		[LOG_TO_SYSLOG] = { .fd = -1 },
	},
};

void log_out_set_queue(const struct log_queue *q)
{
	out.queue = q;
}

bool log_out_is_queued(void)
{
	return out.queue != NULL;
}

void log_out_flush(int ms)
{
	if (out.queue != NULL)
		out.queue->flush(ms);
}

void log_out_settle(enum log_dest to)
{
	if (out.queue != NULL)
		out.queue->settle(to);
}

void log_out_setup(const struct log_out_opts *opts)
{
	atomic_store(&out.json, opts->json);
	/* set once, before there are threads: see main.c */
	if (out.queue == NULL)
		out.journal = opts->journal;
}

/* --- the file --- */

/*
 * The number must not change, nor be free for a moment: another thread may be
 * writing to it. Takes fd.
 */
static void replace_file(int fd)
{
	struct output *const o = &out.outputs[LOG_TO_FILE];

	if (o->fd < 0) {
		o->fd = fd;
		return;
	}
	(void)dup3(fd, o->fd, O_CLOEXEC);
	close(fd);
}

static bool is_sticky(const struct stat *dir)
{
	return (dir->st_mode & S_ISVTX) != 0 &&
	    (dir->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/*
 * Has another user put a link at path, in a folder that all may write? Linux
 * does not follow it where fs.protected_symlinks is set, nor do we elsewhere. A
 * link of ours stays ours: in such a folder nobody else can replace it.
 */
static bool is_trap(const char *path)
{
	const char *const slash = strrchr(path, '/');
	char dir[PATH_MAX] = ".";
	struct stat link, in;

	if (lstat(path, &link) < 0 || !S_ISLNK(link.st_mode) ||
	    link.st_uid == geteuid())
		return false;
	if (slash != NULL)
		snprintf(dir, sizeof dir, "%.*s", (int)(slash - path) + 1, path);
	return stat(dir, &in) < 0 ||
	    (is_sticky(&in) && link.st_uid != in.st_uid);
}

/* An existing log keeps its mode; a new one is not for all. */
static int open_log(const char *path)
{
	/* a named pipe must have a reader, and is not waited for */
	const int how = O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK;
	int fd = open(path, how | O_NOFOLLOW);

	if (fd < 0 && errno == ELOOP) {
		if (is_trap(path)) {
			errno = EACCES;
			return -1;
		}
		fd = open(path, how);
	}

	if (fd >= 0 || errno != ENOENT)
		return fd;
	fd = open(path, how | O_CREAT | O_EXCL, LOG_MODE);
	if (fd >= 0)
		(void)fchmod(fd, LOG_MODE);	/* whatever the umask */
	/* another process has just made the file, or path is a dangling link */
	return fd < 0 && errno == EEXIST ?
	    open(path, how | O_CREAT, LOG_MODE) : fd;
}

int log_out_open(const char *path)
{
	int fd;

	if (path == NULL && out.outputs[LOG_TO_FILE].fd < 0)
		return 0;
	if (path == NULL)
		log_out_flush(OFF_MS);
	fd = open_log(path != NULL ? path : "/dev/null");
	if (fd < 0)
		return -1;
	replace_file(fd);
	return 0;
}

/* --- writing --- */

/* Lines end where no TAB follows: see log_line_cook(). */
static unsigned long count_lines(const char *p, size_t n)
{
	unsigned long count = 0;

	for (size_t i = 0; i < n; i++)
		count += p[i] == '\n' && (i + 1 == n || p[i + 1] != '\t');
	return count;
}

static void log_out_await_room(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	(void)poll(&p, 1, ROOM_MS);
}

/* Returns the bytes written; fewer than n when it failed. */
static size_t log_out_write_all(struct output *o, const char *p, size_t n)
{
	size_t at = 0;

	while (at < n) {
		const ssize_t done = write(o->fd, p + at, n - at);

		if (done < 0 && errno == EAGAIN)
			log_out_await_room(o->fd);
		else if (done < 0 && errno != EINTR)
			break;
		else if (done > 0)
			at += (size_t)done;
	}
	if (at < n)
		o->cause = errno;
	if (at > 0)
		o->torn = p[at - 1] != '\n';
	return at;
}

static void write_lines(struct output *o, const char *p, size_t n)
{
	const size_t done = log_out_write_all(o, p, n);

	o->lost += count_lines(p + done, n - done);
}

static void write_syslog(const struct log_record *r)
{
	const size_t n = strlen(r->text) + 1;

	if (!out.syslog_open || strcmp(r->text, out.ident) != 0) {
		text_copy(out.ident, sizeof out.ident, r->text);
		openlog(out.ident, LOG_PID, LOG_DAEMON);
		out.syslog_open = true;
	}
	/* the library connects again when the daemon is a new one */
	syslog(r->tag, "%s", r->text + n);
}

static void write_entry(enum log_dest to, const struct log_record *r)
{
	if (to == LOG_TO_SYSLOG)
		write_syslog(r);
	else
		out.journal(r->tag, r->text);
}

/* --- what was lost --- */

/* 0: told. */
static int tell_line(struct output *o, const char *text)
{
	char buf[LOG_LINE_SIZE] = "\n";
	const size_t skip = o->torn ? 1 : 0;
	const size_t n = skip + log_line_write(&(struct log_line){
		.level = LEVEL_WARNING,
		.when = log_line_now(),
		.raw = text,
		.cooked = text,
	}, atomic_load(&out.json), buf + skip, sizeof buf - skip);

	return log_out_write_all(o, buf, n) == n ? 0 : -1;
}

static int tell_entry(enum log_dest to, int like, const char *text)
{
	char buf[sizeof out.ident + 256];
	struct text t;

	text_init(&t, buf, sizeof buf);
	if (to == LOG_TO_SYSLOG)
		text_add_bytes(&t, out.ident, strlen(out.ident) + 1);
	text_add(&t, text);
	write_entry(to, &(struct log_record){
		.tag = (like & LOG_FACMASK) | LOG_WARNING,
		.len = t.len,
		.text = buf,
	});
	return 0;
}

/* In the form of the record that follows. */
static void log_out_tell_lost(enum log_dest to, int tag)
{
	struct output *const o = &out.outputs[to];
	char text[256];

	snprintf(text, sizeof text, "%lu log lines lost: %s", o->lost,
	    o->cause != 0 ? strerror(o->cause) :
	    "they came faster than they were read or written");
	if ((tag == LOG_PLAIN ? tell_line(o, text) :
	    tell_entry(to, tag, text)) == 0)
		o->lost = 0;
}

void log_out_write(enum log_dest to, const struct log_record *r)
{
	struct output *const o = &out.outputs[to];

	if (o->lost > 0)
		log_out_tell_lost(to, r->tag);
	if (r->tag == LOG_PLAIN)
		write_lines(o, r->text, r->len);
	else
		write_entry(to, r);
}

void log_out_lose(enum log_dest to, int tag, unsigned long n)
{
	struct output *const o = &out.outputs[to];

	if (o->lost == 0)
		o->cause = 0;
	o->lost += n;
	log_out_tell_lost(to, tag);
}

void log_out_put(enum log_dest to, const struct log_record *r)
{
	if (out.queue != NULL)
		out.queue->put(to, r);
	else
		log_out_write(to, r);
}
