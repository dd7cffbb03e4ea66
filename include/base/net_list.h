/* net_list.h - networks in a text: "10.0.0.0/8, 192.0.2.7, fd00::/8".
 * SPDX-License-Identifier: ISC */
#ifndef BASE_NET_LIST_H
#define BASE_NET_LIST_H

#include <stdbool.h>

struct err;
struct net_addr;

/*
 * Networks and single addresses, separated by commas or blanks; no names.
 * 0, or -1 with e: the first that is neither.
 */
int net_list_check(const char *list, struct err *e);

/* Is a in the list? A Unix socket never is. A broken item matches none. */
bool net_list_has(const char *list, const struct net_addr *a);

#endif
