/* env_settings.c - settings in the environment: PGSLUICE_<SETTING>.
 * SPDX-License-Identifier: ISC */
#include "conf/env_settings.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/options.h"

#define PREFIX "PGSLUICE_"
#define FORCE "FORCE_"
#define DATABASE_KEYS "DATABASE_KEYS"
#define NAME_MAX_BYTES 128

/* A variable with our prefix. */
struct variable {
	char name[NAME_MAX_BYTES];	/* whole */
	char key[NAME_MAX_BYTES];	/* in lower case, without the prefixes */
	const char *value;
	bool forced;
};

/* Splits "NAME=value"; false: it is none of ours. */
static bool read_variable(const char *text, struct variable *v)
{
	const char *const equals = strchr(text, '=');
	const size_t len = equals == NULL ? 0 : (size_t)(equals - text);
	const char *key = v->name + strlen(PREFIX);
	size_t i;

	if (len <= strlen(PREFIX) || len >= sizeof v->name ||
	    strncmp(text, PREFIX, strlen(PREFIX)) != 0)
		return false;
	snprintf(v->name, sizeof v->name, "%.*s", (int)len, text);
	v->value = equals + 1;
	v->forced = strncmp(key, FORCE, strlen(FORCE)) == 0;
	if (v->forced)
		key += strlen(FORCE);
	for (i = 0; key[i] != '\0'; i++)
		v->key[i] = (char)tolower((unsigned char)key[i]);
	v->key[i] = '\0';
	return true;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), n = strlen(end);

	return len >= n && strcmp(text + len - n, end) == 0;
}

/*
 * For a Service whose name begins with "pgsluice", Kubernetes sets
 * PGSLUICE_SERVICE_HOST, PGSLUICE_SERVICE_PORT, PGSLUICE_SERVICE_PORT_<NAME>,
 * PGSLUICE_PORT=tcp://..., and PGSLUICE_PORT_6432_TCP with _PROTO, _PORT and
 * _ADDR. Between prefix and SERVICE or PORT stands the rest of the name.
 */
static bool is_of_service(const struct variable *v)
{
	const char *const port = strstr(v->name, "_PORT_");

	return strstr(v->value, "://") != NULL ||
	    ends_with(v->name, "_SERVICE_HOST") ||
	    strstr(v->name, "_SERVICE_PORT") != NULL ||
	    (port != NULL && isdigit((unsigned char)port[strlen("_PORT_")]));
}

static const struct option_row *setting_of(const struct variable *v)
{
	/* a Service "pgsluice-listen" makes PGSLUICE_LISTEN_PORT, too */
	return ends_with(v->key, "port") && is_of_service(v) ? NULL :
	    option_find(v->key);
}

/* Variables that the entry point of the container, or a test, reads itself. */
static bool is_no_setting(const struct variable *v)
{
	static const char *const others[] = { PREFIX DATABASE_KEYS,
		PREFIX "USERLIST", PREFIX "USERLIST_FILE", PREFIX "FORCE" };

	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		if (strcmp(others[i], v->name) == 0)
			return true;
	}
	return is_of_service(v);
}

void env_settings_each(enum env_kind kind,
    void (*fn)(void *arg, const struct env_setting *s), void *arg)
{
	struct variable v;

	for (char **at = environ; at != NULL && *at != NULL; at++) {
		const struct option_row *const o = read_variable(*at, &v) &&
		    v.forced == (kind == ENV_FORCED) ? setting_of(&v) : NULL;

		if (o != NULL)
			fn(arg, &(struct env_setting){ v.name, o->name,
			    v.value });
	}
}

void env_settings_unknown(void (*fn)(void *arg, const char *variable,
    const char *near), void *arg)
{
	struct variable v;
	char near[NAME_MAX_BYTES];

	for (char **at = environ; at != NULL && *at != NULL; at++) {
		if (!read_variable(*at, &v) || setting_of(&v) != NULL ||
		    is_no_setting(&v))
			continue;
		const char *const meant = option_nearest(v.key);

		snprintf(near, sizeof near, PREFIX "%s%s", v.forced ? FORCE :
		    "", meant != NULL ? meant : "");
		for (char *c = near; *c != '\0'; c++)
			*c = (char)toupper((unsigned char)*c);
		fn(arg, v.name, meant != NULL ? near : NULL);
	}
}

const char *env_database_keys(void)
{
	const char *const keys = getenv(PREFIX DATABASE_KEYS);

	return keys != NULL && keys[0] != '\0' ? keys : NULL;
}
