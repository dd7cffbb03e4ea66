/* login_params.c - the parameters of a StartupMessage.
 * SPDX-License-Identifier: ISC */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "login/login_others.h"
#include "login/login_parts.h"
#include "proto/params.h"
#include "proto/params_names.h"
#include "proto/params_sql.h"
#include "session/client.h"
#include "session/sessions.h"

static int login_params_no_memory(struct err *e)
{
	return err_set(e, ERRCODE_OUT_OF_MEMORY,
	    "bouncer resources exhaustion");
}

static int set_copy(char **slot, const char *value, struct err *e)
{
	mem_free(*slot);
	*slot = mem_strdup(value);
	return *slot == NULL ? login_params_no_memory(e) : 0;
}

static int take_user(struct client *c, const char *value, struct err *e)
{
	(void)e;
	c->login->user_too_long = !text_copy(c->login->user,
	    sizeof c->login->user, value);
	return 0;
}

static int take_database(struct client *c, const char *value, struct err *e)
{
	return set_copy(&c->login->db_name, value, e);
}

static int login_params_take_options(struct client *c, const char *value,
    struct err *e)
{
	return set_copy(&c->login->options, value, e);
}

static int take_application_name(struct client *c, const char *value,
    struct err *e)
{
	return set_copy(&c->login->application_name, value, e);
}

static int take_replication(struct client *c, const char *value,
    struct err *e)
{
	(void)e;
	c->replication = (uint8_t)startup_replication(value);
	return 0;
}

static const struct {
	const char *name;
	int (*take)(struct client *c, const char *value, struct err *e);
} startup_params[] = {
	{ "user", take_user },
	{ "database", take_database },
	{ "options", login_params_take_options },
	{ "application_name", take_application_name },
	{ "replication", take_replication },
};

static int take_extension(struct login *l, const char *name, struct err *e)
{
	if (l->extension_count == LOGIN_EXTENSIONS_MAX)
		return 0;
	if (l->extensions == NULL)
		l->extensions = mem_zalloc(LOGIN_EXTENSIONS_MAX *
		    sizeof *l->extensions);
	if (l->extensions == NULL)
		return login_params_no_memory(e);
	char *copy = mem_strdup(name);

	if (copy == NULL)
		return login_params_no_memory(e);
	l->extensions[l->extension_count++] = copy;
	return 0;
}

/* 0, or -1 with e. */
static int check_tracked(const char *name, const char *value, struct err *e)
{
	if (text_casecmp(name, "search_path") != 0 ||
	    params_sql_is_list(value))
		return 0;
	return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
	    "invalid value for parameter \"search_path\": \"%.200s\"", value);
}

/*
 * PostgreSQL sets one after the other: a half that a later one lacks is that of an
 * earlier one. out has the room; value, if it can't be read.
 */
static const char *join_style(const char *value, const char *earlier,
    char out[DATESTYLE_MAX])
{
	return earlier != NULL && datestyle_join(value, earlier, out) ? out :
	    value;
}

/*
 * Store a tracked parameter, or see whether it may be ignored. 0, or -1 with e.
 */
static int take_tracked(struct client *c, const struct login_other *o,
    bool *unknown, struct err *e)
{
	const char *value = o->value;
	const int i = params_find(c->ss->params, o->name);
	char style[DATESTYLE_MAX];
	const bool ignored = text_list_has(
	    sessions_settings(c->ss)->ignore_startup_parameters, o->name);

	*unknown = i < 0 && !ignored;
	/* what else is tracked, is reported to its client */
	if (i == PARAMS_EXTRA_FLOAT_DIGITS && ignored)
		return 0;
	if (i >= 0 && check_tracked(o->name, value, e) < 0)
		return -1;
	if (i == PARAMS_CLIENT_ENCODING && encoding_name(value) != NULL)
		value = encoding_name(value);
	if (i == PARAMS_DATESTYLE)
		value = join_style(value, params_get(c->params, i), style);
	return i >= 0 && params_set(&c->params, i, value) < 0 ?
	    login_params_no_memory(e) : 0;
}

static int on_param(const char *name, const char *value, void *arg,
    struct err *e)
{
	struct client *c = arg;
	bool unknown;

