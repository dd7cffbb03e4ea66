/* config_load.c - from files to a configuration; every problem is reported.
 * SPDX-License-Identifier: ISC */
#include "conf/config_load.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/config_parts.h"
#include "conf/env_settings.h"
#include "conf/file.h"
#include "conf/ini.h"
#include "conf/mock.h"
#include "conf/persist.h"
#include "conf/userlist.h"
#include "conf/words.h"

#define LINE_MAX_BYTES 2048	/* as much as a log line takes */

struct section {
	const char *name;
	/* Put one entry into the configuration; 0, or -1 with e. */
	int (*entry)(struct config *c, const char *key, const char *value,
	    struct err *e);
};

struct loader {
	struct config *c;	/* owned */
	const struct config *prev;
	config_report_fn *report;
	void *arg;
	bool only_check;	/* --check: nothing starts */
	struct err *e;
	unsigned problems;	/* which make the load fail */
	bool main_read;		/* the main file could be */
	bool forcing;		/* PGSLUICE_FORCE_... is read */
	bool main_seen;		/* a [pgbouncer] header */
	bool auth_closed;	/* the auth file can't be opened */
	bool in_unknown;	/* unknown section: its entries are no new
				 * problems */
	const char *persisted;	/* the file of SET PERSIST is read; or NULL */
	bool seen[OPTION_COUNT];	/* the settings that the files name */
	const struct section *section;	/* NULL before the first header */
};

static void say(const struct loader *l, const char *text)
{
	if (l->report != NULL)
		l->report(l->arg, LEVEL_ERROR, text);
}

static void warn(const struct loader *l, const char *text)
{
	if (l->report != NULL)
		l->report(l->arg, LEVEL_WARNING, text);
}

/* The load fails; why (may be empty) goes to e together with the text. */
static void config_load_fail(struct loader *l, const char *why, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));

static void config_load_fail(struct loader *l, const char *why, const char *fmt,
    ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (why[0] != '\0')
		say(l, why);
	say(l, line);
	if (l->problems++ == 0)
		err_set(l->e, ERRCODE_CONFIG_FILE_ERROR, "%s%s%s", line,
		    why[0] != '\0' ? ": " : "", why);
}

/* Is there a configuration in force that stays when this one fails? */
static bool is_reload(const struct loader *l)
{
	return l->prev != NULL && !l->prev->is_seed;
}

static int entry_main(struct config *c, const char *key, const char *value,
    struct err *e)
{
	const struct option_row *const o = option_find(key);

	if (o != NULL) {
		if (config_check_setting(key, value, e) != 0)
			return -1;
		return option_set(o, &c->set, value, e);
	}

	return config_unknown_setting(key, e);
}

/* The line's own keys win, because they stand behind. NULL: out of memory. */
static char *with_database_keys(const char *value)
{
	const char *const keys = env_database_keys();
	const size_t size = strlen(value) + (keys == NULL ? 0 :
	    strlen(keys)) + 2;
	char *const line = secmem_zalloc(size);

	if (line != NULL)
		snprintf(line, size, "%s%s%s", keys == NULL ? "" : keys,
		    keys == NULL ? "" : " ", value);
	return line;
}

static int entry_database(struct config *c, const char *key,
    const char *value, struct err *e)
{
	struct config_index *const ix = c->index;
	char *const line = with_database_keys(value);

	if (line == NULL)
		return err_nomem(e);
	if (strcmp(key, "*") == 0) {
		secmem_free(ix->auto_db);
		ix->auto_db = line;
		return 0;
	}

	struct config_db *const db = config_db_parse(key, line, e);

	secmem_free(line);
	if (db == NULL)
		return -1;
	if (config_index_put_db(ix, db) != 0)
		return err_nomem(e);
	return 0;
}

static int entry_user(struct config *c, const char *key, const char *value,
    struct err *e)
{
	struct config_user *const u = config_user_parse(key, value, e);

	if (u == NULL)
		return -1;
	if (config_index_put_user(c->index, u) != 0)
		return err_nomem(e);
	return 0;
}

static int entry_peer(struct config *c, const char *key, const char *value,
    struct err *e)
{
	struct config_peer *const p = config_peer_parse(key, value, e);

	if (p == NULL)
		return -1;
	if (config_index_put_peer(c->index, p) != 0)
		return err_nomem(e);
	return 0;
}

