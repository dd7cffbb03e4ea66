/* place.c - where the console is, by an ini file, PG* variables and options.
 * SPDX-License-Identifier: ISC */
#include "ctl/place.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/text.h"
#include "conf/env_settings.h"
#include "conf/file.h"
#include "conf/ini.h"
#include "conf/persist.h"

#define CONSOLE "pgbouncer"	/* name of the database, and of its user */
#define ADDRESS_MAX 1024

int place_default(struct place *p, const char *key, const char *value)
{
	if (value == NULL || place_get(p, key) != NULL)
		return 0;
	if (p->count == PLACE_KEYS)
		return -1;
	char *const k = mem_strdup(key), *const v = mem_strdup(value);

	if (k == NULL || v == NULL) {
		mem_free(k);
		secret_free(v);
		return -1;
	}
	p->keys[p->count] = k;
	p->values[p->count++] = v;
	return 0;
}

const char *place_get(const struct place *p, const char *key)
{
	for (size_t i = 0; i < p->count; i++) {
		if (strcmp(p->keys[i], key) == 0)
			return p->values[i];
	}
	return NULL;
}

void place_fini(struct place *p)
{
	for (size_t i = 0; i < p->count; i++) {
		mem_free(p->keys[i]);
		secret_free(p->values[i]);
	}
	*p = (struct place){ .as = (uid_t)-1 };
}

static bool has_any(const struct place *p, const char *const *keys,
    const char *(*env)(const char *name))
{
	for (; *keys != NULL; keys++) {
		if (place_get(p, *keys) != NULL ||
		    (env != NULL && env(*keys) != NULL))
			return true;
	}
	return false;
}

bool place_is_named(const struct place *p,
    const char *(*env)(const char *name))
{
	static const char *const names[] = { "host", "hostaddr", "port",
		"service", "PGHOST", "PGHOSTADDR", "PGPORT", "PGSERVICE",
		NULL };

	return has_any(p, names, env);
}

/* --- what the ini says --- */

/* The first of a list; "all addresses" is this machine. */
static void first_address(const char *list, char *buf, size_t size)
{
	static const char separators[] = ", \t";
	static const char *const all[][2] = {
		{ "*", "localhost" }, { "0.0.0.0", "127.0.0.1" },
		{ "::", "::1" },
	};
	struct text t;

	list += strspn(list, separators);
	text_init(&t, buf, size);
	text_add_bytes(&t, list, strcspn(list, separators));
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (strcmp(buf, all[i][0]) == 0)
			text_copy(buf, size, all[i][1]);
	}
}

/*
 * May the listener of this socket have our password? A user who waits for the
 * pooler to be down may put a socket of their own where any user may.
 */
static bool is_trusted(const struct place_facts *f,
    const struct place_socket *s)
{
	const uid_t known[] = { 0, f->uid, f->keeper, f->author };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (s->uid == known[i])
			return true;
	}
	return f->ini != NULL && !s->shared;
}

/* The one at path is taken. 0, or -1 with e. */
static int take_socket(struct place *p, const struct place_facts *f,
    const struct place_socket *s, struct err *e)
{
	if (!is_trusted(f, s))
		return err_set(e, ERRCODE_INSUFFICIENT_PRIVILEGE,
		    "the socket for port %s belongs to %s (uid %u), which is "
		    "neither root, you, the \"user\" of the configuration nor "
		    "the owner of its file\nIf the pooler runs as that user, "
		    "name the folder by PGHOST or --dbname.",
		    place_get(p, "port"), s->owner[0] != '\0' ? s->owner :
		    "nobody known", (unsigned)s->uid);
	p->own = s->uid == f->uid || f->uid == 0;
	if (f->uid == 0 && s->uid != 0)
		p->as = s->uid;
	/*
	 * A shared socket may change hands until we connect, or connect again.
	 * Elsewhere the listener may be a service manager's.
	 */
	return place_default(p, "requirepeer", s->shared &&
	    s->owner[0] != '\0' ? s->owner : NULL) == 0 ? 0 : err_nomem(e);
}

/* Find the Unix socket; *dir is NULL if there is none. */
static int find_socket(struct place *p, const struct place_facts *f,
    const char **dir, struct err *e)
{
	const char *const at = f->ini == NULL ? "/tmp" :
	    f->ini->unix_socket_dir;
	char path[ADDRESS_MAX];
	struct place_socket s;

	*dir = NULL;
	if (at == NULL || at[0] == '\0')
		return 0;
	snprintf(path, sizeof(path), "%s/.s.PGSQL.%s", at,
	    place_get(p, "port"));
	if (at[0] != '@' && f->socket(path, &s) != 0)
		return 0;
	*dir = at;
	return at[0] == '@' ? 0 : take_socket(p, f, &s, e);
}

static int set_host(struct place *p, const struct place_facts *f,
    struct err *e)
{
	char address[ADDRESS_MAX] = "";
	const char *host;

