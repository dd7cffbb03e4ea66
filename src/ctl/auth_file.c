/* auth_file.c - edit an auth file in place: what is not meant stays as it is.
 * SPDX-License-Identifier: ISC */
#include "ctl/auth_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/file.h"
#include "conf/userlist.h"

static int failed(struct err *e, const char *what, const char *path)
{
	return err_set(e, ERRCODE_IO_ERROR, "could not %s \"%s\": %s", what,
	    path, strerror(errno));
}

/* --- reading --- */

/* The records of one name. */
struct search {
	const char *name;
	struct { size_t at, len; } *found;	/* owned, in file order */
	size_t count;
	bool failed;
	char problem[1024];	/* the first one */
};

static void on_report(void *arg, enum log_level level, const char *text)
{
	struct search *const s = arg;

	if (level <= LEVEL_ERROR && s->problem[0] == '\0')
		text_copy(s->problem, sizeof(s->problem), text);
}

static void on_record(void *arg, const char *name, size_t at, size_t len)
{
	struct search *const s = arg;

	if (s->name == NULL || strcmp(s->name, name) != 0)
		return;

	void *const more = mem_resize(s->found,
	    (s->count + 1) * sizeof(*s->found));
	if (more == NULL) {
		s->failed = true;
		return;
	}
	s->found = more;
	s->found[s->count].at = at;
	s->found[s->count++].len = len;
}

/* Read what the text says now; the records of s->name go to s. */
static int parse(struct auth_file *f, struct search *s, struct err *e)
{
	const struct userlist_source src = {
		.text = f->text, .len = f->len, .path = f->path,
		.report = on_report, .record = on_record, .arg = s,
	};
	struct userlist *const users = userlist_parse(&src);

	userlist_unref(&f->users);
	f->users = users;
	if (users == NULL || s->failed)
		return err_nomem(e);
	return s->problem[0] == '\0' ? 0 :
	    err_set(e, ERRCODE_CONFIG_FILE_ERROR, "%s", s->problem);
}

/* Follow links, so that the links stay; the file may be missing. */
static int take_path(struct auth_file *f, const char *path, struct err *e)
{
	char buf[PATH_MAX];
	const char *const real = realpath(path, buf);

	if (real == NULL && errno != ENOENT)
		return failed(e, "find", path);
	f->path = mem_strdup(real != NULL ? real : path);
	return f->path != NULL ? 0 : err_nomem(e);
}

static void folder_of(const char *path, char folder[PATH_MAX])
{
	const char *const slash = strrchr(path, '/');
	const int len = slash == NULL ? 0 : (int)(slash - path) + 1;

	snprintf(folder, PATH_MAX, "%.*s%s", len, path,
	    len == 0 ? "." : "");
}

/* Two that edit at once would undo each other's work. */
static int lock(struct auth_file *f, struct err *e)
{
	char folder[PATH_MAX];

	folder_of(f->path, folder);
	f->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->lock < 0 || flock(f->lock, LOCK_EX) != 0)
		return failed(e, "lock the folder of", f->path);
	return 0;
}

int auth_file_open(struct auth_file *f, const char *path, bool edit,
    struct err *e)
{
	struct file_text read = { 0 };
	struct search s = { 0 };

	f->lock = -1;
	if (take_path(f, path, e) != 0 || (edit && lock(f, e) != 0))
		return -1;
	if (file_read(f->path, &read) == 0) {
		f->text = read.at;
		f->len = read.len;
		f->st = read.st;
	} else if (edit && errno == ENOENT) {
		f->text = mem_strdup("");
	} else {
		return failed(e, "read", path);
	}
	return f->text == NULL ? err_nomem(e) : parse(f, &s, e);
}

void auth_file_close(struct auth_file *f)
{
	if (f->text != NULL)
		secret_wipe(f->text, f->len);
	mem_free(f->text);
	mem_free(f->path);
	userlist_unref(&f->users);
	if (f->lock >= 0)
		close(f->lock);
	*f = (struct auth_file){ .lock = -1 };
}

/* --- editing --- */

/* Replace n bytes at an offset by with. */
static int put_bytes(struct auth_file *f, size_t at, size_t n, const char *with)
{
	const size_t more = strlen(with), rest = f->len - at - n;
	char *const text = mem_alloc(f->len - n + more + 1);

	if (text == NULL)
		return -1;
	memcpy(text, f->text, at);
	memcpy(text + at, with, more);
	memcpy(text + at + more, f->text + at + n, rest);
	secret_wipe(f->text, f->len);
	mem_free(f->text);
	f->text = text;
	f->len = at + more + rest;
	f->text[f->len] = '\0';
	return 0;
}