static const struct section sections[] = {
	{ .name = "pgbouncer", .entry = entry_main },
	{ .name = "databases", .entry = entry_database },
	{ .name = "users", .entry = entry_user },
	{ .name = "peers", .entry = entry_peer },
	{ .name = NULL },
};

/* SET PERSIST writes settings only, of [pgbouncer]. */
static enum ini_step refuse_persisted(struct loader *l,
    const struct ini_place *at)
{
	config_load_fail(l, "", "%s may contain only settings (line %u)",
	    at->file, at->line);
	return INI_BAD;
}

static const char *nearest_section(const char *name)
{
	struct nearest n;

	nearest_init(&n, name);
	for (const struct section *s = sections; s->name != NULL; s++)
		nearest_offer(&n, s->name);
	return n.best;
}

/* --- the environment --- */

/* Before the file, and again after each [pgbouncer], which resets settings. */
static void take_variable(void *arg, const struct env_setting *s)
{
	struct loader *const l = arg;
	char line[LINE_MAX_BYTES];
	struct err why = { 0 };

	snprintf(line, sizeof line, "environment (%s)", s->variable);
	if (entry_main(l->c, s->key, s->value, &why) == 0 &&
	    config_note_source(l->c, option_index(s->key), line) != 0)
		err_nomem(&why);
	if (why.text[0] != '\0' && (!l->main_read || l->forcing ||
	    err_is_nomem(&why)))
		config_load_fail(l, why.text,
		    "invalid value for parameter %s in the "
		    "environment (%s)",
		    s->key, s->variable);
}

static void on_unknown_variable(void *arg, const char *variable,
    const char *near)
{
	char line[LINE_MAX_BYTES];

	snprintf(line, sizeof line, "%s in the environment is not a setting%s%s%s",
	    variable, near != NULL ? " (did you mean \"" : "",
	    near != NULL ? near : "", near != NULL ? "\"?)" : "");
	warn(arg, line);
}

static void check_database_keys(struct loader *l)
{
	const char *const keys = env_database_keys();
	struct err why;
	struct config_db *const db = keys == NULL ? NULL :
	    config_db_parse("any", keys, &why);

	if (keys != NULL && db == NULL)
		config_load_fail(l, why.text,
		    "invalid PGSLUICE_DATABASE_KEYS in the "
		    "environment");
	config_db_free(db);
}

static void load_environment(struct loader *l)
{
	env_settings_each(ENV_DEFAULT, take_variable, l);
	env_settings_unknown(on_unknown_variable, l);
	check_database_keys(l);
}

static void load_forced(struct loader *l)
{
	l->forcing = true;
	env_settings_each(ENV_FORCED, take_variable, l);
}

/* --- a file --- */

static int reset_settings(struct loader *l)
{
	size_t count;
	const struct option_row *const rows = option_rows(&count);

	if (settings_reset(&l->c->set) != 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (rows[i].def != NULL)
			(void)config_note_source(l->c, i, NULL);
	}
	env_settings_each(ENV_DEFAULT, take_variable, l);
	return 0;
}

static enum ini_step on_section(void *arg, const char *name,
    const struct ini_place *at)
{
	struct loader *const l = arg;
	const struct section *s = sections;

	if (l->persisted != NULL)
		return refuse_persisted(l, at);
	while (s->name != NULL && strcmp(s->name, name) != 0)
		s++;
	l->section = s;
	l->in_unknown = s->name == NULL;
	if (l->in_unknown) {
		const char *const near = nearest_section(name);

		config_load_fail(l, "fill_defaults fail",
		    "invalid section \"%s\" in "
		    "configuration (%s:%u)%s%s%s",
		    name, at->file, at->line,
		    near != NULL ? ", did you mean \"" : "",
		    near != NULL ? near : "", near != NULL ? "\"?" : "");
		return INI_BAD;
	}
	if (s->entry != entry_main)
		return INI_GO;
	l->main_seen = true;
	memset(l->seen, 0, sizeof(l->seen));
	if (reset_settings(l) == 0)
		return INI_GO;
	config_load_fail(l, "", "out of memory");
	return INI_STOP;
}

struct entry {
	const char *key, *value;
};

