/* persist.c - settings of the console that outlive a reload and a restart.
 * SPDX-License-Identifier: ISC */
#include "conf/persist.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/file.h"
#include "conf/ini.h"
#include "conf/options.h"

#define ENTRY_MAX 2048		/* bytes of a key with its value and comment */

static const char heading[] =
    "; Written by SET PERSIST, and read behind the main file.\n";

char *persist_path(const char *ini, char *buf, size_t size)
{
	const int n = snprintf(buf, size, "%s" PERSIST_SUFFIX, ini);

	return n > 0 && (size_t)n < size ? buf : NULL;
}

/* --- the text --- */

/* Is line about key: "key = ..." or "; key was ..."? */
static bool is_about(const char *line, const char *key)
{
	const size_t n = strlen(key);

	if (strncmp(line, "; ", 2) == 0)
		line += 2;
	return strncmp(line, key, n) == 0 && strchr(" \t=", line[n]) != NULL &&
	    line[n] != '\0';
}

/* Older versions wrote there which value, maybe a secret, had been replaced. */
static bool is_old_note(const char *line)
{
	if (strncmp(line, "; ", 2) != 0)
		return false;
	line += 2;
	line += strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789_");
	return strncmp(line, " was \"", 6) == 0 ||
	    strncmp(line, " was not set", 12) == 0;
}

/* The name of a user may hold any byte. */
static void add_note(struct text *out, const struct persist_entry *entry)
{
	text_addf(out, "; %s was set by ", entry->key);
	for (const char *c = entry->by; *c != '\0'; c++)
		text_add_bytes(out, (unsigned char)*c < ' ' ? "?" : c, 1);
	text_add(out, "\n");
}

/* The old text without lines about key, and then the new entry. */
static void compose(struct text *out, const char *old,
    const struct persist_entry *entry)
{
	if (old[0] == '\0')
		text_add(out, heading);
	while (old[0] != '\0') {
		const size_t n = strcspn(old, "\n");
		const size_t whole = n + (old[n] == '\n');

		if (!is_about(old, entry->key) && !is_old_note(old)) {
			text_add_bytes(out, old, n);
			text_add(out, "\n");
		}
		old += whole;
	}
	add_note(out, entry);
	text_addf(out, "%s = %s\n", entry->key, entry->value);
}

/* --- the text is read as the next start will read it --- */

struct reading {
	const struct persist_entry *entry;
	unsigned right;		/* entries of its key with its value */
	bool wrong;		/* an entry of its key with another value */
	unsigned foreign;	/* line of what is no setting; 0: none */
};

static enum ini_step foreign(struct reading *r, unsigned line)
{
	if (r->foreign == 0)
		r->foreign = line;
	return INI_BAD;
}

static enum ini_step on_other(void *arg, const char *name,
    const struct ini_place *at)
{
	(void)name;
	return foreign(arg, at->line);
}

static enum ini_step persist_on_entry(void *arg, const char *key,
    const char *value, const struct ini_place *at)
{
	struct reading *const r = arg;

	if (option_find(key) == NULL)
		return foreign(r, at->line);
	if (strcmp(key, r->entry->key) != 0)
		return INI_GO;
	if (strcmp(value, r->entry->value) == 0)
		r->right++;
	else
		r->wrong = true;
	return INI_GO;
}

static void persist_on_problem(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

static int check(const char *path, const struct text *content,
    const struct persist_entry *entry, struct err *e)
{
	static const struct ini_ops ops = {
		.section = on_other,
		.entry = persist_on_entry,
		.include = on_other,
		.problem = persist_on_problem,
	};
	struct reading r = { .entry = entry };
	const struct ini_source src = {
		.text = content->at, .len = content->len, .file = path,
	};
	const enum ini_step step = ini_parse(&src, &ops, &r);

	if (r.foreign > 0)
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "\"%s\" may contain only settings: line %u is not a setting", path,
		    r.foreign);
	if (step != INI_GO)
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "\"%s\" has a syntax error", path);
	if (r.right != 1 || r.wrong)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "value cannot be written as one line");
	return 0;
}

int persist_compose(struct text *out, const struct persist_old *old,
    const struct persist_entry *entry, struct err *e)
{
	/* of more lines each might be a setting */
	if (strchr(entry->value, '\n') != NULL)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "value cannot be written as one line");
	compose(out, old->text, entry);
	if (out->cut)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "value is too long to be kept");
	return check(old->path, out, entry, e);
}

/* --- the file --- */

static int write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		const ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		p += done;
		n -= (size_t)done;
	}
	return fsync(fd);
}

