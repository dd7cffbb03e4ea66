/* hba.h - rules for logins, by user and address: auth_hba_file and its maps.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_HBA_H
#define CONF_HBA_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/hba_regex.h"
#include "conf/options.h"

struct err;
struct hba;			/* immutable, reference-counted */
struct hba_source;
struct ident;
struct ident_map;
struct net_addr;
struct oauth_options;

/* What a rule says about logins that match; lives as long as its hba. */
struct hba_rule {
	enum auth_type method;
	/* cert, peer, gss, oauth: NULL = names are equal */
	const struct ident_map *map;
	const char *krb_realm;	/* gss: of the principal; NULL or "": any */
	bool include_realm;	/* gss: the name to look at has the realm */
	const struct oauth_options *oauth;	/* oauth: never NULL */
	const char *options;	/* ldap: the rest of the line; else "" */
	unsigned line;		/* in the file where it stands */
};

/* The name of the client's machine, whose addresses have the client's. */
enum hba_host_state {
	HBA_HOST_UNKNOWN,	/* not asked for, or no answer */
	HBA_HOST_NONE,		/* no name, or with another address */
	HBA_HOST_KNOWN,
};

/* One login, as far as rules look at it. */
struct hba_login {
	const struct net_addr *addr;	/* of the client */
	bool tls, gss;			/* how it is encrypted */
	bool physical;			/* replication=yes */
	const char *database, *user;
	enum hba_host_state host_state;
	const char *host;		/* HBA_HOST_KNOWN */
	/* Is a of this machine, or of one of its networks? NULL: uncertain. */
	enum hba_fit (*near)(const struct net_addr *a, bool net);
};

/*
 * Parse rules. Lines that can't be used are reported ("hba line <n>: ..."), and
 * the whole is refused, or they are skipped, see hba_source. So is a text
 * without rules. Takes maps (may be NULL) in any case.
 * Returns one reference, or NULL with the first problem in e.
 * Source: spec/authentication.md section 4, spec/config-files.md section 9.
 */
struct hba *hba_parse(const struct hba_source *src, struct ident *maps,
    struct err *e);

/*
 * Read both files; map_path may be NULL or "". Returns NULL with e set when
 * one can't be read ("could not open hba config file ...") or is refused.
 */
struct hba *hba_load(const char *path, const char *map_path,
    const struct hba_source *how, struct err *e);

struct hba *hba_ref(struct hba *h);
/* Drops the reference and sets *h to NULL; LDAP options are wiped. */
void hba_unref(struct hba **h);

/*
 * The first rule that fits; NULL: none does, or h is NULL. Where that can't be
 * known (see enum hba_fit) a rule that rejects fits, and no other.
 */
const struct hba_rule *hba_find(const struct hba *h,
    const struct hba_login *l);

/* The first rule, for any login, that is() holds of; NULL: none. */
const struct hba_rule *hba_find_like(const struct hba *h,
    bool (*is)(const struct hba_rule *r));

/* May a rule depend on the name of the client's machine, for any user? */
bool hba_asks_host(const struct hba *h, const struct hba_login *l);

/* For tests: how many rules there are. */
size_t hba_count(const struct hba *h);

#endif
