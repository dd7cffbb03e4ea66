/* log.c - one event, one line; to stderr, a file and syslog.
 * SPDX-License-Identifier: ISC */
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "base/log_line.h"
#include "base/log_out.h"
#include "base/mem.h"
#include "base/text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define LAST_MS 1000	/* time for writing the last lines */
#define EARLY_MAX 1000	/* lines kept until their destinations are known */

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

/* A line from before the destinations were known. */
struct early {
	struct early *prev, *next;
	enum log_level level;
	struct timespec when;
	size_t cooked;		/* where that begins, behind the raw text */
	char text[];
};

/*
 * Of the sink, once several threads log: log_share() makes it. A line may tell of the
 * log itself.
 */
static pthread_mutex_t lock;

/* The one sink of the process. Under the lock, if shared; verbose is not. */
static struct {
	atomic_int verbose;
	bool shared;	/* set before there are several */
	bool quiet;
	bool journal; /* stderr leads to the systemd journal */
	bool to_entries; /* else lines with a priority */
	bool json;
	bool use_syslog;
	bool file_stale; /* to be opened before the next line */
	int facility;
	bool keep;	/* new lines are early */
	struct early *early; /* DL list, owned, oldest first */
	unsigned early_count;
	char ident[128];
	/* One byte past the longest path, so that a cut one can't be opened. */
	char file[PATH_MAX + 1];
	void (*tap)(void *arg, const struct log_line *l);
	void *tap_arg;
	void (*test_sink)(enum log_level level, const char *line);
} sink = { .facility = LOG_DAEMON };

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

void log_enter(void)
{
	if (sink.shared)
		pthread_mutex_lock(&lock);
}

void log_leave(void)
{
	if (sink.shared)
		pthread_mutex_unlock(&lock);
}

void log_share(void)
{
	pthread_mutexattr_t kind;

	if (sink.shared)
		return;
	pthread_mutexattr_init(&kind);
	pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&lock, &kind);
	pthread_mutexattr_destroy(&kind);
	sink.shared = true;
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
	log_enter();
	log_out_setup(&(struct log_out_opts){
		.json = opts->json,
		.journal = opts->journal,
	});
	sink.keep = opts->early;
	atomic_store_explicit(&sink.verbose, opts->verbose,
	    memory_order_relaxed);
	sink.quiet = opts->quiet;
	sink.json = opts->json;
	sink.journal = stderr_is_journal();
	sink.to_entries = opts->journal != NULL;
	sink.use_syslog = opts->syslog;
	sink.facility = facility_code(opts->syslog_facility);
	text_copy(sink.ident, sizeof sink.ident,
	    opts->syslog_ident != NULL ? opts->syslog_ident : "");
	text_copy(sink.file, sizeof sink.file,
	    opts->file != NULL ? opts->file : "");
	sink.file_stale = sink.file[0] != '\0';
	if (!sink.file_stale)
		(void)log_out_open(NULL);
	log_leave();
}

bool log_wants(enum log_level level)
{
	return level <= LEVEL_INFO ||
	    atomic_load_explicit(&sink.verbose, memory_order_relaxed) >=
	    (int)level - (int)LEVEL_INFO;
}

static _Noreturn void file_failed(int cause)
{
	const struct timespec now = log_line_now();
	char buf[PATH_MAX + 256], stamp[64];
	struct text line;

	text_init(&line, buf, sizeof buf);
	text_addf(&line, "%s [%ld] FATAL Cannot open logfile: '%s': %s\n",
	    log_line_time(&now, false, stamp, sizeof stamp), (long)getpid(),
	    sink.file, strerror(cause));
	(void)!write(STDERR_FILENO, line.at, line.len);
	exit(1);
}

/*
 * The next line is for another file, or for the same one opened again. Once
 * the process is up a file that can't be opened is no reason to end it.
 */
static void open_file(void)
{
	const int rc = log_out_open(sink.file);
	const int cause = errno;

	sink.file_stale = false;
	if (rc == 0)
		return;
	if (!log_out_is_queued())
		file_failed(cause);
	log_error("Cannot open logfile: '%s': %s", sink.file,
	    strerror(cause));
}

static void log_put(enum log_dest to, int tag, const struct text *t)
{
	log_out_put(to, &(struct log_record){
		.tag = tag,
		.len = t->len,
		.text = t->at,
	});
}

