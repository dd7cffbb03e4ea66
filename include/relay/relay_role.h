/* relay_role.h - the role of a client that has logged in to be served.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_ROLE_H
#define RELAY_RELAY_ROLE_H

#include <stdbool.h>

struct server;



#endif
