/* log_place.c - where the pooler writes its log.
 * SPDX-License-Identifier: ISC */
#include "ctl/log_place.h"

#include <libpq-fe.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "ctl/grid.h"
#include "ctl/link.h"

/* What a link of /proc/PID leads to; "": nobody tells us. */
static void follow(long pid, const char *name, char *buf, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/%s", pid, name);
	const ssize_t n = pid <= 0 ? -1 : readlink(path, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
}

/* A relative name counts from where the pooler stands. */
static void add_file(struct text *t, const char *file, long pid)
{
	char folder[PATH_MAX] = "";

	if (file[0] != '/')
		follow(pid, "cwd", folder, sizeof(folder));
	if (folder[0] == '/')
		text_addf(t, "%s/", strcmp(folder, "/") == 0 ? "" : folder);
	text_add(t, file);
}

/* No file, no syslog: a service manager may read it, or it is a file. */
static void add_stderr(struct text *t, long pid)
{
	char target[PATH_MAX];

	follow(pid, "fd/2", target, sizeof(target));
	if (strcmp(target, "/dev/null") == 0)
		text_add(t, "none, see the settings logfile and syslog");
	else if (strncmp(target, "socket:", strlen("socket:")) == 0)
		text_addf(t, "the journal: journalctl _PID=%ld", pid);
	else if (target[0] == '/')
		text_add(t, target);
	else if (pid > 0)
		text_addf(t, "standard error of process %ld", pid);
	else
		text_add(t, "standard error");
}

static const char *setting(const struct grid *g, const char *key)
{
	const char *const value = grid_value(g, key);

	return value != NULL ? value : "";
}

static void add_places(struct text *t, const struct grid *config, long pid)
{
	const char *const file = setting(config, "logfile");
	const bool syslog = strcmp(setting(config, "syslog"), "1") == 0;

	if (file[0] != '\0')
		add_file(t, file, pid);
	if (syslog)
		text_addf(t, "%ssyslog as %s", file[0] != '\0' ? ", " : "",
		    setting(config, "syslog_ident"));
	if (file[0] == '\0' && !syslog)
		add_stderr(t, pid);
}

int log_place(struct link *l, char *buf, size_t size)
{
	struct grid config;
	struct err e;
	struct text t;

	text_init(&t, buf, size);
	if (PQstatus(l->conn) != CONNECTION_OK ||
	    link_ask(l, "SHOW CONFIG", &config, &e) != LINK_OK)
		return -1;
	add_places(&t, &config, link_pid(l));
	link_give_back(&config);
	return 0;
}
