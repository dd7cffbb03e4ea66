/* reasons.h - what time was spent for, by the functions that were called.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_REASONS_H
#define CTL_REASONS_H

#include <stdbool.h>
#include <stdint.h>

struct stacks;

enum reason {
	REASON_CPU,		/* off-CPU: another thread had it */
	REASON_EVENTS,
	REASON_LOCK,
	REASON_DISK,
	REASON_RECEIVE,
	REASON_SEND,
	REASON_CONNECT,
	REASON_TLS,
	REASON_LOGIN,
	REASON_PROTOCOL,
	REASON_POOLING,
	REASON_CONSOLE,
	REASON_LOOP,
	REASON_MEMORY,
	REASON_LOGGING,
	REASON_UPKEEP,
	REASON_OTHER,
	REASONS
};

/* As a table has it. */
const char *reason_name(enum reason r);

/*
 * Of a folded stack: the innermost function that is known decides; what
 * belongs to many, as the cipher of a library, only where no other is known.
 */
enum reason reason_of(const char *stack, bool off_cpu);

/* The sums of all. */
void reasons_sum(const struct stacks *s, bool off_cpu, uint64_t sums[REASONS]);

#endif
