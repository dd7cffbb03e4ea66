/* config_state.h - what can be said of a configuration as a whole.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_CONFIG_STATE_H
#define CONF_CONFIG_STATE_H

#include <stdbool.h>

struct config;

/* Does any setting, database or user have a session_state other than forget? */
bool config_keeps_state(const struct config *c);
/* Why no client can log in by a password; NULL: some can, or may. */
const char *config_nobody(const struct config *c);

#endif
