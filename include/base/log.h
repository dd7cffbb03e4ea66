/* log.h - one event, one line; to stderr, a file and syslog.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>

/* The words and priorities of spec/logging.md section 2. */
enum log_level {
	LEVEL_FATAL,   /* the process ends; see log_fatal() */
	LEVEL_ERROR,   /* the operator acts */
	LEVEL_WARNING, /* have a look */
	LEVEL_INFO,    /* "LOG": life cycle and statistics */
	LEVEL_DEBUG,   /* verbose >= 1 */
	LEVEL_NOISE,   /* verbose >= 2 */
};

/*
 * Whom a line is about: "C-0x55d0c8f0a300: shop/ann@10.0.0.7:51034 " in text
 * (section 3), members of the object in JSON.
 */
struct log_facts {
	char side;		/* 'C', 'S' */
	const void *object;
	int peer;		/* id; 0 = none, and these two count: */
	const char *database, *user;	/* "(nodb)", "(nouser)": not known */
	char address[64];	/* "10.0.0.7:51034" */
	const char *traceparent;	/* of what it does now; NULL; JSON only */
};

/* Embedded in client and server. */
struct log_who {
	void (*describe)(const struct log_who *who, struct log_facts *out);
};

struct log_opts {
	int verbose;	  /* 0, 1, 2 */
	bool quiet;	  /* nothing on stderr */
	bool early;	  /* file and syslog are not known yet: lines are kept
			     for the destinations that the next call names */
	bool json;	  /* stderr and file: one object a line */
	const char *file; /* NULL or "" = none; copied */
	bool syslog;
	const char *syslog_ident;    /* copied */
	const char *syslog_facility; /* name; an unknown one means daemon */
	/* Writes one entry of the journal, if stderr leads there; or NULL:
	 * lines with their priority in front are written then. */
	void (*journal)(int priority, const char *message);
};

/* May be called again: the file is opened anew for the next line. */
void log_setup(const struct log_opts *opts);

/* Would a line of this level be written? For costly arguments. */
bool log_wants(enum log_level level);

/*
 * Write one line; who may be NULL. Never fails, except that a log file that
 * can't be opened ends a process that is not up yet with status 1 (section 1).
 * With io/log_thread.h log_at() never waits either.
 */
void log_at(enum log_level level, const struct log_who *who, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));
void log_vat(enum log_level level, const struct log_who *who, const char *fmt,
    va_list ap) __attribute__((format(printf, 3, 0)));

/* Log at FATAL and exit(1). For start-up problems. */
_Noreturn void log_fatal(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* Wait until all is written, but not for ever: the process is about to end. */
void log_flush(void);

#define log_error(...) log_at(LEVEL_ERROR, NULL, __VA_ARGS__)
#define log_warning(...) log_at(LEVEL_WARNING, NULL, __VA_ARGS__)
#define log_info(...) log_at(LEVEL_INFO, NULL, __VA_ARGS__)
#define log_debug(...) log_at(LEVEL_DEBUG, NULL, __VA_ARGS__)

/*
 * Wait until the file has all lines so far, but not long: whoever has got an
 * answer finds there what it is about. Costs nothing when none is on its way.
 */
void log_settle(void);

/* Several threads are about to log: from now on they take turns. */
void log_share(void);

struct log_line;
/* Nobody logs in between: for who reads what a tap writes. */
void log_enter(void);
void log_leave(void);
/* Each line goes to fn as well, which must not log; NULL ends it. */
void log_set_tap(void (*fn)(void *arg, const struct log_line *l), void *arg);

/* Unit tests: lines go to fn (without time and pid) instead; NULL ends it. */
void log_set_sink(void (*fn)(enum log_level level, const char *line));

#endif
