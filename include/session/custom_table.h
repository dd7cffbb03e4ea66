/* custom_table.h - which custom parameters were seen, at whatever worker.
 *
 * A server may go to any of them, with what clients have set there.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_CUSTOM_TABLE_H
#define SESSION_CUSTOM_TABLE_H

#include "session/sessions.h"

static inline void custom_table_share(struct sessions *ss,
    struct sessions *first)
{
	ss->custom = first == NULL ? NULL : &first->own_custom;
}

static inline struct custom *custom_table_of(struct sessions *ss)
{
	return ss->custom != NULL ? ss->custom : &ss->own_custom;
}

#endif