	for (size_t i = 0; i < sizeof startup_params / sizeof *startup_params;
	    i++)
		if (strcmp(name, startup_params[i].name) == 0)
			return startup_params[i].take(c, value, e);
	if (strncmp(name, "_pq_.", 5) == 0)
		return take_extension(c->login, name, e);
	const struct login_other o = { .name = name, .value = value };

	if (take_tracked(c, &o, &unknown, e) < 0)
		return -1;
	return unknown ? login_take_other(c, &o, e) : 0;
}

/* The client whose options are read, and the parameters that came by name. */
struct option_reader {
	struct client *c;
	struct params *named;		/* counted */
	char style[DATESTYLE_MAX];	/* of options, where it was named, too */
};

/* A parameter of its own goes before one in options, wherever it stands. */
static bool is_named(const struct option_reader *r, const char *name)
{
	const int i = params_find(r->c->ss->params, name);

	return i >= 0 && params_get(r->named, i) != NULL;
}

/* A part of it may count although it is named. */
static void note_style(struct option_reader *r, const char *name,
    const char *value)
{
	char style[DATESTYLE_MAX];

	if (params_find(r->c->ss->params, name) == PARAMS_DATESTYLE &&
	    datestyle_join(value, r->style[0] == '\0' ? value : r->style,
	    style))
		memcpy(r->style, style, sizeof style);
}

static int on_option(const char *name, const char *value, void *arg,
    struct err *e)
{
	struct option_reader *const r = arg;
	struct client *const c = r->c;
	const struct login_other o = { .name = name, .value = value,
	    .in_options = true };
	bool unknown;

	if (is_named(r, name)) {
		note_style(r, name, value);
		return 0;
	}
	if (take_tracked(c, &o, &unknown, e) < 0)
		return -1;
	if (!unknown || text_list_has(
	    sessions_settings(c->ss)->ignore_startup_parameters, "options"))
		return 0;
	return login_take_other(c, &o, e);
}

static int read_options(struct client *c, const char *options, struct err *e)
{
	struct option_reader r = { .c = c, .named = params_ref(c->params) };
	const char *const style = params_get(c->params, PARAMS_DATESTYLE);
	char both[DATESTYLE_MAX];
	int rc = startup_options(options, on_option, &r, e);

	if (rc == 0 && r.style[0] != '\0' && params_set(&c->params,
	    PARAMS_DATESTYLE, join_style(style, r.style, both)) < 0)
		rc = login_params_no_memory(e);
	params_unref(&r.named);
	return rc;
}

/* application_name as the client is to have it (application_name_add_host) */
static int settle_application_name(struct client *c, struct err *e)
{
	const char *name = c->login->application_name;
	char addr[NET_TEXT_MAX], host[HOST_NAME_MAX + 1] = "", full[512];

	if (sessions_settings(c->ss)->application_name_add_host) {
		net_format(&c->addr, addr, sizeof addr);
		if (c->addr.family == NET_UNIX && c->addr.pid != 0) {
			(void)gethostname(host, sizeof host - 1);
			snprintf(addr, sizeof addr, "unix(%d@%.32s):%d",
			    c->addr.pid, host, c->addr.port);
		}
		snprintf(full, sizeof full, "%.400s - %s",
		    name != NULL ? name : "app", addr);
		name = full;
	}
	if (name == NULL)
		return 0;
	return params_set(&c->params, PARAMS_APPLICATION_NAME, name) < 0 ?
	    login_params_no_memory(e) : 0;
}

int login_read_params(struct client *c, const struct startup *m,
    struct err *e)
{
	struct login *l = c->login;

	if (startup_each(m, on_param, c, e) < 0)
		return -1;
	if (l->user[0] == '\0')
		return err_set(e, ERRCODE_INVALID_AUTHORIZATION,
		    "no username supplied");
	if (l->user_too_long)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "username too long");
	if (c->replication != REPLICATION_NONE) {
		c->options = l->options;
		l->options = NULL;
	}
	if (l->options != NULL && read_options(c, l->options, e) < 0)
		return -1;
	if (l->db_name == NULL || l->db_name[0] == '\0')
		if (set_copy(&l->db_name, l->user, e) < 0)
			return -1;
	return settle_application_name(c, e);
}
