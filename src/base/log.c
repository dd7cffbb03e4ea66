/* log.c - one event, one line; to stderr, a file and syslog.
 * SPDX-License-Identifier: ISC */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "base/log_json.h"
#include "base/mem.h"
#include "base/text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define STUCK_MS 200	     /* that a reader may keep us waiting, once */
#define MESSAGE_SIZE 2048	     /* prefix and message are cut at 2047 */
#define LINE_SIZE (2 * MESSAGE_SIZE) /* if each byte were a newline */
#define EARLY_MAX 1000	     /* lines kept until it is known where to */

static const struct {
	const char *word;
	int priority; /* syslog's */
} levels[] = {
	[LEVEL_FATAL] = { "FATAL", LOG_CRIT },
	[LEVEL_ERROR] = { "ERROR", LOG_ERR },
	[LEVEL_WARNING] = { "WARNING", LOG_WARNING },
	[LEVEL_INFO] = { "LOG", LOG_INFO },
	[LEVEL_DEBUG] = { "DEBUG", LOG_DEBUG },
	[LEVEL_NOISE] = { "NOISE", LOG_DEBUG },
};

static const struct {
	const char *name;
	int code;
} facilities[] = {
	{ "auth", LOG_AUTH },
	{ "authpriv", LOG_AUTHPRIV },
	{ "daemon", LOG_DAEMON },
	{ "user", LOG_USER },
	{ "local0", LOG_LOCAL0 },
	{ "local1", LOG_LOCAL1 },
	{ "local2", LOG_LOCAL2 },
	{ "local3", LOG_LOCAL3 },
	{ "local4", LOG_LOCAL4 },
	{ "local5", LOG_LOCAL5 },
	{ "local6", LOG_LOCAL6 },
	{ "local7", LOG_LOCAL7 },
};

/* Where lines go. */
struct output {
	int fd;		/* -1 = not open */
	bool known;	/* what kind of file it is */
	bool may_block;
	unsigned long lost;	/* lines, since somebody read the last one */
};

/* A line from before it was known where lines go. */
struct early {
	struct early *prev, *next;
	enum log_level level;
	struct timespec when;
	size_t cooked;		/* where that begins, behind the raw text */
	char text[];
};

/* The one sink of the process; used by the loop's thread only. */
static struct {
	int verbose;
	bool quiet;
	bool journal; /* stderr leads to the systemd journal */
	void (*to_journal)(int priority, const char *message); /* or NULL */
	bool json;
	bool use_syslog;
	bool syslog_open;
	struct output err, file_out;
	int facility;
	bool keep;	/* what comes is early */
	struct early *early; /* DL list, owned, oldest first */
	unsigned early_count;
	char ident[128];
	/* One byte past the longest path, so that a cut one can't be opened. */
	char file[PATH_MAX + 1];
	void (*test_sink)(enum log_level level, const char *line);
} sink = { .err.fd = STDERR_FILENO, .file_out.fd = -1,
	.facility = LOG_DAEMON };

/* systemd.exec(5), JOURNAL_STREAM: "<device>:<inode>" of stderr */
static bool stderr_is_journal(void)
{
	const char *const stream = getenv("JOURNAL_STREAM");
	char mine[64];
	struct stat st;

	if (stream == NULL || fstat(STDERR_FILENO, &st) != 0)
		return false;
	snprintf(mine, sizeof mine, "%ju:%ju", (uintmax_t)st.st_dev,
	    (uintmax_t)st.st_ino);
	return strcmp(mine, stream) == 0;
}

static int facility_code(const char *name)
{
	for (size_t i = 0; name != NULL && i < COUNT(facilities); i++) {
		if (strcmp(name, facilities[i].name) == 0)
			return facilities[i].code;
	}
	return LOG_DAEMON;
}

void log_setup(const struct log_opts *opts)
{
	if (sink.file_out.fd >= 0)
		close(sink.file_out.fd);
	if (sink.syslog_open)
		closelog();
	sink.file_out = (struct output){ .fd = -1 };
	sink.err.known = false;
	sink.syslog_open = false;

	sink.keep = opts->early;
	sink.verbose = opts->verbose;
	sink.quiet = opts->quiet;
	sink.json = opts->json;
	sink.journal = stderr_is_journal();
	sink.to_journal = opts->journal;
	sink.use_syslog = opts->syslog;
	sink.facility = facility_code(opts->syslog_facility);
	text_copy(sink.ident, sizeof sink.ident,
	    opts->syslog_ident != NULL ? opts->syslog_ident : "");
	text_copy(sink.file, sizeof sink.file,
	    opts->file != NULL ? opts->file : "");
}

bool log_wants(enum log_level level)
{
	return level <= LEVEL_INFO ||
	    sink.verbose >= (int)level - (int)LEVEL_INFO;
}

