/* command_line.h - the text of a command as an argument vector, without a shell.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_COMMAND_LINE_H
#define CONF_COMMAND_LINE_H

#include <stddef.h>

struct err;

#define COMMAND_WORDS_MAX 256
#define COMMAND_BYTES_MAX 8192	/* of all words, with a NUL behind each */

/* Words of a command, one behind the other, each with its NUL. */
struct command_line {
	char *words;		/* owned */
	size_t bytes;
	unsigned count;
};

/*
 * Split text as the POSIX shell splits and quotes a simple command, and do
 * nothing else that a shell does: $ * ~ ; | and so on are ordinary characters.
 *
 * Blanks and tabs separate words. Between single quotes each character is
 * itself. Between double quotes a backslash before $ ` " \ is dropped, and any
 * other backslash is itself. Outside of quotes a backslash is dropped, and the
 * next character is itself.
 *
 * Returns: 0, or -1 with e: a quote is not closed, nothing follows a backslash,
 *          there is no word, or the first word is no absolute path.
 */
int command_line_parse(const char *text, struct command_line *out,
    struct err *e);
void command_line_fini(struct command_line *c);

#endif
