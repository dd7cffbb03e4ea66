/* config_state.h - is there any pool with a session_state?
 * SPDX-License-Identifier: ISC */
#ifndef CONF_CONFIG_STATE_H
#define CONF_CONFIG_STATE_H

#include <stdbool.h>

struct config;

/* Does any setting, database or user have one other than forget? */
bool config_keeps_state(const struct config *c);

#endif
