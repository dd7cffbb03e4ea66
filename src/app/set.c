/* set.c - SET: one setting of the configuration in force is changed.
 * SPDX-License-Identifier: ISC */
#include "app/set.h"

#include "app/app.h"
#include "app/apply.h"
#include "base/err.h"
#include "upstream/tls_setup.h"

static int check_lock(const struct app *app, const char *key, struct err *e)
{
	if (!option_is_locked(key, &app->config->set))
		return 0;
	return err_set(e, ERRCODE_INSUFFICIENT_PRIVILEGE,
	    "%s can't be changed from the console (console_locked_settings)",
	    key);
}

int set_try(const struct app *app, const char *key, const char *value,
    struct err *e)
{
	struct config *tried;

	if (check_lock(app, key, e) < 0)
		return -1;
	tried = config_with(app->config, key, value, e);
	if (tried == NULL)
		return -1;
	config_unref(&tried);
	return 0;
}

/* Of a value that is right; "" when it is in force. */
static const char *why_without_effect(const char *key,
    const struct tls_setup *tls)
{
	if (option_find(key)->effect == OPT_START)
		return "this setting is read at the start only, the value in "
		    "force stays";
	if (apply_is_about_tls(key) && tls == NULL)
		return "TLS settings could not be applied, still using old "
		    "configuration";
	return "";
}

int set_now(struct app *app, const char *key, const char *value,
    struct err *e)
{
	const struct settings *set = &app->config->set;
	const int verbose = set->verbose, syslog = set->syslog,
	    format = set->log_format;
	struct config *fresh = check_lock(app, key, e) < 0 ? NULL :
	    config_with(app->config, key, value, e);
	struct tls_setup *tls = NULL;

	if (fresh == NULL)
		return -1;
	if (apply_is_about_tls(key)) {
		tls = apply_new_tls(fresh);
	} else if (tls_setup_is_asked_for(key) &&
	    tls_setup_check(fresh, e) < 0) {
		config_unref(&fresh);
		return -1;
	}
	if (apply_config(app, fresh, tls, e) < 0)
		return -1;
	app->set_since[option_index(key)] = true;
	/* key and certificate are changed one after the other */
	err_set(e, ERRCODE_SUCCESSFUL_COMPLETION, "%s", why_without_effect(key,
	    tls));
	set = &app->config->set;
	if (set->verbose != verbose || set->syslog != syslog ||
	    set->log_format != format)
		apply_log(app);
	return 0;
}