/* Take off whole lines: all records of s but the first keep of them. */
static int drop(struct auth_file *f, const struct search *s, size_t keep)
{
	for (size_t i = s->count; i-- > keep;) {
		const size_t at = s->found[i].at;
		size_t len = s->found[i].len;

		if (at + len < f->len && f->text[at + len] == '\n')
			len++;
		if (put_bytes(f, at, len, "") != 0)
			return -1;
	}
	return 0;
}

/* Quote in to out, which has room. Returns what follows in out. */
static char *quote(char *out, const char *in)
{
	*out++ = '"';
	for (; *in != '\0'; in++) {
		if (*in == '"')
			*out++ = '"';
		*out++ = *in;
	}
	*out++ = '"';
	return out;
}

static size_t quoted_len(const char *s)
{
	size_t n = strlen(s);

	for (; *s != '\0'; s++)
		n += *s == '"';
	return n;
}

/* Refuse a name or secret that could not be read back as written. */
static int check_texts(const char *name, const char *secret, struct err *e)
{
	if (name[0] == '\0')
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "the name is empty");
	if (strchr(name, '\n') != NULL || strchr(secret, '\n') != NULL)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "the name or the secret has a line end");
	if (quoted_len(name) >= USERLIST_NAME_MAX)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "the name is too long");
	if (quoted_len(secret) >= USERLIST_SECRET_MAX)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "the secret is too long");
	return 0;
}

/* "name" "secret", and a line end before and behind where they are wanted. */
static char *make_line(const struct auth_file *f, const char *name,
    const char *secret, bool append)
{
	char *const line = mem_alloc(quoted_len(name) + quoted_len(secret) +
	    8);
	char *out = line;

	if (line == NULL)
		return NULL;
	if (append && f->len > 0 && f->text[f->len - 1] != '\n')
		*out++ = '\n';
	out = quote(out, name);
	*out++ = ' ';
	out = quote(out, secret);
	if (append)
		*out++ = '\n';
	*out = '\0';
	return line;
}

int auth_file_put(struct auth_file *f, const char *name, const char *secret,
    struct err *e)
{
	struct search s = { .name = name };
	char *line = NULL;
	int rc = -1;

	if (check_texts(name, secret, e) != 0)
		return -1;
	if (parse(f, &s, e) != 0)
		goto out;
	line = make_line(f, name, secret, s.count == 0);
	if (line == NULL || drop(f, &s, 1) != 0 ||
	    put_bytes(f, s.count > 0 ? s.found[0].at : f->len,
	    s.count > 0 ? s.found[0].len : 0, line) != 0) {
		err_nomem(e);
		goto out;
	}
	mem_free(s.found);
	s = (struct search){ 0 };
	rc = parse(f, &s, e);
out:
	mem_free(s.found);
	secret_free(line);
	return rc;
}

int auth_file_remove(struct auth_file *f, const char *name, struct err *e)
{
	struct search s = { .name = name }, after = { 0 };
	int rc = -1;

	if (parse(f, &s, e) == 0) {
		rc = s.count > 0;
		if (drop(f, &s, 0) != 0)
			rc = err_nomem(e);
		else if (parse(f, &after, e) != 0)
			rc = -1;
	}
	mem_free(s.found);
	return rc;
}

/* --- writing --- */

static int write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		const ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

/* The mode and the owner of the old file; a new one is for us alone. */
static int keep_owner(const struct auth_file *f, int fd)
{
	if (f->st.st_nlink == 0)
		return fchmod(fd, S_IRUSR | S_IWUSR);
	if ((f->st.st_uid != geteuid() || f->st.st_gid != getegid()) &&
	    fchown(fd, f->st.st_uid, f->st.st_gid) != 0)
		return -1;
	return fchmod(fd, f->st.st_mode & 07777);
}

static int write_temp(const struct auth_file *f, int fd, const char *path,
    struct err *e)
{
	if (keep_owner(f, fd) != 0)
		return failed(e, "keep the owner and mode of", f->path);
	if (write_all(fd, f->text, f->len) != 0 || fsync(fd) != 0)
		return failed(e, "write", path);
	return 0;
}

int auth_file_save(const struct auth_file *f, struct err *e)
{
	char folder[PATH_MAX], temp[PATH_MAX + 32];

	folder_of(f->path, folder);
	snprintf(temp, sizeof(temp), "%s/.pgsluicectl.XXXXXX", folder);
	const int fd = mkstemp(temp);
	if (fd < 0)
		return failed(e, "create", temp);

	int rc = write_temp(f, fd, temp, e);
	if (close(fd) != 0 && rc == 0)
		rc = failed(e, "write", temp);
	if (rc == 0 && rename(temp, f->path) != 0)
		rc = failed(e, "replace", f->path);
	if (rc != 0) {
		unlink(temp);
		return -1;
	}
	/* the new name must not be lost either */
	return fsync(f->lock) == 0 ? 0 : failed(e, "sync the folder of",
	    f->path);
}
