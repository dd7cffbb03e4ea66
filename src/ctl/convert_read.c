/* convert_read.c - PgCat's file or Odyssey's, by what it looks like.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "ctl/braces.h"
#include "ctl/convert_parts.h"
#include "ctl/toml.h"

static int read_toml(struct convert *cv, const char *text)
{
	return toml_read(text, &cv->in, cv->e) < 0 ? -1 : convert_pgcat(cv);
}

static int read_braces(struct convert *cv, const char *text)
{
	return braces_read(text, &cv->in, cv->e) < 0 ? -1 :
	    convert_odyssey(cv);
}

/* By the file's first sign of a section: PgCat's begin with a bracket. */
int convert_read(struct convert *cv, const char *text)
{
	const char *at = text;

	for (; *at != '\0'; at += strcspn(at, "\n"), at += *at != '\0') {
		at += strspn(at, " \t");
		if (*at == '[')
			return read_toml(cv, text);
		if (*at != '#' && at[strcspn(at, "#{\n")] == '{')
			break;
	}
	return read_braces(cv, text);
}
