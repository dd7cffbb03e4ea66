/* fuzz_command_line.c - any bytes as the value of password_command.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "conf/command_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *const text = malloc(size + 1);
	struct command_line c;
	struct err e = { .text = "" };
	unsigned words = 0;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (command_line_parse(text, &c, &e) == 0) {
		assert(c.words[0] == '/' && c.words[c.bytes - 1] == '\0');
		/* quotes and backslashes go; nothing else is added but NULs */
		assert(c.bytes <= strlen(text) + 1);
		for (size_t i = 0; i < c.bytes; i++)
			words += c.words[i] == '\0';
		assert(words == c.count && words <= COMMAND_WORDS_MAX);
	} else {
		assert(e.text[0] != '\0' && c.words == NULL);
	}
	command_line_fini(&c);
	free(text);
	return 0;
}
