/* session_attrs.c - target_session_attrs: which servers of a host list will do.
 * SPDX-License-Identifier: ISC */
#include "conf/session_attrs.h"

#include <stddef.h>

#include "conf/words.h"

static const char *const words[] = {
	[ATTRS_ANY] = "any",
	[ATTRS_READ_WRITE] = "read-write",
	[ATTRS_READ_ONLY] = "read-only",
	[ATTRS_PRIMARY] = "primary",
	[ATTRS_STANDBY] = "standby",
	[ATTRS_PREFER_STANDBY] = "prefer-standby",
	NULL
};

int session_attrs_find(const char *word)
{
	return words_find(words, word);
}

const char *session_attrs_word(enum session_attrs attrs)
{
	return words[attrs];
}
