/* admin_parse.h - the console's grammar: one command a message.
 * SPDX-License-Identifier: ISC */
#ifndef APP_ADMIN_PARSE_H
#define APP_ADMIN_PARSE_H

#include <stdbool.h>

/* admin-console.md section 2, "Command grammar" */
struct admin_command {
	char verb[16];		/* "SHOW", as given; compare without case */
	char arg[64];		/* unquoted; "" with has_arg false: none */
	char value[256];	/* SET */
	bool has_arg;
	bool is_set;
};

enum admin_parse_result {
	ADMIN_PARSE_OK,
	ADMIN_PARSE_INVALID,	/* invalid command '...', use SHOW HELP; */
	ADMIN_PARSE_TOO_LONG,	/* bad arguments */
};

enum admin_parse_result admin_parse(const char *query,
    struct admin_command *out);

#endif