static void fail_entry(struct loader *l, const struct entry *entry,
    const struct err *why, const struct ini_place *at)
{
	const char *const key = entry->key, *const value = entry->value;
	const size_t shown = words_public_len(key) < strlen(key) ?
	    0 : words_public_len(value);

	config_load_fail(l, why->text,
	    "invalid value \"%.*s%s\" for parameter %s in configuration "
	    "(%s:%u)", (int)shown, value, value[shown] != '\0' ? "..." : "",
	    key, at->file, at->line);
}

/*
 * What the console must not change, it must not have changed before it was
 * locked either. And what the operator wrote in a file apart must not
 * lose its effect without a word.
 */
static bool may_persist(const struct loader *l, const char *key,
    const struct ini_place *at)
{
	const bool locked = option_is_locked(key, &l->c->set);
	char line[LINE_MAX_BYTES];

	if (!locked && (option_find(key) == NULL ||
	    !l->seen[option_index(key)]))
		return true;
	snprintf(line, sizeof(line), locked ?
	    "%s is locked by console_locked_settings: %s:%u is ignored" :
	    "%s is set by %s:%u, which overrides the main file", key, at->file,
	    at->line);
	if (l->report != NULL)
		l->report(l->arg, locked ? LEVEL_WARNING : LEVEL_INFO, line);
	return !locked;
}

/* One entry of the section; 0, or -1 with e. */
static int config_load_take_entry(struct loader *l, const struct entry *entry,
    const struct ini_place *at, struct err *e)
{
	char text[LINE_MAX_BYTES];

	if (l->section->entry(l->c, entry->key, entry->value, e) != 0)
		return -1;
	if (l->section != &sections[0])
		return 0;
	snprintf(text, sizeof text, "%s:%u", at->file, at->line);
	return config_note_source(l->c, option_index(entry->key), text) != 0 ?
	    err_nomem(e) : 0;
}

static enum ini_step config_load_on_entry(void *arg, const char *key,
    const char *value, const struct ini_place *at)
{
	struct loader *const l = arg;
	const struct entry entry = { key, value };
	struct err why = { 0 };

	if (l->in_unknown || (l->persisted != NULL &&
	    !may_persist(l, key, at)))
		return INI_GO;
	if (l->section == &sections[0] && option_find(key) != NULL)
		l->seen[option_index(key)] = true;
	if (l->section == NULL)
		err_set(&why, ERRCODE_INVALID_PARAMETER_VALUE,
		    "load_init_file: value without section: %s", key);
	else if (config_load_take_entry(l, &entry, at, &why) == 0)
		return INI_GO;
	fail_entry(l, &entry, &why, at);
	return err_is_nomem(&why) ? INI_STOP : INI_BAD;
}

/* Recursive, by on_include(). */
static enum ini_step load_file(struct loader *l, const char *path,
    unsigned depth);

static enum ini_step on_include(void *arg, const char *path,
    const struct ini_place *at)
{
	const struct loader *const l = arg;

	if (l->persisted != NULL)
		return refuse_persisted(arg, at);
	return load_file(arg, path, at->depth + 1);
}

static void config_load_on_problem(void *arg, const char *text)
{
	config_load_fail(arg, "", "%s", text);
}

static enum ini_step load_file(struct loader *l, const char *path,
    unsigned depth)
{
	static const struct ini_ops ops = {
		.section = on_section,
		.entry = config_load_on_entry,
		.include = on_include,
		.problem = config_load_on_problem,
	};
	struct file_text f = { 0 };

	if (file_read(path, &f) != 0) {
		config_load_fail(l, "", "could not load file \"%s\": %s", path,
		    input_why(errno));
		return INI_BAD;
	}
	l->main_read = true;

	const struct ini_source src = {
		.text = f.at, .len = f.len, .file = path, .depth = depth,
	};
	enum ini_step step = INI_BAD;
	struct err why;

	if (depth > 0 && config_note_include(l->c, l->prev, &src, &why) < 0)
		config_load_fail(l, "", "%s", why.text);
	else
		step = ini_parse(&src, &ops, l);
	file_text_fini(&f);
	return step;
}

