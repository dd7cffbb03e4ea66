/* runner.h - a process of its own that runs commands and tells what they print.
 *
 * It is forked before this process has read anything, so no secret, no socket
 * and no descriptor of this process can get into a command.
 * SPDX-License-Identifier: ISC */
#ifndef IO_RUNNER_H
#define IO_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct loop;
struct runner_link;

#define RUNNER_TAG 32		/* bytes that tell an order from others */
#define RUNNER_SUBJECT 3	/* variables that are the subject of an order */
#define RUNNER_VARIABLES 4	/* all of the environment */
#define RUNNER_WORDS_MAX 16384
#define RUNNER_OUTPUT_MAX (65536 + 2)	/* 64 kB and the end of the line */

/*
 * Run a command. Its environment is the first RUNNER_VARIABLES words, and
 * nothing else. While a command runs for a subject (the first RUNNER_SUBJECT
 * words), no other one runs for it.
 */
struct runner_order {
	uint8_t tag[RUNNER_TAG];	/* of its words, all of them */
	usec_t limit;		/* to be killed after that; 0: never */
	bool fresh;		/* one that runs already will not do */
	uint16_t count;		/* of words: variables, then the argument vector */
	uint16_t bytes;		/* of words, each with its NUL */
	char words[RUNNER_WORDS_MAX];
};

/* What became of it; every link is told of every order. */
struct runner_answer {
	uint8_t tag[RUNNER_TAG];
	bool ok;		/* false: text says why, with a NUL */
	bool more;		/* the same is ordered again, and will run */
	uint32_t len;
	char text[RUNNER_OUTPUT_MAX + 1];
};

/*
 * Fork it, while this process is small and has one thread. It ends when no
 * process holds the socket any more.
 * Returns: a socket to it, or -1 with errno set.
 */
int runner_fork(void);
/* This process is another user now: so is the runner, from now on. 0 or -1. */
int runner_become(int runner);

/*
 * A way to the runner, for one loop. The runner may die and be replaced; what
 * was ordered then is lost, and gone() is called. answer() may touch the text.
 */
struct runner_ops {
	void (*answer)(void *arg, struct runner_answer *a);
	void (*gone)(void *arg);
};
/* NULL: there is no runner, or no memory. */
struct runner_link *runner_link_new(struct loop *l, int runner,
    const struct runner_ops *ops, void *arg);
void runner_link_free(struct runner_link **l);
/*
 * 0, or -1: it cannot be reached, or no memory. An order that the socket has no
 * room for is sent later; the caller has one order at a time for each tag.
 */
int runner_link_order(struct runner_link *l, const struct runner_order *o);

#endif
