/* hba.h - who may log in from where, and how: auth_hba_file and its maps.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_HBA_H
#define CONF_HBA_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/options.h"

struct err;
struct file_text;
struct hba;			/* immutable, reference-counted */
struct ident;
struct ident_map;
struct net_addr;

typedef void hba_report_fn(void *arg, const char *text);

/* What a rule says about those whom it fits; lives as long as its hba. */
struct hba_rule {
	enum auth_type method;
	const struct ident_map *map;	/* cert, peer: NULL = names are equal */
	const char *options;	/* ldap: the rest of the line; else "" */
	unsigned line;
};

/* One login, as far as rules look at it. */
struct hba_login {
	const struct net_addr *addr;	/* of the client */
	bool tls;
	bool physical;			/* replication=yes */
	const char *database, *user;
};

struct hba_source {
	const char *text;
	size_t len;
	const char *path;	/* of the text, for messages and @file */
	/* Read a file named by @file; 0, or -1 with errno. */
	int (*read)(const char *path, struct file_text *f);
	hba_report_fn *report;	/* may be NULL */
	void *arg;
};

/*
 * Parse rules. A line that can't be used is reported ("hba line <n>: ...")
 * and skipped. Takes maps (may be NULL) in any case.
 * Returns one reference, or NULL when out of memory.
 * Source: spec/authentication.md section 4, spec/config-files.md section 9.
 */
struct hba *hba_parse(const struct hba_source *src, struct ident *maps);

/*
 * Read both files; map_path may be NULL or "". Returns NULL with e set when
 * one can't be read ("could not open hba config file ...").
 */
struct hba *hba_load(const char *path, const char *map_path,
    const struct hba_source *how, struct err *e);

struct hba *hba_ref(struct hba *h);
/* Drops the reference and sets *h to NULL; LDAP options are wiped. */
void hba_unref(struct hba **h);

/* The first rule that fits; NULL: none does, or h is NULL. */
const struct hba_rule *hba_find(const struct hba *h,
    const struct hba_login *l);

/* The first one, for anybody, that is() holds of; NULL: there is none. */
const struct hba_rule *hba_find_like(const struct hba *h,
    bool (*is)(const struct hba_rule *r));

size_t hba_count(const struct hba *h);

#endif
