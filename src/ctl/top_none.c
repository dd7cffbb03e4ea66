/* top_none.c - pgsluicectl top, in a build without ncurses.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>

#include "ctl/command.h"

static int top(const struct ctl_options *o, int argc, char **argv)
{
	(void)o;
	(void)argc;
	(void)argv;
	return ctl_fail("this build has no top, because ncurses was missing; use "
	    "\"show pools --watch 2\"");
}

const struct ctl_command *top_commands(void)
{
	static const struct ctl_command commands[] = {
		{ "top", NULL, "", "not in this build", 0, 0, top,
		    TAKES_PLACE | TAKES_WATCH },
		{ .group = NULL },
	};

	return commands;
}