static void folder_of(const char *path, char folder[PATH_MAX])
{
	char *slash;

	text_copy(folder, PATH_MAX, path);
	slash = strrchr(folder, '/');
	if (slash == NULL)
		text_copy(folder, PATH_MAX, ".");
	else
		slash[slash == folder] = '\0';
}

/* The name in the folder must survive a crash as well. */
static void sync_folder(const char *path)
{
	char folder[PATH_MAX];

	folder_of(path, folder);
	const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

/*
 * As private as the main file, and never open to others. The main file's group
 * may read only a file of its own: where the file can't be given to the group,
 * no group may.
 */
static int protect(int fd, const char *ini)
{
	struct stat main, mine;
	mode_t mode = 0600;

	if (stat(ini, &main) == 0 && fstat(fd, &mine) == 0) {
		mode = (main.st_mode & 0640) | 0600;
		if (mine.st_gid != main.st_gid &&
		    fchown(fd, (uid_t)-1, main.st_gid) < 0)
			mode = 0600;
	}
	return fchmod(fd, mode);
}

/* Write a new file beside path, then rename. 0, or -1 with errno. */
static int persist_replace(const char *path, const char *ini,
    const struct text *content)
{
	char fresh[PATH_MAX + 8];
	const int n = snprintf(fresh, sizeof fresh, "%s.new", path);

	if (n < 0 || (size_t)n >= sizeof fresh) {
		errno = ENAMETOOLONG;
		return -1;
	}
	/* one that is there is a rest, or a trap: a link to another file */
	(void)unlink(fresh);
	const int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC |
	    O_NOFOLLOW, 0600);

	if (fd < 0)
		return -1;
	const int rc = protect(fd, ini) < 0 ? -1 :
	    write_all(fd, content->at, content->len);

	if (close(fd) != 0 || rc != 0 || rename(fresh, path) != 0) {
		const int why = errno;

		(void)unlink(fresh);
		errno = why;
		return -1;
	}
	sync_folder(path);
	return 0;
}

static int rewrite(const char *path, const char *ini,
    const struct persist_entry *entry, struct err *e)
{
	struct file_text old = { 0 };
	struct text content;

	if (persist_check(path, ini, e) < 0)
		return -1;
	if (file_read(path, &old) != 0 && errno != ENOENT)
		return err_set(e, ERRCODE_IO_ERROR, "could not read \"%s\": %s",
		    path, input_why(errno));
	const size_t size = old.len + sizeof heading + ENTRY_MAX;
	char *const buf = mem_alloc(size);
	const unsigned nul = text_nul_line(old.at, old.len);
	int rc;

	if (buf == NULL) {
		rc = err_nomem(e);
	} else if (nul > 0) {
		rc = err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "NUL byte in \"%s\", line %u", path, nul);
	} else {
		const struct persist_old was = {
			.path = path, .text = old.at != NULL ? old.at : "",
		};

		text_init(&content, buf, size);
		rc = persist_compose(&content, &was, entry, e);
		if (rc == 0 && persist_replace(path, ini, &content) != 0)
			rc = err_set(e, ERRCODE_IO_ERROR,
			    "could not write \"%s\": %s", path,
			    strerror(errno));
		secret_wipe(buf, size);
	}
	mem_free(buf);
	file_text_fini(&old);
	return rc;
}

int persist_set(const char *ini, const struct persist_entry *entry,
    struct err *e)
{
	char path[PATH_MAX];

	if (persist_path(ini, path, sizeof path) == NULL)
		return err_set(e, ERRCODE_IO_ERROR,
		    "the name of the configuration file is too long");
	return rewrite(path, ini, entry, e);
}

/* --- owner of the file --- */

/* In a folder like /tmp any user may have put the file there. */
static bool is_shared(const char *path)
{
	char folder[PATH_MAX];
	struct stat st;

	folder_of(path, folder);
	return stat(folder, &st) == 0 && (st.st_mode & S_IWOTH) != 0;
}

int persist_check(const char *path, const char *ini, struct err *e)
{
	struct stat st, main;

	if (lstat(path, &st) < 0)
		return 0;
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "\"%s\" is not a regular file", path);
	if (!is_shared(path) || st.st_uid == 0 || st.st_uid == geteuid() ||
	    (stat(ini, &main) == 0 && st.st_uid == main.st_uid))
		return 0;
	return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "\"%s\" belongs to user "
	    "%u, and anybody may create files in its directory", path,
	    (unsigned)st.st_uid);
}
