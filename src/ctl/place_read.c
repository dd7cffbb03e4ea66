/* place_read.c - what an ini file says of where the console is.
 * SPDX-License-Identifier: ISC */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/input.h"
#include "conf/env_settings.h"
#include "conf/file.h"
#include "conf/ini.h"
#include "conf/persist.h"
#include "ctl/place.h"

struct reader {
	struct settings *set;
	bool ours;		/* in [pgbouncer] */
	bool failed;		/* out of memory */
};

static void take_variable(void *arg, const struct env_setting *s)
{
	const struct reader *const r = arg;

	(void)option_set(option_find(s->key), r->set, s->value, NULL);
}

static enum ini_step on_section(void *arg, const char *name,
    const struct ini_place *at)
{
	struct reader *const r = arg;

	(void)at;
	r->ours = strcmp(name, "pgbouncer") == 0;
	if (r->ours && settings_reset(r->set) != 0)
		r->failed = true;
	if (r->ours)
		env_settings_each(ENV_DEFAULT, take_variable, r);
	return INI_GO;
}

static enum ini_step on_entry(void *arg, const char *key, const char *value,
    const struct ini_place *at)
{
	static const char *const wanted[] = { "admin_users", "listen_addr",
		"listen_port", "logfile", "pidfile", "stats_users", "unix_socket_dir",
		"user" };
	const struct reader *const r = arg;
	size_t i = 0;

	(void)at;
	while (i < sizeof(wanted) / sizeof(*wanted) &&
	    strcmp(wanted[i], key) != 0)
		i++;
	if (r->ours && i < sizeof(wanted) / sizeof(*wanted))
		(void)option_set(option_find(key), r->set, value, NULL);
	return INI_GO;
}

static void on_problem(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

static int read_file(struct reader *r, const char *path, unsigned depth);

static enum ini_step on_include(void *arg, const char *path,
    const struct ini_place *at)
{
	return read_file(arg, path, at->depth + 1) == 0 ? INI_GO : INI_BAD;
}

/* 0, or -1 with errno. */
static int read_file(struct reader *r, const char *path, unsigned depth)
{
	static const struct ini_ops ops = {
		.section = on_section,
		.entry = on_entry,
		.include = on_include,
		.problem = on_problem,
	};
	struct file_text f = { 0 };

	if (file_read(path, &f) != 0)
		return -1;
	const struct ini_source src = {
		.text = f.at, .len = f.len, .file = path, .depth = depth,
	};
	(void)ini_parse(&src, &ops, r);
	file_text_fini(&f);
	return 0;
}

/*
 * libpq takes a host for a folder by its slash alone. Like all names of the
 * file a relative one counts from where we stand.
 */
static int complete_folder(struct settings *s)
{
	const char *const dir = s->unix_socket_dir;
	char here[PATH_MAX], path[2 * PATH_MAX];

	if (dir == NULL || strchr("/@", dir[0]) != NULL ||
	    getcwd(here, sizeof(here)) == NULL)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", strcmp(here, "/") == 0 ? "" :
	    here, dir);
	return option_set(option_find("unix_socket_dir"), s, path, NULL);
}

int place_read(const char *path, struct settings *s, struct err *e)
{
	struct reader r = { .set = s };
	char persisted[PATH_MAX];

	if (settings_init(s) != 0)
		return err_nomem(e);
	if (read_file(&r, path, 0) != 0)
		return err_set(e, ERRCODE_IO_ERROR, "could not read \"%s\": %s",
		    path, input_why(errno));
	/* SET PERSIST wrote the file without a section */
	r.ours = true;
	if (persist_path(path, persisted, sizeof(persisted)) != NULL)
		(void)read_file(&r, persisted, 0);
	env_settings_each(ENV_FORCED, take_variable, &r);
	return r.failed || complete_folder(s) != 0 ? err_nomem(e) : 0;
}
