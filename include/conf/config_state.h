/* config_state.h - questions about a whole configuration: state, listeners.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_CONFIG_STATE_H
#define CONF_CONFIG_STATE_H

#include <stdbool.h>

struct config;
struct err;
struct settings;

/* Does any setting, database or user have a session_state other than forget? */
bool config_keeps_state(const struct config *c);
/* Why no client can log in by a password; NULL: some can, or may. */
const char *config_nobody(const struct config *c);

/* Two listeners, one place. */

/*
 * With so_reuseport both could have it, and each client would meet with the one
 * or the other. 0, or -1 with e.
 */
int clash_check(const struct settings *set, struct err *e);

#endif
