/* hba_list.h - the columns of a rule: database, user, address.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_HBA_LIST_H
#define CONF_HBA_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/net.h"
#include "conf/hba_regex.h"

struct err;
struct hba_line;
struct hba_login;
struct hba_place;

enum hba_column { HBA_DATABASE, HBA_USER };

/* Keywords found in a column. */
enum {
	HBA_ALL = 1,
	HBA_SAMEUSER = 2,
	HBA_REPLICATION = 4,
};

struct hba_list {
	enum hba_column column;
	unsigned keywords;
	char **names;		/* owned, sorted */
	size_t count, size;
	struct hba_regex **regexes;	/* owned, each too */
	size_t regex_count;
};

/*
 * Take a comma list off the line into a list that is all zero but for its
 * column. 0, or -1 with e (53200: no memory; HBA_UNKNOWN: the list asks for
 * members of roles); fini the list all the same.
 */
int hba_list_take(struct hba_list *list, struct hba_line *l,
    const struct hba_place *at, struct err *e);
/* Is name in the list, or does it fit one of the regular expressions? */
enum hba_fit hba_list_has(const struct hba_list *list, const char *name);
void hba_list_fini(struct hba_list *list);

/* The address column of a rule; for hba*.c only. */

enum hba_address_kind {
	HBA_ANY,
	HBA_NETWORK,
	HBA_SAME_HOST,		/* an address of this machine */
	HBA_SAME_NET,		/* of this machine's networks */
	HBA_HOST,		/* by the name of the client's machine */
};

struct hba_address {
	enum hba_address_kind kind;
	struct net_cidr network;
	char *name;		/* owned; ".x" = all that end so */
};

/*
 * Take "all", "samehost", "samenet", ip/bits, ip and mask, or a host name off
 * the line into an all-zero a. 0, or -1 with e; fini it all the same.
 */
int hba_address_take(struct hba_address *a, struct hba_line *l,
    struct err *e);
void hba_address_fini(struct hba_address *a);

enum hba_fit hba_address_has(const struct hba_address *a,
    const struct hba_login *l);

#endif