	if (find_socket(p, f, &host, e) != 0)
		return -1;
	if (host == NULL && f->ini != NULL && f->ini->listen_addr != NULL) {
		first_address(f->ini->listen_addr, address, sizeof(address));
		/* nowhere else to look: the message will name the socket */
		host = address[0] != '\0' ? address : f->ini->unix_socket_dir;
	}
	return place_default(p, "host", host != NULL && host[0] != '\0' ?
	    host : "127.0.0.1") == 0 ? 0 : err_nomem(e);
}

/* The first word of a list of names; NULL: there is none. */
static const char *first_name(const char *list, char *buf, size_t size)
{
	first_address(list != NULL ? list : "", buf, size);
	return buf[0] != '\0' ? buf : NULL;
}

static int set_user(struct place *p, const struct place_facts *f)
{
	char buf[ADDRESS_MAX];
	const char *user = NULL;

	if (p->own)
		user = CONSOLE;
	else if (f->ini == NULL)
		return 0;
	else if (f->os_user != NULL &&
	    (text_list_has(f->ini->admin_users, f->os_user) ||
	    text_list_has(f->ini->stats_users, f->os_user)))
		user = f->os_user;
	if (user == NULL)
		user = first_name(f->ini->admin_users, buf, sizeof(buf));
	if (user == NULL)
		user = first_name(f->ini->stats_users, buf, sizeof(buf));
	return place_default(p, "user", user);
}

static int set_port(struct place *p, const struct place_facts *f)
{
	char port[16];

	snprintf(port, sizeof(port), "%d", f->ini != NULL ?
	    f->ini->listen_port : 6432);
	return place_default(p, "port", port);
}

int place_find(struct place *p, const struct place_facts *f, struct err *e)
{
	static const char *const services[] = { "service", "PGSERVICE", NULL };
	static const char *const hosts[] = { "host", "hostaddr", "PGHOST",
		"PGHOSTADDR", NULL };
	static const char *const users[] = { "user", "PGUSER", NULL };
	/* without an ini that was named, variables count */
	const char *(*const env)(const char *) = f->given ? NULL : f->env;

	p->as = (uid_t)-1;
	p->own = false;
	if (place_default(p, "user", f->user) != 0 ||
	    place_default(p, "dbname", CONSOLE) != 0)
		return err_nomem(e);
	if (has_any(p, services, env))
		return 0;
	if (env != NULL && env("PGPORT") != NULL &&
	    place_default(p, "port", env("PGPORT")) != 0)
		return err_nomem(e);
	if (set_port(p, f) != 0)
		return err_nomem(e);
	if (!has_any(p, hosts, env) && set_host(p, f, e) != 0)
		return -1;
	if (has_any(p, users, f->env)) {
		p->as = (uid_t)-1;
		p->own = false;
		return 0;
	}
	return set_user(p, f) == 0 ? 0 : err_nomem(e);
}

/*
 * A package installs one of them, although only the pooler of the other may
 * run.
 */

/* In the form of libpq, where '@' stands for the abstract name space. */
static bool socket_answers(const char *folder, int port)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const int n = snprintf(a.sun_path, sizeof(a.sun_path),
	    "%s/.s.PGSQL.%d", folder, port);

	if (n < 0 || (size_t)n >= sizeof(a.sun_path))
		return false;
	if (a.sun_path[0] == '@')
		a.sun_path[0] = '\0';
	const socklen_t len = (socklen_t)(offsetof(struct sockaddr_un,
	    sun_path) + (size_t)n);
	const int fd = os_socket(AF_UNIX, SOCK_STREAM);

	if (fd < 0)
		return false;
	/* a full queue is one of somebody who listens */
	const bool answers = connect(fd, (struct sockaddr *)&a, len) == 0 ||
	    errno == EAGAIN;

	close(fd);
	return answers;
}

static bool has_folder(const struct settings *s)
{
	return s->unix_socket_dir != NULL && s->unix_socket_dir[0] != '\0';
}

enum sight { MISSING, CLOSED_TO_US, SILENT, ANSWERS };

static enum sight look(const char *path,
    bool (*address_answers)(const struct settings *s))
{
	struct settings s = { 0 };
	struct err e;
	enum sight sight = SILENT;

	if (access(path, F_OK) != 0 && errno != EACCES)
		return MISSING;
	if (place_read(path, &s, &e) != 0)
		sight = CLOSED_TO_US;
	else if (has_folder(&s) ? socket_answers(s.unix_socket_dir,
	    s.listen_port) : address_answers(&s))
		sight = ANSWERS;
	settings_fini(&s);
	return sight;
}

const char *usual_choose(const char *const *paths, size_t count,
    bool (*address_answers)(const struct settings *s))
{
	enum sight best = MISSING;
	const char *chosen = NULL;

	for (size_t i = 0; i < count && best != ANSWERS; i++) {
		const enum sight sight = look(paths[i], address_answers);

		if (sight > best) {
			best = sight;
			chosen = paths[i];
		}
	}
	return chosen;
}

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
