/* env_settings.h - settings in the environment: PGSLUICE_<SETTING>.
 * SPDX-License-Identifier: ISC
 *
 * The environment does not change while the process runs: any thread may ask.
 * (spec/config-files.md section 23) */
#ifndef CONF_ENV_SETTINGS_H
#define CONF_ENV_SETTINGS_H

#include <stddef.h>

enum env_kind {
	ENV_DEFAULT,	/* PGSLUICE_<SETTING>: the file overrides it */
	ENV_FORCED,	/* PGSLUICE_FORCE_<SETTING>: it overrides the file */
};

struct env_setting {
	const char *variable;	/* its name; valid during the call only */
	const char *key;	/* of the setting; static */
	const char *value;	/* borrowed from the environment */
};

/* Call fn() for each variable that sets a setting in this way. */
void env_settings_each(enum env_kind kind,
    void (*fn)(void *arg, const struct env_setting *s), void *arg);

/*
 * Call fn() for each variable that has our prefix and names no setting. near is
 * the variable that was probably meant, or NULL. Both are valid during the call
 * only. Variables that Kubernetes makes for a Service are skipped.
 */
void env_settings_unknown(void (*fn)(void *arg, const char *variable,
    const char *near), void *arg);

/* Keys for each line of [databases], borrowed; NULL: none. */
const char *env_database_keys(void);

#endif
