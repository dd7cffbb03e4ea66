/* check_file.c - pgsluicectl check: what pgsluice --check says.
 * SPDX-License-Identifier: ISC */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/command.h"

#define PROGRAM "pgsluice"

/* The program of this installation: beside this one. Returns buf, or NULL. */
static const char *beside(char *buf, size_t size)
{
	const ssize_t n = readlink("/proc/self/exe", buf, size - 1);

	if (n <= 0)
		return NULL;
	buf[n] = '\0';
	char *const name = strrchr(buf, '/');
	const size_t room = size - (size_t)(name + 1 - buf);

	if (snprintf(name + 1, room, PROGRAM) >= (int)room ||
	    access(buf, X_OK) != 0)
		return NULL;
	return buf;
}

static int check(const struct ctl_options *o, int argc, char **argv)
{
	char buf[PATH_MAX];
	const char *const path = beside(buf, sizeof(buf));
	char *const args[] = { PROGRAM, "--check", "--", argv[0], NULL };

	(void)o;
	(void)argc;
	if (path != NULL)
		execv(path, args);
	else
		execvp(PROGRAM, args);
	return ctl_fail("could not run %s: %s", path != NULL ? path : PROGRAM,
	    strerror(errno));
}

const struct ctl_command *check_commands(void)
{
	static const struct ctl_command commands[] = {
		{ "check", NULL, "FILE",
		    "print every problem of a configuration", 1, 1, check, 0 },
		{ .group = NULL },
	};

	return commands;
}
