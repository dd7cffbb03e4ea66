/* wiring.h - the one place that knows all modules of clients and servers.
 * SPDX-License-Identifier: ISC */
#ifndef APP_WIRING_H
#define APP_WIRING_H

struct sessions;

/*
 * Sets the tables by which lower ranks call higher ones: what a client does in
 * each role, and what a server does in each phase. The tables live for ever.
 * The rest of ss->client_ops is the caller's.
 */
void wiring_install(struct sessions *ss);

#endif
