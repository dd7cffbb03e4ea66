/* config_load.h - a configuration from its files, with a setting to be tried.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_CONFIG_LOAD_H
#define CONF_CONFIG_LOAD_H

#include "conf/config.h"

struct config_order {
	const char *path;
	const struct config *prev;	/* may be NULL */
	config_report_fn *report;
	void *arg;
	bool only_check;	/* --check: what works is reported as LEVEL_INFO */
	const char *key, *value;	/* a setting behind all; key NULL: none */
};

/* config_load(), if SET PERSIST had written key and value. */
struct config *config_load_with(const struct config_order *o, struct err *e);

#endif
