/* clash.h - two listeners, one place.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_CLASH_H
#define CONF_CLASH_H

struct err;
struct settings;

/*
 * With so_reuseport both could have it, and each client would meet with the one
 * or the other. 0, or -1 with e.
 */
int clash_check(const struct settings *set, struct err *e);

#endif
