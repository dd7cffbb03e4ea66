/* secret.c - a server's password that changes: where it is from, what it may be.
 * SPDX-License-Identifier: ISC */
#include "conf/secret.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "conf/command_line.h"
#include "conf/config.h"

#define LINE_MAX_BYTES 2048

static int bad(struct err *e, const char *why)
{
	return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "%s", why);
}

int secret_take_line(char *text, size_t len, struct err *e)
{
	if (memchr(text, '\0', len) != NULL)
		return bad(e, "it has a NUL byte");
	if (len > 0 && text[len - 1] == '\n')
		len--;
	if (len > 0 && text[len - 1] == '\r')
		len--;
	if (len == 0)
		return bad(e, "it is empty");
	if (memchr(text, '\n', len) != NULL)
		return bad(e, "it has more than one line");
	if (len > SECRET_TEXT_MAX)
		return bad(e, "it is longer than 64 kB");
	text[len] = '\0';
	return 0;
}

/* --- files --- */

static struct secret_place place_of(const struct stat *st)
{
	return (struct secret_place){ st->st_dev, st->st_ino, st->st_size,
		st->st_ctim, st->st_mtim };
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_place(const struct secret_place *a,
    const struct secret_place *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	    same_time(&a->changed, &b->changed) &&
	    same_time(&a->written, &b->written);
}

static int read_open(int fd, struct secret_place *place, char *text,
    struct err *e)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return bad(e, input_why(errno));
	const struct secret_place now = place_of(&st);

	if (same_place(&now, place))
		return 0;
	*place = now;
	const ssize_t n = input_read(fd, text, SECRET_BUFFER - 1);

	if (n < 0)
		return bad(e, input_why(errno));
	return secret_take_line(text, (size_t)n, e) < 0 ? -1 : 1;
}

int secret_read_file(const char *path, struct secret_place *place, char *text,
    struct err *e)
{
	const int fd = input_open(path);
	const int rc = read_open(fd, place, text, e);

	if (fd >= 0)
		close(fd);
	input_watch_end();
	if (rc < 0)
		err_prepend(e, "password_file \"%s\": ", path);
	return rc;
}

/* --- --check --- */

struct check {
	secret_problem_fn *problem;
	void *arg;
	char *text;		/* owned: room for a password */
};

static void check_file(const struct check *c, const char *path, struct err *e)
{
	struct secret_place place = { .dev = 0 };

	if (secret_read_file(path, &place, c->text, e) >= 0)
		e->text[0] = '\0';
	secret_wipe(c->text, SECRET_BUFFER);
}

static void check_command(const char *command, struct err *e)
{
	struct command_line line;
	struct stat st;

	/* it was parsed when the line was */
	if (command_line_parse(command, &line, e) < 0)
		return;
	const char *const program = line.words;

	if (stat(program, &st) < 0 || access(program, X_OK) < 0)
		err_set(e, ERRCODE_CONFIG_FILE_ERROR, "password_command: "
		    "\"%s\" cannot be run: %s", program, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		err_set(e, ERRCODE_CONFIG_FILE_ERROR, "password_command: "
		    "\"%s\" cannot be run: not a regular file", program);
	command_line_fini(&line);
}

static void check_one(const struct check *c, const struct config_secret *s,
    const char *kind, const char *name)
{
	struct err e = { .text = "" };
	char line[LINE_MAX_BYTES];

	if (s->file != NULL)
		check_file(c, s->file, &e);
	else if (s->command != NULL)
		check_command(s->command, &e);
	if (e.text[0] == '\0')
		return;
	snprintf(line, sizeof line, "%s \"%s\": %s", kind, name, e.text);
	c->problem(c->arg, line);
}

void secret_check_all(const struct config *c, secret_problem_fn *problem,
    void *arg)
{
	const struct check check = { problem, arg,
		secmem_zalloc(SECRET_BUFFER) };
	struct err e;

	if (check.text == NULL) {
		problem(arg, "out of memory");
		return;
	}
	for (const struct config_db *db = c->dbs; db != NULL; db = db->next)
		check_one(&check, &db->secret, "database", db->name);
	for (const struct config_user *u = c->users; u != NULL; u = u->next)
		check_one(&check, &u->secret, "user", u->name);
	struct config_db *const any = config_auto_db(c, "*", &e);

	if (any != NULL)
		check_one(&check, &any->secret, "database", "*");
	config_db_free(any);
	secmem_free(check.text);
}
