/* interfaces.h - the addresses and networks of this machine.
 * SPDX-License-Identifier: ISC */
#ifndef IO_INTERFACES_H
#define IO_INTERFACES_H

#include <stdbool.h>

struct net_addr;

/*
 * Is a one of the addresses of this machine's interfaces, or with net in one
 * of their networks? Asks the kernel each time.
 * Returns: 1, 0, or -1 with errno where it does not tell.
 */
int interfaces_have(const struct net_addr *a, bool net);

#endif