/* Settings of SET PERSIST, as if they stood last in [pgbouncer]. */
static void load_persisted(struct loader *l, const char *ini)
{
	char path[PATH_MAX];
	struct err why;

	if (persist_path(ini, path, sizeof path) == NULL)
		return;
	if (input_begin(path) < 0) {
		config_load_fail(l, "", "could not load file \"%s\": %s", path,
		    input_why(errno));
		return;
	}
	const bool is_there = access(path, F_OK) == 0;
	const int rc = is_there ? persist_check(path, ini, &why) : 0;

	input_watch_end();
	if (rc < 0)
		config_load_fail(l, "", "%s", why.text);
	if (!is_there || rc < 0)
		return;
	l->section = &sections[0];
	l->in_unknown = false;
	l->persisted = path;
	load_file(l, path, 1);
	l->persisted = NULL;
}

/* As if o's setting were in the file, in place of an older value. */
static void load_tried(struct loader *l, const struct config_order *o)
{
	struct err why;

	if (o->key != NULL && entry_main(l->c, o->key, o->value, &why) != 0)
		config_load_fail(l, "", "%s", why.text);
}

static bool has_no_default(const struct option_row *o)
{
	return o->def == NULL;
}

static bool counts_at_start(const struct option_row *o)
{
	return o->effect == OPT_START;
}

/* A setting that a reload can't change: the new value does not count yet. */
static void tell_restart(const struct loader *l, const struct option_row *o)
{
	char buf[64], was_buf[64], line[LINE_MAX_BYTES];
	const char *const now = option_show(o, &l->c->set, buf, sizeof(buf));
	const char *const was = option_show(o, &l->prev->set, was_buf,
	    sizeof(was_buf));

	if (now == was || (now != NULL && was != NULL && strcmp(now, was) == 0))
		return;
	snprintf(line, sizeof(line), "%s: \"%s\" takes effect after a restart; "
	    "\"%s\" is in use", o->name, now != NULL ? now : "",
	    was != NULL ? was : "");
	warn(l, line);
}

static int keep_until_restart(const struct loader *l)
{
	size_t count;
	const struct option_row *const rows = option_rows(&count);

	for (size_t i = 0; i < count; i++)
		if (counts_at_start(&rows[i]))
			tell_restart(l, &rows[i]);
	return config_take(l->c, l->prev, counts_at_start);
}

/* Everything as it is before the first line of the file. */
static struct config *config_load_begin(const char *path,
    const struct config *prev)
{
	struct config *c = config_seed(0);

	if (c == NULL)
		return NULL;
	c->is_seed = false;
	c->path = mem_strdup(path);
	if (c->path == NULL ||
	    (prev != NULL && config_take(c, prev, has_no_default) != 0))
		goto config_load_fail;
	if (c->set.conffile == NULL) {
		c->set.conffile = secmem_strdup(path);
		if (c->set.conffile == NULL)
			goto config_load_fail;
	}
	return c;
config_load_fail:
	config_unref(&c);
	return NULL;
}

/*
 * A mistake in the auth file: neither a reload nor a start takes a part of it.
 * A start goes on without the file. (spec/config-files.md section 7)
 */
static void on_auth_line(void *arg, enum log_level level, const char *text)
{
	struct loader *const l = arg;

	if (level > LEVEL_ERROR)
		warn(l, text);
	else if (is_reload(l) || !l->auth_closed)
		config_load_fail(l, "", "%s", text);
	else
		say(l, text);
}

/* Caught between truncating and writing? No reload locks everybody out. */
static void check_blank(struct loader *l, const struct userlist *old)
{
	const struct userlist *const now = l->c->userlist;

	if (old != NULL && userlist_count(old) > 0 && userlist_is_blank(now))
		config_load_fail(l, "",
		    "auth_file %s is empty and was not before: if this is "
		    "intended, put a comment in it",
		    l->c->set.auth_file);
}

/* Unchanged, the list stays, and with it what was derived from its secrets. */
static void load_userlist(struct loader *l)
{
	const char *const path = l->c->set.auth_file;
	const int type = l->c->set.auth_type;
	struct userlist *const old = l->prev != NULL ? l->prev->userlist : NULL;

	if (type == AUTH_ANY || type == AUTH_PAM || path == NULL ||
	    path[0] == '\0')
		return;
	if (input_begin(path) < 0) {
		config_load_fail(l, "", "could not open auth_file %s: %s", path,
		    input_why(errno));
		return;
	}
	l->auth_closed = access(path, R_OK) != 0;
	errno = 0;
	if (old == NULL || !userlist_is_current(old, path))
		l->c->userlist = userlist_load(path, on_auth_line, l);
	if (l->c->userlist == NULL && errno == ENOMEM)
		config_load_fail(l, "", "out of memory");
	input_watch_end();
	if (l->c->userlist != NULL)
		check_blank(l, old);
	else if (old != NULL)
		l->c->userlist = userlist_ref(old);
}

