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

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/file.h"

#define ENTRY_MAX 2048		/* bytes of a key with its value and comment */

static const char heading[] =
    "; Written by SET PERSIST, and read behind the main file.\n";

char *persist_path(const char *ini, char *buf, size_t size)
{
	const int n = snprintf(buf, size, "%s" PERSIST_SUFFIX, ini);

	return n > 0 && (size_t)n < size ? buf : NULL;
}

/* --- the text --- */

/* Is it a line about key: "key = ..." or "; key was ..."? */
static bool is_about(const char *line, const char *key)
{
	const size_t n = strlen(key);

	if (strncmp(line, "; ", 2) == 0)
		line += 2;
	return strncmp(line, key, n) == 0 && line[n] == ' ';
}

/* What there is, but for what is about key, and then the new entry. */
static void compose(struct text *out, const char *old,
    const struct persist_entry *entry)
{
	if (old[0] == '\0')
		text_add(out, heading);
	while (old[0] != '\0') {
		const size_t n = strcspn(old, "\n");
		const size_t whole = n + (old[n] == '\n');

		if (!is_about(old, entry->key)) {
			text_add_bytes(out, old, n);
			text_add(out, "\n");
		}
		old += whole;
	}
	text_addf(out, "; %s was %s%s%s, before %s changed it\n", entry->key,
	    entry->was != NULL ? "\"" : "",
	    entry->was != NULL ? entry->was : "not set",
	    entry->was != NULL ? "\"" : "", entry->by);
	text_addf(out, "%s = %s\n", entry->key, entry->value);
}

/* A line can't hold it, or it would be read back as another. */
static bool is_one_line(const char *value)
{
	const size_t n = strlen(value);

	return strpbrk(value, "\r\n") == NULL && (n == 0 ||
	    (strchr(" \t", value[0]) == NULL &&
	    strchr(" \t", value[n - 1]) == NULL));
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

/* The name in the folder must survive a crash as well. */
static void sync_folder(const char *path)
{
	char folder[PATH_MAX];
	char *slash;

	text_copy(folder, sizeof folder, path);
	slash = strrchr(folder, '/');
	if (slash == NULL)
		text_copy(folder, sizeof folder, ".");
	else
		slash[slash == folder] = '\0';
	const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

/* Write beside it, then put it in its place. 0, or -1 with errno. */
static int replace(const char *path, const struct text *content, mode_t mode)
{
	char fresh[PATH_MAX + 8];
	const int n = snprintf(fresh, sizeof fresh, "%s.new", path);
	int rc = -1;

	if (n < 0 || (size_t)n >= sizeof fresh) {
		errno = ENAMETOOLONG;
		return -1;
	}
	const int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
	    O_NOFOLLOW, mode);

	if (fd < 0)
		return -1;
	rc = write_all(fd, content->at, content->len);
	if (close(fd) != 0 || rc != 0 || rename(fresh, path) != 0) {
		const int why = errno;

		(void)unlink(fresh);
		errno = why;
		return -1;
	}
	sync_folder(path);
	return 0;
}

/* As private as the main file. */
static mode_t mode_of(const char *ini)
{
	struct stat st;

	return stat(ini, &st) == 0 ? st.st_mode & 0666 : 0600;
}

static int rewrite(const char *path, const char *ini,
    const struct persist_entry *entry, struct err *e)
{
	struct file_text old = { 0 };
	struct text content;

	if (file_read(path, &old) != 0 && errno != ENOENT)
		return err_set(e, "58030", "could not read \"%s\": %s", path,
		    strerror(errno));
	const size_t size = old.len + sizeof heading + ENTRY_MAX;
	char *const buf = mem_alloc(size);
	int rc = -1;

	if (buf == NULL) {
		err_set(e, "53200", "out of memory");
	} else {
		text_init(&content, buf, size);
		compose(&content, old.at != NULL ? old.at : "", entry);
		if (content.cut)
			err_set(e, "22023", "value is too long to be kept");
		else if (replace(path, &content, mode_of(ini)) != 0)
			err_set(e, "58030", "could not write \"%s\": %s", path,
			    strerror(errno));
		else
			rc = 0;
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
		return err_set(e, "58030", "the name of the configuration "
		    "file is too long");
	if (!is_one_line(entry->value))
		return err_set(e, "22023",
		    "value cannot be written as one line");
	return rewrite(path, ini, entry, e);
}