/* There is nobody left to tell when this fails. */
static void write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		const ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		p += done;
		n -= (size_t)done;
	}
}

/* Would a write of a page block for longer than ms? */
static bool is_stuck(const struct output *o, int ms)
{
	struct pollfd p = { .fd = o->fd, .events = POLLOUT };

	return poll(&p, 1, ms) == 0;
}

/* Nobody reads the other end: the loop must not wait for him for ever. */
static bool must_drop(struct output *o)
{
	struct stat st;

	if (!o->known) {
		o->may_block = fstat(o->fd, &st) == 0 &&
		    !S_ISREG(st.st_mode);
		o->known = true;
	}
	return o->may_block && is_stuck(o, o->lost > 0 ? 0 : STUCK_MS);
}

static void output_write(struct output *o, const char *p, size_t n)
{
	while (n > 0) {
		/* a pipe that takes anything takes a page */
		const size_t part = n < PIPE_BUF ? n : PIPE_BUF;

		if (must_drop(o)) {
			o->lost++;
			return;
		}
		write_all(o->fd, p, part);
		p += part;
		n -= part;
	}
}

static struct timespec clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now;
}

/* "2026-01-31 09:05:00.123 UTC" */
static void add_timestamp(struct text *out, const struct timespec *at)
{
	struct tm tm;
	char day[32] = "", zone[32] = "";

	if (localtime_r(&at->tv_sec, &tm) != NULL) {
		strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &tm);
		strftime(zone, sizeof zone, "%Z", &tm);
	}
	text_addf(out, "%s.%03ld %s", day, at->tv_nsec / 1000000, zone);
}

/* RFC 3339: "2026-01-31T09:05:00.123+00:00" */
static void add_json_time(struct text *out, const struct timespec *at)
{
	struct tm tm;
	char day[32] = "", zone[8] = "";

	if (localtime_r(&at->tv_sec, &tm) != NULL) {
		strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
		strftime(zone, sizeof zone, "%z", &tm);
	}
	text_addf(out, "%s.%03ld%.3s:%s", day, at->tv_nsec / 1000000, zone,
	    strlen(zone) > 3 ? zone + 3 : "");
}

