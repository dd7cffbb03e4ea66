/* takeover_talk.h - the console of another process, seen by its client.
 * SPDX-License-Identifier: ISC */
#ifndef APP_TAKEOVER_TALK_H
#define APP_TAKEOVER_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* Columns of SHOW FDS that we read. */
enum talk_column {
	TALK_FD, TALK_TASK, TALK_USER, TALK_DATABASE, TALK_LINK,
	TALK_PASSWORD, TALK_CLIENT_KEY, TALK_STATE,
	TALK_COLUMNS
};

/* A blocking connection; all zero but for the descriptors to begin. */
struct talk {
	int sock;		/* owned */
	uint8_t *buf;		/* owned: bytes received */
	size_t size, len, used;	/* used: of the message told last */
	int *fds;		/* owned: descriptors received, in order */
	size_t fd_count, fd_size, fd_used;
	int columns[TALK_COLUMNS];	/* where they are; -1 = nowhere */
	pid_t pid;		/* the process that answers; 0: not known */
	int pidfd;		/* owned: the same; -1 */
	bool refused;		/* it has sent an error */
};

struct talk_message {
	char type;
	const uint8_t *body;	/* valid until the next call */
	size_t len;
};

/* A DataRow; values are NUL terminated copies in its own bytes. */
struct talk_row {
	char *value[TALK_COLUMNS];	/* NULL: SQL NULL */
};

void talk_fini(struct talk *t);

/*
 * Connect to the process at the Unix socket path, which must be ours as its
 * file must be: others could hand us what they like. 0, or -1 with e.
 */
int talk_open(struct talk *t, const char *path, struct err *e);
/* Give up (e) what takes longer; 0: never. */
int talk_limit(const struct talk *t, int seconds, struct err *e);

/* Each 0, or -1 with e: what the other said, or that it is gone. */
int talk_login(struct talk *t, struct err *e);
int talk_ask(struct talk *t, const char *command, struct err *e);
/* An ErrorResponse is an error here. */
int talk_next(struct talk *t, struct talk_message *out, struct err *e);
/* Ask, and wait for its end. */
int talk_command(struct talk *t, const char *command, struct err *e);
/* Has the process ended the connection? What it says is not read any more. */
bool talk_is_over(const struct talk *t);
/*
 * Has the process ended, without having refused us? Then nobody else has what
 * it gave us. Waits for some seconds for what is under way.
 */
bool talk_is_orphaned(struct talk *t);

/* The oldest descriptor that came and was not taken; -1: none. */
int talk_take_fd(struct talk *t);

int talk_learn_columns(struct talk *t, const struct talk_message *m,
    struct err *e);
/* Cuts body, of len bytes and room for one more, into values. 0 or -1. */
int talk_parse_row(const struct talk *t, uint8_t *body, size_t len,
    struct talk_row *out);

static inline const char *talk_value(const struct talk_row *r,
    enum talk_column c)
{
	return r->value[c];
}
int64_t talk_number(const struct talk_row *r, enum talk_column c);
/* A bytea: at most size bytes of it, how many there are; 0: NULL, or broken. */
size_t talk_bytes(const struct talk_row *r, enum talk_column c, uint8_t *out,
    size_t size);
/* The same on the heap; NULL: NULL, broken, or no memory. */
uint8_t *talk_heap_bytes(const struct talk_row *r, enum talk_column c,
    size_t *len);

#endif
