/* program.c - the commands that are programs in Python.
 * SPDX-License-Identifier: ISC */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "ctl/command.h"

#define MAIN "/__main__.py"
#define ARGS_MAX 64

/* Returns only when the program name cannot be run. */
static int run_program(const char *name, char *const *words)
{
	const char *const other = getenv("PGSLUICECTL_LIBEXEC");
	char path[PATH_MAX];
	/* of no folder but its own are modules taken, and none is written */
	const char *args[ARGS_MAX + 1] = { "python3", "-IB", "-X", "utf8",
		path };
	struct text t;

	text_init(&t, path, sizeof path);
	text_addf(&t, "%s/%s", other != NULL ? other : PKGLIBEXECDIR, name);
	const size_t len = t.len;

	text_add(&t, MAIN);
	if (t.cut || access(path, R_OK) != 0)
		return ctl_fail("%s is not installed: could not read %s: %s",
		    name, path, strerror(t.cut ? ENAMETOOLONG : errno));
	path[len] = '\0';
	for (size_t n = 5; *words != NULL; n++) {
		if (n == ARGS_MAX)
			return ctl_fail("too many arguments");
		args[n] = *words++;
	}
	execvp(args[0], (char *const *)args);
	return ctl_fail("%s needs Python 3.11 or newer: could not run "
	    "python3: %s", name, strerror(errno));
}

static int convert(const struct ctl_options *o, int argc, char **argv)
{
	(void)o;
	(void)argc;
	return run_program("convert", argv);
}

const struct ctl_command *program_commands(void)
{
	static const struct ctl_command commands[] = {
		{ "convert", NULL, "FILE FOLDER",
		    "write the configuration of PgCat or Odyssey anew",
		    2, 2, convert, 0 },
		{ .group = NULL },
	};

	return commands;
}