static void to_syslog(const struct log_line *l)
{
	char buf[LOG_COOKED_SIZE + sizeof sink.ident + 1];
	struct text out;

	text_init(&out, buf, sizeof buf);
	text_add_bytes(&out, sink.ident, strlen(sink.ident) + 1);
	text_add_bytes(&out, l->cooked, strlen(l->cooked) + 1);
	log_put(LOG_TO_SYSLOG, sink.facility | log_line_priority(l->level),
	    &out);
}

/* sd-daemon(3): a line starts with its priority; time and pid are known. */
static void to_journal(const struct log_line *l)
{
	char buf[3 * LOG_COOKED_SIZE];
	struct text out;
	size_t n;

	text_init(&out, buf, sizeof buf);
	if (sink.to_entries) {
		text_add_bytes(&out, l->cooked, strlen(l->cooked) + 1);
		log_put(LOG_TO_STDERR, log_line_priority(l->level), &out);
		return;
	}
	for (const char *at = l->cooked; *at != '\0'; at += n + (at[n] != 0)) {
		n = strcspn(at, "\n");
		text_addf(&out, "<%d>%.*s\n", log_line_priority(l->level),
		    (int)n, at);
	}
	log_put(LOG_TO_STDERR, LOG_PLAIN, &out);
}

static void to_lines(enum log_dest to, const struct log_line *l)
{
	char buf[LOG_LINE_SIZE];
	const struct text line = { .at = buf, .size = sizeof buf,
		.len = log_line_write(l, sink.json, buf, sizeof buf) };

	log_put(to, LOG_PLAIN, &line);
}

/* Where lines stay. */
static void to_record(const struct log_line *l)
{
	if (sink.use_syslog && l->level <= LEVEL_INFO)
		to_syslog(l);
	if (sink.file_stale)
		open_file();
	if (sink.file[0] != '\0')
		to_lines(LOG_TO_FILE, l);
}

/* Without memory the line is on stderr only. */
static void keep_early(const struct log_line *l)
{
	const size_t raw = strlen(l->raw) + 1, cooked = strlen(l->cooked) + 1;
	struct early *const e = sink.early_count >= EARLY_MAX ? NULL :
	    mem_alloc(sizeof *e + raw + cooked);

	if (e == NULL)
		return;
	e->level = l->level;
	e->when = l->when;
	e->cooked = raw;
	memcpy(e->text, l->raw, raw);
	memcpy(e->text + raw, l->cooked, cooked);
	DL_APPEND(sink.early, e);
	sink.early_count++;
}

static void tell_early(void)
{
	struct early *e, *next;

	DL_FOREACH_SAFE(sink.early, e, next) {
		to_record(&(struct log_line){ .level = e->level,
			.when = e->when, .raw = e->text,
			.cooked = e->text + e->cooked });
		mem_free(e);
	}
	sink.early = NULL;
	sink.early_count = 0;
}

static void log_deliver(const struct log_line *l)
{
	if (sink.tap != NULL)
		sink.tap(sink.tap_arg, l);
	if (!sink.quiet && sink.journal)
		to_journal(l);
	else if (!sink.quiet)
		to_lines(LOG_TO_STDERR, l);
	if (sink.keep) {
		keep_early(l);
		return;
	}
	if (sink.early != NULL)
		tell_early();
	to_record(l);
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
	char raw[LOG_MESSAGE_SIZE], cooked[LOG_COOKED_SIZE];
	struct text message;
	struct log_facts facts = { .traceparent = NULL };
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
	log_line_cook(raw, message.len, cooked, sizeof cooked);

	log_enter();
	if (sink.test_sink != NULL)
		sink.test_sink(level, cooked);
	else
		log_deliver(&(struct log_line){ .level = level,
			.when = log_line_now(),
			.who = who != NULL ? &facts : NULL,
			.raw = raw + prefix, .cooked = cooked });
	log_leave();
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
	log_flush();
	exit(1);
}

void log_flush(void)
{
	log_out_flush(LAST_MS);
}

void log_settle(void)
{
	log_enter();
	log_out_settle(LOG_TO_FILE);
	log_leave();
}

void log_set_tap(void (*fn)(void *arg, const struct log_line *l), void *arg)
{
	log_enter();
	sink.tap = fn;
	sink.tap_arg = arg;
	log_leave();
}

void log_set_sink(void (*fn)(enum log_level level, const char *line))
{
	sink.test_sink = fn;
}
