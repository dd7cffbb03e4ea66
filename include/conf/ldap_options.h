/* ldap_options.h - the text that says how to ask an LDAP directory.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_LDAP_OPTIONS_H
#define CONF_LDAP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define LDAP_OPTIONS_MAX 1023	/* bytes of the text */

enum ldap_scope {
	LDAP_OPT_SUBTREE,
	LDAP_OPT_ONE,
	LDAP_OPT_BASE,
};

/* Strings are owned, wiped; NULL = not given. */
struct ldap_options {
	char *server;		/* hosts with blanks between; NULL: ask DNS */
	char *prefix, *suffix;	/* simple bind: around the name */
	char *basedn;		/* search + bind, from here on */
	char *binddn, *bindpasswd;	/* as whom; NULL: as nobody */
	char *attribute;	/* NULL: uid, or filter */
	char *filter;		/* with $username */
	uint16_t port;		/* 0: the scheme's */
	enum ldap_scope scope;
	bool tls;		/* StartTLS */
	bool ldaps;
};

/*
 * Returns 0, or -1 with e for the log and o all zero.
 * Source: spec/authentication.md section 3.7.
 */
int ldap_options_parse(struct ldap_options *o, const char *text,
    struct err *e);
void ldap_options_fini(struct ldap_options *o);

/* text without its password, for readers who may not know that; buf. */
const char *ldap_options_hide(const char *text, char *buf, size_t size);

static inline bool ldap_options_search(const struct ldap_options *o)
{
	return o->basedn != 0;
}

/* Port to connect to. */
static inline uint16_t ldap_options_port(const struct ldap_options *o)
{
	return o->port != 0 ? o->port : o->ldaps ? 636 : 389;
}

#endif
