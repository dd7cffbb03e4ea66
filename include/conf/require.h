/* require.h - conditions for a server: target_session_attrs, require_auth.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_REQUIRE_H
#define CONF_REQUIRE_H

struct err;

/* How a server may authenticate us: bits. */
enum require_auth {
	REQUIRE_PASSWORD = 1,	/* in clear text */
	REQUIRE_MD5 = 2,
	REQUIRE_GSS = 4,
	REQUIRE_SSPI = 8,
	REQUIRE_SCRAM = 16,
	REQUIRE_OAUTH = 32,	/* as gss */
	REQUIRE_NONE = 64,	/* not at all */
};

/*
 * The methods that a server_require_auth forbids; "" forbids none. 0, or -1
 * with e.
 * Source: PostgreSQL docs, libpq, require_auth.
 */
int require_auth_parse(const char *text, unsigned *forbidden, struct err *e);

/* Target_session_attrs: which servers of a host list will do. */

/* As libpq has them. */
enum session_attrs {
	ATTRS_ANY, ATTRS_READ_WRITE, ATTRS_READ_ONLY, ATTRS_PRIMARY,
	ATTRS_STANDBY, ATTRS_PREFER_STANDBY
};

/* -1: there is none of this name. */
int session_attrs_find(const char *word);
const char *session_attrs_word(enum session_attrs attrs);

#endif
