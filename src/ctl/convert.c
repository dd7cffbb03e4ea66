/* convert.c - pgsluicectl convert: the files of other poolers.
 * SPDX-License-Identifier: ISC */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/input.h"
#include "base/text.h"
#include "conf/file.h"
#include "ctl/braces.h"
#include "ctl/command.h"
#include "ctl/convert_parts.h"
#include "ctl/toml.h"

/* --- writing --- */

/* In double quotes; in an ini file, where it would be mistaken otherwise. */
static void put_quoted(FILE *f, const char *s, char quote)
{
	fputc(quote, f);
	for (; *s != '\0'; s++) {
		if (*s == quote)
			fputc(quote, f);
		fputc(*s, f);
	}
	fputc(quote, f);
}

static bool is_plain(const char *s)
{
	return *s != '\0' && s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:/*-")] == '\0';
}

static void put_line(FILE *f, const struct facts *out, const char *scope)
{
	char name[256];

	facts_word(scope, 1, name, sizeof name);
	if (strcmp(name, "*") == 0 || (is_plain(name) &&
	    strpbrk(name, "*.,:/") == NULL))
		fputs(name, f);
	else
		put_quoted(f, name, '"');
	fputs(" =", f);
	for (size_t i = 0; i < out->count; i++) {
		const struct fact *const one = &out->at[i];

		if (strcmp(one->scope, scope) != 0)
			continue;
		fprintf(f, " %s=", one->key);
		if (is_plain(one->value))
			fputs(one->value, f);
		else
			put_quoted(f, one->value, '\'');
	}
	fputc('\n', f);
}

static bool is_seen(const struct facts *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(out->at[i].scope, out->at[n].scope) == 0)
			return true;
	}
	return false;
}

static void put_section(FILE *f, const struct facts *out, const char *name)
{
	const size_t len = strlen(name);
	bool begun = false;

	for (size_t i = 0; i < out->count; i++) {
		const char *const scope = out->at[i].scope;

		if (strncmp(scope, name, len) != 0 ||
		    scope[len] != FACT_SEP[0] || is_seen(out, i))
			continue;
		if (!begun)
			fprintf(f, "[%s]\n", name);
		begun = true;
		put_line(f, out, scope);
	}
	if (begun)
		fputc('\n', f);
}

static void put_ini(FILE *f, const struct facts *out, const char *auth_file)
{
	put_section(f, out, "databases");
	put_section(f, out, "users");
	fputs("[pgbouncer]\n", f);
	if (facts_get(out, OUT_SETTINGS, "auth_type") == NULL)
		fputs("auth_type = scram-sha-256\n", f);
	fprintf(f, "auth_file = %s\n", auth_file);
	for (size_t i = 0; i < out->count; i++) {
		if (out->at[i].scope[0] == '\0')
			fprintf(f, "%s = %s\n", out->at[i].key,
			    out->at[i].value);
	}
}

static void put_auth(FILE *f, const struct facts *out, const char *unused)
{
	(void)unused;
	fputs("; user and password\n", f);
	for (size_t i = 0; i < out->count; i++) {
		if (strcmp(out->at[i].scope, OUT_AUTH) != 0)
			continue;
		put_quoted(f, out->at[i].key, '"');
		fputc(' ', f);
		put_quoted(f, out->at[i].value, '"');
		fputc('\n', f);
	}
}

/* A new file for its owner alone: there are passwords in both. */
static int write_file(const char *path, const struct facts *out,
    void (*put)(FILE *, const struct facts *, const char *), const char *arg)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    S_IRUSR | S_IWUSR);
	FILE *const f = fd < 0 ? NULL : fdopen(fd, "w");

	if (f == NULL)
		return ctl_fail("could not make %s: %s", path,
		    strerror(errno));
	put(f, out, arg);
	const bool failed = ferror(f) != 0;

	if (fclose(f) != 0 || failed)
		return ctl_fail("could not write %s", path);
	return CTL_OK;
}

static int write_all(const struct convert *cv, const char *folder)
{
	char real[PATH_MAX], ini[PATH_MAX + 32], auth[PATH_MAX + 32];

	if (realpath(folder, real) == NULL)
		return ctl_fail("could not find %s: %s", folder,
		    strerror(errno));
	snprintf(ini, sizeof ini, "%s/pgsluice.ini", real);
	snprintf(auth, sizeof auth, "%s/userlist.txt", real);
	const int rc = write_file(auth, &cv->out, put_auth, NULL);

	if (rc != CTL_OK)
		return rc;
	if (write_file(ini, &cv->out, put_ini, auth) != CTL_OK) {
		unlink(auth);
		return CTL_FAILED;
	}
	printf("%s and userlist.txt are written, with %zu remarks.\n"
	    "Next: pgsluicectl check %s\n", ini, cv->remarks.count, ini);
	return ctl_flush();
}

/* --- reading --- */

static int read_toml(struct convert *cv, const char *text)
{
	return toml_read(text, &cv->in, cv->e) < 0 ? -1 : convert_pgcat(cv);
}

static int read_braces(struct convert *cv, const char *text)
{
	return braces_read(text, &cv->in, cv->e) < 0 ? -1 :
	    convert_odyssey(cv);
}

/* By the file's first sign of a section: PgCat's begin with a bracket. */
static int read_text(struct convert *cv, const char *text)
{
	const char *at = text;

	for (; *at != '\0'; at += strcspn(at, "\n"), at += *at != '\0') {
		at += strspn(at, " \t");
		if (*at == '[')
			return read_toml(cv, text);
		if (*at != '#' && at[strcspn(at, "#{\n")] == '{')
			break;
	}
	return read_braces(cv, text);
}

static int convert_text(struct convert *cv, const char *text)
{
	const int rc = read_text(cv, text);

	convert_print_remarks(cv);
	if (rc < 0)
		return ctl_fail("%s: %s", cv->path, cv->e->text);
	return cv->routes.count > 0 ? CTL_OK :
	    ctl_fail("%s has no pool, and no database with a storage",
	    cv->path);
}

static int convert(const struct ctl_options *o, int argc, char **argv)
{
	struct file_text file = { .at = NULL };
	struct err e;
	struct convert cv = { .path = argv[0], .e = &e };

	(void)o;
	(void)argc;
	if (file_read(argv[0], &file) != 0)
		return ctl_fail("could not read %s: %s", argv[0],
		    input_why(errno));
	int rc = strlen(file.at) != file.len ?
	    ctl_fail("%s has a NUL byte in it", argv[0]) :
	    convert_text(&cv, file.at);

	if (rc == CTL_OK)
		rc = write_all(&cv, argv[1]);
	facts_fini(&cv.remarks);
	facts_fini(&cv.in);
	facts_fini(&cv.out);
	facts_fini(&cv.routes);
	file_text_fini(&file);
	return rc;
}

const struct ctl_command *convert_commands(void)
{
	static const struct ctl_command commands[] = {
		{ "convert", NULL, "FILE FOLDER",
		    "write the configuration of PgCat or Odyssey anew",
		    2, 2, convert, 0 },
		{ .group = NULL },
	};

	return commands;
}
