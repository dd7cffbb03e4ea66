/* session_attrs.h - target_session_attrs: which servers of a host list will do.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_SESSION_ATTRS_H
#define CONF_SESSION_ATTRS_H

/* As libpq has them. */
enum session_attrs {
	ATTRS_ANY, ATTRS_READ_WRITE, ATTRS_READ_ONLY, ATTRS_PRIMARY,
	ATTRS_STANDBY, ATTRS_PREFER_STANDBY
};

/* -1: there is none of this name. */
int session_attrs_find(const char *word);
const char *session_attrs_word(enum session_attrs attrs);

#endif
