/* top_terminal.c - is the terminal of a kind that is known?
 * SPDX-License-Identifier: ISC */
#include "ctl/top_parts.h"

/* below: what term.h defines are words of others */
#include <ncurses.h>
#include <term.h>
#include <unistd.h>

/* newterm() would tell, too, but leave memory behind. */
bool top_knows_terminal(void)
{
	int status;

	if (setupterm(NULL, STDOUT_FILENO, &status) != OK)
		return false;
	del_curterm(cur_term);
	return true;
}