static _Noreturn void file_failed(int cause)
{
	const struct timespec now = clock_now();
	char buf[PATH_MAX + 256];
	struct text line;

	text_init(&line, buf, sizeof buf);
	add_timestamp(&line, &now);
	text_addf(&line, " %ld FATAL Cannot open logfile: '%s': %s\n",
	    (long)getpid(), sink.file, strerror(cause));
	write_all(STDERR_FILENO, line.at, line.len);
	exit(1);
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Section 2, "multi-line messages"; no other control byte gets through. */
static void add_message(struct text *out, const struct text *message)
{
	bool multi = false;

	for (size_t i = 0; i < message->len; i++) {
		const char c = message->at[i];

		if (c == '\n') {
			multi = true;
			text_add(out, "\n\t");
		} else if (((unsigned char)c < ' ' && !is_blank(c)) ||
		    c == '\177') {
			text_add(out, "?");
		} else {
			text_add_bytes(out, &c, 1);
		}
	}
	while (multi && out->len > 0 && is_blank(out->at[out->len - 1]))
		out->at[--out->len] = '\0';
}

static void to_syslog(enum log_level level, const char *message)
{
	if (!sink.syslog_open) {
		openlog(sink.ident, LOG_PID, sink.facility);
		sink.syslog_open = true;
	}
	syslog(levels[level].priority, "%s", message);
}

/* sd-daemon(3): a line starts with its priority; time and pid are known. */
static void to_journal(enum log_level level, const char *message)
{
	char buf[3 * LINE_SIZE];
	struct text out;
	size_t n;

	if (sink.to_journal != NULL) {
		sink.to_journal(levels[level].priority, message);
		return;
	}
	text_init(&out, buf, sizeof buf);
	for (const char *at = message; *at != '\0'; at += n + (at[n] != 0)) {
		n = strcspn(at, "\n");
		text_addf(&out, "<%d>%.*s\n", levels[level].priority, (int)n,
		    at);
	}
	output_write(&sink.err, out.at, out.len);
}

static void open_file(void)
{
	if (sink.file_out.fd >= 0)
		return;
	/* a named pipe must have a reader, and is not waited for either */
	sink.file_out.fd = open(sink.file,
	    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
	if (sink.file_out.fd < 0)
		file_failed(errno);
}

/* A line, or its beginning: what there is of it in the form that is set. */
struct message {
	enum log_level level;
	struct timespec when;
	const struct log_facts *who;	/* NULL: nobody */
	const char *raw;	/* without prefix */
	const char *cooked;	/* with prefix, of printable lines */
};

static void make_text(const struct message *m, struct text *out)
{
	add_timestamp(out, &m->when);
	text_addf(out, " [%ld] %s %s\n", (long)getpid(),
	    levels[m->level].word, m->cooked);
}

static void make_line(const struct message *m, struct text *out)
{
	char buf[64];
	struct text stamp;

	text_init(&stamp, buf, sizeof buf);
	if (sink.json) {
		add_json_time(&stamp, &m->when);
		out->len = log_json_write(&(struct log_event){
			.time = buf,
			.level = levels[m->level].word,
			.who = m->who,
			.message = m->raw,
		}, out->at, out->size);
	}
	if (out->len == 0)
		make_text(m, out);
}

static void put_line(struct output *o, const struct message *m)
{
	char buf[LINE_SIZE + 512];
	struct text line;

	text_init(&line, buf, sizeof buf);
	make_line(m, &line);
	output_write(o, line.at, line.len);
}

/* Somebody reads again: he is told what he has missed. */
static void tell_lost(struct output *o)
{
	char text[64];

	if (o->lost == 0 || must_drop(o))
		return;
	snprintf(text, sizeof text, "%lu lines of the log are lost: nobody "
	    "read it", o->lost);
	o->lost = 0;
	put_line(o, &(struct message){ .level = LEVEL_WARNING,
	    .when = clock_now(), .raw = text, .cooked = text });
}

static void to_output(struct output *o, const struct message *m)
{
	tell_lost(o);
	put_line(o, m);
}

/* Where lines stay. */
static void to_record(const struct message *m)
{
	if (sink.use_syslog && m->level <= LEVEL_INFO)
		to_syslog(m->level, m->cooked);
	if (sink.file[0] == '\0')
		return;
	open_file();
	to_output(&sink.file_out, m);
}

/* Without memory it is on stderr only. */
static void keep(const struct message *m)
{
	const size_t raw = strlen(m->raw) + 1, cooked = strlen(m->cooked) + 1;
	struct early *const e = sink.early_count >= EARLY_MAX ? NULL :
	    mem_alloc(sizeof *e + raw + cooked);

	if (e == NULL)
		return;
	e->level = m->level;
	e->when = m->when;
	e->cooked = raw;
	memcpy(e->text, m->raw, raw);
	memcpy(e->text + raw, m->cooked, cooked);
	DL_APPEND(sink.early, e);
	sink.early_count++;
}

static void tell_early(void)
{
	struct early *e, *next;

	DL_FOREACH_SAFE(sink.early, e, next) {
		to_record(&(struct message){ .level = e->level,
			.when = e->when, .raw = e->text,
			.cooked = e->text + e->cooked });
		mem_free(e);
	}
	sink.early = NULL;
	sink.early_count = 0;
}

static void deliver(const struct message *m)
{
	if (!sink.quiet && sink.journal)
		to_journal(m->level, m->cooked);
	else if (!sink.quiet)
		to_output(&sink.err, m);
	if (sink.keep) {
		keep(m);
		return;
	}
	if (sink.early != NULL)
		tell_early();
	to_record(m);
}

/* (section 3) */
static void add_prefix(struct text *out, const struct log_facts *f)
{
	if (f->peer != 0)
		text_addf(out, "%c-%p: peer-%d@%s ", f->side, f->object,
		    f->peer, f->address);
	else
		text_addf(out, "%c-%p: %s/%s@%s ", f->side, f->object,
		    f->database, f->user, f->address);
}

void log_vat(enum log_level level, const struct log_who *who, const char *fmt,
    va_list ap)
{
	char raw[MESSAGE_SIZE], cooked[LINE_SIZE];
	struct text message, out;
	struct log_facts facts;
	const int saved = errno;
	size_t prefix = 0;

	if (!log_wants(level))
		return;

	text_init(&message, raw, sizeof raw);
	if (who != NULL) {
		who->describe(who, &facts);
		add_prefix(&message, &facts);
		prefix = message.len;
	}
	text_vaddf(&message, fmt, ap);
	text_init(&out, cooked, sizeof cooked);
	add_message(&out, &message);

	if (sink.test_sink != NULL)
		sink.test_sink(level, out.at);
	else
		deliver(&(struct message){ .level = level,
			.when = clock_now(),
			.who = who != NULL ? &facts : NULL,
			.raw = raw + prefix, .cooked = cooked });
	errno = saved;
}

void log_at(enum log_level level, const struct log_who *who, const char *fmt,
    ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vat(level, who, fmt, ap);
	va_end(ap);
}

void log_fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vat(LEVEL_FATAL, NULL, fmt, ap);
	va_end(ap);
	exit(1);
}

void log_set_sink(void (*fn)(enum log_level level, const char *line))
{
	sink.test_sink = fn;
}
