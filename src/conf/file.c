/* file.c - a whole file in memory, and a secret of a file, kept as its digest.
 * SPDX-License-Identifier: ISC */
#include "conf/file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/text.h"

/* As mem_resize, but leaves no copy of a secret behind. */
static int grow(struct file_text *f, size_t size)
{
	char *p = mem_alloc(size + 1);

	if (p == NULL) {
		errno = ENOMEM;
		return -1;
	}
	if (f->len > 0)
		memcpy(p, f->at, f->len);
	if (f->at != NULL)
		secret_wipe(f->at, f->len);
	mem_free(f->at);
	f->at = p;
	return 0;
}

static int file_read_all(int fd, struct file_text *f)
{
	/* One more than the size, so that the last read finds the end. */
	size_t room = (size_t)f->st.st_size + 1;

	if (f->st.st_size < 0 || room > FILE_TEXT_MAX) {
		errno = EFBIG;
		return -1;
	}
	if (grow(f, room) != 0)
		return -1;
	for (;;) {
		const ssize_t n = read(fd, f->at + f->len, room - f->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		f->len += (size_t)n;
		if (f->len < room)
			continue;
		room *= 2;
		if (room > FILE_TEXT_MAX) {
			errno = EFBIG;
			return -1;
		}
		if (grow(f, room) != 0)
			return -1;
	}
	f->at[f->len] = '\0';
	return 0;
}

int file_read(const char *path, struct file_text *f)
{
	const int fd = input_open(path);
	int rc = -1;

	if (fd >= 0 && fstat(fd, &f->st) == 0)
		rc = file_read_all(fd, f);

	const int saved = errno;
	if (fd >= 0)
		close(fd);
	input_watch_end();
	if (rc != 0)
		file_text_fini(f);
	errno = saved;
	return rc;
}

void file_text_fini(struct file_text *f)
{
	if (f->at != NULL)
		secret_wipe(f->at, f->len);
	mem_free(f->at);
	*f = (struct file_text){ 0 };
}

/* --- directories --- */

void file_names_fini(struct file_names *n)
{
	for (size_t i = 0; i < n->count; i++)
		mem_free(n->at[i]);
	mem_free(n->at);
	*n = (struct file_names){ 0 };
}

static bool is_conf(const char *name)
{
	static const char suffix[] = ".conf";
	const size_t len = strlen(name), end = sizeof(suffix) - 1;

	return name[0] != '.' && len > end &&
	    strcmp(name + len - end, suffix) == 0;
}

/* Takes path. */
static int add_path(struct file_names *n, char *path)
{
	char **at = NULL;

	if (path == NULL)
		errno = ENOMEM;
	else if (n->count == FILE_NAMES_MAX)
		errno = EFBIG;
	else
		at = mem_resize(n->at, (n->count + 1) * sizeof(*at));
	if (at == NULL) {
		if (path != NULL && n->count < FILE_NAMES_MAX)
			errno = ENOMEM;
		mem_free(path);
		return -1;
	}
	n->at = at;
	n->at[n->count++] = path;
	return 0;
}

static int add_entry(struct file_names *n, const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	if (!is_conf(name))
		return 0;
	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >=
	    (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (stat(path, &st) != 0)
		return -1;
	return S_ISDIR(st.st_mode) ? 0 : add_path(n, mem_strdup(path));
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int file_list(const char *dir, struct file_names *n)
{
	if (input_begin(dir) < 0)
		return -1;

	DIR *const d = opendir(dir);
	int rc = d == NULL ? -1 : 0;

	while (rc == 0) {
		errno = 0;
		const struct dirent *const entry = readdir(d);
		if (entry == NULL)
			break;
		rc = add_entry(n, dir, entry->d_name);
	}

	const int saved = errno;	/* readdir() fails by it alone */
	if (rc == 0 && saved != 0)
		rc = -1;
	if (d != NULL)
		closedir(d);
	input_watch_end();
	if (rc != 0)
		file_names_fini(n);
	else if (n->count > 1)
		qsort(n->at, n->count, sizeof(*n->at), by_bytes);
	errno = saved;
	return rc;
}

int token_load(const char *path, struct token *t, struct err *e)
{
	struct file_text f = { 0 };
	int rc = 0;

	*t = (struct token){ .given = false };
	if (path[0] == '\0')
		return 0;
	if (file_read(path, &f) != 0)
		return err_set(e, ERRCODE_UNDEFINED_FILE, "could not open "
		    "http_auth_token_file %s: %s", path, input_why(errno));
	const char *const begin = f.at + strspn(f.at, " \t");
	const size_t len = strcspn(begin, " \t\r\n");
	const unsigned nul = text_nul_line(f.at, f.len);

	if (nul > 0)
		rc = err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "NUL byte in http_auth_token_file %s, line %u", path, nul);
	else if (len == 0)
		rc = err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "http_auth_token_file %s has no token in its first line",
		    path);
	else if (crypto_sha256(begin, len, t->digest) != 0)
		rc = err_nomem(e);
	t->given = rc == 0;
	file_text_fini(&f);
	return rc;
}

bool token_is(const struct token *t, const char *given)
{
	uint8_t digest[SHA256_BYTES];

	return crypto_sha256(given, strlen(given), digest) == 0 &&
	    crypto_equal(digest, t->digest, sizeof digest);
}
