/* log_out.h - the destinations of the log: stderr, a file, syslog.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_LOG_OUT_H
#define BASE_LOG_OUT_H

#include <stdbool.h>
#include <stddef.h>

enum log_dest {
	LOG_TO_STDERR,	/* or the journal, if stderr leads there */
	LOG_TO_FILE,
	LOG_TO_SYSLOG,
	LOG_DESTS
};

#define LOG_PLAIN (-1)	/* tag of whole lines, which end with a newline */

/* What one destination gets: lines, or an entry of the journal or syslog. */
struct log_record {
	int tag;		/* LOG_PLAIN, or the entry's priority */
	size_t len;
	const char *text;	/* entries end with NUL; syslog: ident first */
};

/*
 * The thread that writes, so that nobody waits for a disk or a reader: see
 * io/log_thread.h. Without it log_out_put() writes itself, and waits.
 */
struct log_queue {
	void (*put)(enum log_dest to, const struct log_record *r);
	void (*flush)(int ms);
	void (*settle)(enum log_dest to);
};
void log_out_set_queue(const struct log_queue *q);
bool log_out_is_queued(void);
/* Wait until all there is was written, but no longer than ms. */
void log_out_flush(int ms);
/* Likewise, what there is for one, and no longer than whoever waits for this
 * thread can bear. */
void log_out_settle(enum log_dest to);

struct log_out_opts {
	bool json;	/* for the lines that tell of lost lines */
	void (*journal)(int priority, const char *message);	/* or NULL */
};
void log_out_setup(const struct log_out_opts *opts);

/*
 * Append to this file from now on; NULL: to none. Returns 0, or -1 with errno:
 * then everything stays as it was.
 */
int log_out_open(const char *path);

/* Hand r over; r is copied. */
void log_out_put(enum log_dest to, const struct log_record *r);

/*
 * Write r; waits as long as it takes. For the one thread that writes to this
 * destination. What fails is counted, and told when writing works again.
 */
void log_out_write(enum log_dest to, const struct log_record *r);
/* n lines never came so far, after one with this tag: tell. */
void log_out_lose(enum log_dest to, int tag, unsigned long n);

#endif