static void config_load_on_hba_line(void *arg, enum log_level level,
    const char *text)
{
	struct loader *const l = arg;

	if (level > LEVEL_ERROR)
		warn(l, text);
	else
		config_load_fail(l, "", "%s", text);
}

/* Without all of its rules neither a reload nor a start goes on. */
static void load_hba(struct loader *l)
{
	const unsigned before = l->problems;
	struct err why;

	if (config_load_hba(l->c, config_load_on_hba_line, l, &why) != 0 &&
	    l->problems == before)
		config_load_fail(l, "", "%s", why.text);
}

/* The "*" text is used when clients ask; a mistake is told now already. */
static void check_auto_db(const struct loader *l)
{
	struct err why;
	char line[LINE_MAX_BYTES];

	if (l->c->auto_db == NULL)
		return;

	struct config_db *const db = config_auto_db(l->c, "any", &why);
	config_db_free(db);
	if (db != NULL)
		return;
	snprintf(line, sizeof(line), "the \"*\" entry can't be used: %s",
	    why.text);
	say(l, line);
}

static void on_unusable(void *arg, const char *line)
{
	warn(arg, line);
}

/*
 * Kubernetes mounts secrets in mode 0644, and only the pod can see them. So a
 * file that everybody may read is no problem for --check.
 */
static void on_exposed(void *arg, enum config_exposure how, const char *line)
{
	struct loader *const l = arg;

	if (l->c->set.strict_permissions)
		config_load_fail(l, "", "%s: strict_permissions forbids it",
		    line);
	else if (l->only_check && how == CONFIG_READABLE && l->report != NULL)
		l->report(l->arg, LEVEL_INFO, line);
	else
		warn(l, line);
}

static int config_load_finish(struct loader *l)
{
	struct config *const c = l->c;
	struct config_index *const ix = c->index;
	struct err why;

	if (l->main_read && !l->main_seen)
		config_load_fail(l, "",
		    "load_init_file: main section missing from "
		    "config file");
	c->auto_db = ix->auto_db;
	check_auto_db(l);
	load_userlist(l);
	load_hba(l);
	config_find_exposed(c, on_exposed, l);
	if (config_complete(c, &why) < 0 ||
	    token_load(c->set.http_auth_token_file, &c->http_token, &why) < 0)
		config_load_fail(l, "", "%s", why.text);
	/* mock_load() is slow: not for files that are refused anyway */
	if (l->problems == 0 && mock_load(c, l->prev, &why) < 0)
		config_load_fail(l, "", "%s", why.text);
	if (l->problems > 0)
		return -1;
	if (is_reload(l) && keep_until_restart(l) != 0)
		config_load_fail(l, "", "out of memory");
	c->dbs = config_index_link_dbs(ix);
	c->users = config_index_link_users(ix);
	c->peers = config_index_link_peers(ix);
	config_find_unusable(c, on_unusable, l);
	return l->problems == 0 ? 0 : -1;
}

struct config *config_load_with(const struct config_order *o, struct err *e)
{
	struct loader l = {
		.c = config_load_begin(o->path, o->prev),
		.prev = o->prev,
		.only_check = o->only_check,
		.report = o->report,
		.arg = o->arg,
		.e = e,
	};

	if (l.c == NULL) {
		config_load_fail(&l, "", "out of memory");
		return NULL;
	}
	load_environment(&l);
	load_file(&l, o->path, 0);
	load_persisted(&l, o->path);
	load_tried(&l, o);
	load_forced(&l);
	if (config_load_finish(&l) != 0)
		config_unref(&l.c);
	return l.c;
}

struct config *config_load(const char *path, const struct config *prev,
    config_report_fn *report, void *arg, struct err *e)
{
	return config_load_with(&(struct config_order){ .path = path,
		.prev = prev, .report = report, .arg = arg }, e);
}
