/* sigmask.c - signals while there is no loop to hear them.
 * SPDX-License-Identifier: ISC */
#include "app/sigmask.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* The signals that the loop is to hear. (spec/config-files.md section 19) */
static const int endings[] = { SIGTERM, SIGINT, SIGQUIT };
static const int others[] = { SIGHUP, SIGUSR1, SIGUSR2 };

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* how: SIG_BLOCK or SIG_UNBLOCK. */
static void set_mask(int how, bool all)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < COUNT(others); i++)
		sigaddset(&set, others[i]);
	for (size_t i = 0; all && i < COUNT(endings); i++)
		sigaddset(&set, endings[i]);
	sigprocmask(how, &set, NULL);
}

/* A buildpack starts the pooler with SIGTERM ignored, and sends it to all. */
bool sigmask_is_ignored(int signo)
{
	struct sigaction now;

	return signo == SIGTERM && sigaction(signo, NULL, &now) == 0 &&
	    now.sa_handler == SIG_IGN;
}

static void set_endings(void (*handler)(int))
{
	for (size_t i = 0; i < COUNT(endings); i++) {
		if (!sigmask_is_ignored(endings[i]))
			(void)signal(endings[i], handler);
	}
}

static void on_early(int signo)
{
	(void)signo;
	_exit(0);
}

void sigmask_early(void)
{
	set_endings(on_early);
	set_mask(SIG_BLOCK, false);
}

void sigmask_open(void)
{
	set_mask(SIG_UNBLOCK, true);
}

void sigmask_late(void)
{
	set_mask(SIG_BLOCK, true);
}

void sigmask_forget(void)
{
	set_endings(SIG_DFL);
	set_mask(SIG_UNBLOCK, true);
}
