/* command.h - the commands of pgsluicectl: one row each.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_COMMAND_H
#define CTL_COMMAND_H

/* Exit codes. */
enum { CTL_OK, CTL_FAILED, CTL_USAGE };

/* What the options of the command line said. */
struct ctl_options {
	const char *program;	/* as it was called */
	int iterations;		/* of SCRAM secrets */
	int no_password;	/* non-zero: the user gets no secret */
};

struct ctl_command {
	const char *group, *name;	/* "userlist", "add" */
	const char *args, *help;
	int min_args, max_args;		/* max < 0: any number */
	int (*run)(const struct ctl_options *o, int argc, char **argv);
};

/* Ends with a row without a group. */
const struct ctl_command *userlist_commands(void);

/* "pgsluicectl: ..." on stderr. Returns CTL_FAILED. */
int ctl_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
