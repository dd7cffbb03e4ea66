/* hba_address.h - the address column of a rule; for hba*.c only.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_HBA_ADDRESS_H
#define CONF_HBA_ADDRESS_H

#include "base/net.h"
#include "conf/hba_regex.h"

struct err;
struct hba_line;
struct hba_login;

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
