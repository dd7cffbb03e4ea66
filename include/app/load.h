/* load.h - the files of the configuration, read by a helper thread.
 * SPDX-License-Identifier: ISC */
#ifndef APP_LOAD_H
#define APP_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "base/time.h"

struct config;
struct load_job;
struct offload;
struct tls_setup;

/* A line for the log. */
struct load_line {
	struct load_line *next;
	enum log_level level;
	char text[];
};

#define LOAD_HUNG_MAX 3

/* Given up, with a thread each, which may yet come back. */
struct load_hung {
	struct load_job *at[LOAD_HUNG_MAX];	/* borrowed */
	unsigned count;
};

/* What is to be read. */
struct load_order {
	const char *path;
	struct config *prev;	/* in force: what is read is to follow it */
	const char *key, *value;	/* a setting that is tried; key NULL: none */
};

/* One reading, and what it comes to. */
struct load {
	bool running;		/* begun, and the result is not there yet */
	bool ready;		/* the result is there */
	struct config *prev;	/* counted: what was in force at the start */
	struct config *config;	/* counted; NULL: it failed, lines say why */
	struct tls_setup *tls;	/* owned; NULL as config is */
	struct load_line *lines;	/* owned; LL list */
	size_t hidden;		/* lines there is no room for */
	struct load_job *job;	/* borrowed: which reads; NULL: none */
	unsigned long steps;	/* of its watch, at the last look */
	usec_t still;		/* how long there has been no other */
	struct load_hung *hung;	/* borrowed: of all loads; stays */
};

/*
 * Read the file and all that it names, as a reload does. The loop goes on
 * meanwhile; l->ready is set on the loop, within this call where no thread can
 * be had: the loop itself never reads. The caller takes what it wants of the
 * result.
 * Returns 0, or -1: no memory.
 */
int load_start(struct load *l, struct offload *o,
    const struct load_order *what);
/*
 * Every LOAD_LOOK: a reading that has waited for one file for limit (0: none)
 * is given up, and l is ready with a line that names the file. The thread, and
 * what it holds, is lost until it comes back.
 */
#define LOAD_LOOK (USEC / 10)
void load_look(struct load *l, struct offload *o, usec_t limit);
/* Free what is left of a result; it can be started again. Not while running. */
void load_clear(struct load *l);

/* Drop a reference of one that may be the last, on a thread: it takes long. */
void load_forget(struct offload *o, struct config **c);

#endif
