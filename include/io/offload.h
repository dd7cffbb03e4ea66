/* offload.h - work that would block the loop: done by threads, told on the
 * loop.
 * SPDX-License-Identifier: ISC */
#ifndef IO_OFFLOAD_H
#define IO_OFFLOAD_H

#include <stdbool.h>

struct loop;
struct offload;
struct offload_job;

/*
 * Each kind of work has threads and a queue of its own, so that a directory
 * that does not answer holds up only jobs that ask this directory.
 */
enum offload_lane {
	OFFLOAD_DERIVE,		/* PBKDF2 of stored passwords, for logins */
	OFFLOAD_TYPED,		/* PBKDF2 of passwords that clients sent */
	OFFLOAD_PAM,
	OFFLOAD_LDAP,
	OFFLOAD_GSS,		/* steps of GSSAPI with clients: the keytab */
	OFFLOAD_GSS_SERVERS,	/* ... with servers: the KDC, which may be slow */
	OFFLOAD_OAUTH,		/* tokens, and the files of their keys */
	OFFLOAD_NAMES,		/* of OS users */
	OFFLOAD_TLS,		/* handshakes with a long key */
	OFFLOAD_CONFIG,		/* reading one, freeing the last */
	OFFLOAD_PERSIST,	/* writing one setting */
	OFFLOAD_TLS_FILES,	/* looking whether they have changed */
	OFFLOAD_PASSWORD,	/* reading the file of one for a server */
	OFFLOAD_LANES
};

struct offload_ops {
	/* On a thread: touches the job, and neither log, clock nor sessions. */
	void (*work)(struct offload_job *j);
	/* On the loop, when the work is done; not for a job cancelled. */
	void (*done)(struct offload_job *j);
	/* On the loop; the last call for j, whatever became of the job. */
	void (*free)(struct offload_job *j);
};

/* Embedded in what a job needs; but for ops private to offload.c. */
struct offload_job {
	const struct offload_ops *ops;
	struct offload_job *prev, *next;
	enum offload_lane lane;
	bool queued;		/* under the lock: no thread has it yet */
	bool cancelled;		/* seen by the loop only */
};

enum offload_answer {
	OFFLOAD_TAKEN,
	OFFLOAD_FULL,		/* the queue of the lane is */
	OFFLOAD_NO_THREAD,	/* none runs, none can be started */
};

/*
 * No thread is started before there is work. From now on loop_offload() is it.
 * NULL: no memory, no fd.
 */
struct offload *offload_new(struct loop *l);

/*
 * Queued jobs are dropped, running ones are given a moment.
 * Returns false when a thread is stuck in a library: all that it may touch
 * stays then, and the process must leave by _exit(), without atexit handlers.
 */
bool offload_free(struct offload **o);

/* From now on: so many threads at most, and so many jobs that wait for one. */
void offload_limit(struct offload *o, enum offload_lane lane, int threads,
    int queue);

/* Unless it was taken, j stays the caller's. */
enum offload_answer offload_submit(struct offload *o, enum offload_lane lane,
    struct offload_job *j);

/* Does j, which was taken, still wait for a thread? */
bool offload_is_queued(struct offload *o, const struct offload_job *j);

/* Nobody wants the result any more; j may be gone when this returns. */
void offload_cancel(struct offload *o, struct offload_job *j);

#endif
