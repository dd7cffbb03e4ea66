/* command.h - the commands of pgsluicectl: one row each.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_COMMAND_H
#define CTL_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/time.h"

/* Exit codes. */
enum { CTL_OK, CTL_FAILED, CTL_USAGE, CTL_UNREACHABLE, CTL_UNHEALTHY };

/* Which options a command takes. */
enum {
	TAKES_SECRET = 1 << 0,		/* --iterations, --no-password */
	TAKES_CONFIG = 1 << 1,
	TAKES_FORM = 1 << 2,		/* --json, --csv */
	TAKES_WATCH = 1 << 3,
	TAKES_TIMEOUT = 1 << 4,
	TAKES_CONSOLE = 1 << 5,		/* --dbname, --username */
	TAKES_PLACE = TAKES_CONFIG | TAKES_CONSOLE,
	TAKES_PROFILE = 1 << 6,		/* --seconds, --pid and so on */
};

enum ctl_form { FORM_TABLE, FORM_JSON, FORM_CSV };

/* Values of the command line's options. */
struct ctl_options {
	const char *program;	/* as it was called */
	const char *verb;	/* the group of the command that runs */
	int iterations;		/* of SCRAM secrets */
	int no_password;	/* non-zero: the user gets no secret */
	const char *config;	/* an ini file; NULL: the usual one */
	const char *conninfo;	/* as psql takes it; or NULL */
	const char *user;	/* of the console; or NULL */
	enum ctl_form form;
	usec_t watch;		/* again after so long; 0: not given */
	usec_t timeout;		/* 0: not given */
	usec_t seconds;		/* the same */
	pid_t pid;		/* the same */
	const char *pattern;	/* of a command line; or NULL */
	const char *output;	/* a folder; or NULL */
	bool off_cpu;
};

struct ctl_command {
	const char *group;	/* "userlist", "show" */
	const char *name;	/* "add"; NULL: the group is the command */
	const char *args, *help;
	int min_args, max_args;		/* max < 0: any number */
	int (*run)(const struct ctl_options *o, int argc, char **argv);
	unsigned takes;		/* options */
};

/* Each ends with a row without a group. */
const struct ctl_command *check_commands(void);
const struct ctl_command *order_commands(void);
const struct ctl_command *program_commands(void);
const struct ctl_command *show_commands(void);
const struct ctl_command *status_commands(void);
const struct ctl_command *top_commands(void);
const struct ctl_command *userlist_commands(void);
const struct ctl_command *wait_ready_commands(void);

/* "pgsluicectl: ..." on stderr, without control bytes. Returns CTL_FAILED. */
int ctl_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, and CTL_UNREACHABLE. */
int ctl_unreachable(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* All of what was printed got out: CTL_OK; else it is said. */
int ctl_flush(void);

#endif
