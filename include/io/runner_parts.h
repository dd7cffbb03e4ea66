/* runner_parts.h - for the files of runner only.
 * SPDX-License-Identifier: ISC */
#ifndef IO_RUNNER_PARTS_H
#define IO_RUNNER_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "io/runner.h"

struct pollfd;

/* A word to the runner by its socket; RUNNER_ATTACH brings a descriptor. */
enum runner_word_kind { RUNNER_BECOME, RUNNER_ATTACH };
struct runner_word {
	enum runner_word_kind kind;
	uid_t uid;
	gid_t gid;
};

#define RUNNER_ORDER_HEAD offsetof(struct runner_order, words)
#define RUNNER_ANSWER_HEAD offsetof(struct runner_answer, text)

/* An order, and the command that runs for it. */
struct runner_job {
	struct runner_job *prev, *next;
	struct runner_order *order;	/* owned; cut behind its words */
	size_t subject;			/* bytes of its words */
	pid_t pid;			/* 0: it does not run yet */
	int out, err;			/* pipes, read by us; -1 */
	usec_t until;
	struct runner_answer *answer;	/* owned; NULL: it does not run yet */
	bool failed;			/* its end does not matter any more */
	char complaint[256];		/* the last line on stderr, cut */
	size_t complained;
	bool complaint_over;		/* another line would begin */
};

/* 0, or -1: j->answer says why it could not be started. */
int runner_job_start(struct runner_job *j);
/* What it has printed since; kills it if that is too much. */
void runner_job_read(struct runner_job *j);
/* Has it ended? Then j->answer is the result, and its group is gone. */
bool runner_job_ended(struct runner_job *j);
/* Time is up. */
void runner_job_kill(struct runner_job *j);
void runner_job_free(struct runner_job **j);

/* Sockets that keep messages apart; closed on exec. 0, or -1 with errno. */
int runner_pair(int ends[2]);
/* The process after the fork. */
_Noreturn void runner_main(int control);

#endif
