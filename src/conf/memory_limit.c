/* memory_limit.c - what the setting of that name means on this machine.
 * SPDX-License-Identifier: ISC */
#include "conf/memory_limit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"

#define AUTO_PER_CENT 80
#define LEAST ((int64_t)16 << 20)	/* less could serve nobody */
#define GROUPS_MAX 8192

/* Of the kernel's files, which have no length. Returns false: not there. */
static bool memory_limit_read_text(const char *path, char *buf, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return false;
	buf[n] = '\0';
	return true;
}

static size_t lesser(size_t a, size_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

/* "max", or a number that is not the kernel's way to say that there is none. */
static size_t read_limit(const char *path)
{
	char buf[64];
	int64_t n;

	if (!memory_limit_read_text(path, buf, sizeof buf))
		return 0;
	buf[strcspn(buf, "\n")] = '\0';
	if (num_parse_i64(buf, &n) < 0 || n <= 0 || n >= INT64_MAX / 2)
		return 0;
	return (size_t)n;
}

/* Of the folder, and those that it is in up to root. */
static size_t limit_up(const char *root, const char *group, const char *file)
{
	char dir[PATH_MAX], path[PATH_MAX + 64];
	size_t least = 0;
	struct text t;

	text_init(&t, dir, sizeof dir);
	text_addf(&t, "%s%s", root, strcmp(group, "/") == 0 ? "" : group);
	for (;;) {
		char *const slash = strrchr(dir, '/');

		snprintf(path, sizeof path, "%s/%s", dir, file);
		least = lesser(least, read_limit(path));
		if (slash == NULL || strlen(dir) <= strlen(root))
			return least;
		*slash = '\0';
	}
}

static size_t limit_of_line(const char *line, const char *root)
{
	const char *const kind = strchr(line, ':');
	const char *const group = kind == NULL ? NULL : strchr(kind + 1, ':');
	char old[PATH_MAX];

	if (group == NULL || strstr(group, "/..") != NULL)
		return 0;
	if (group == kind + 1)		/* cgroup v2 */
		return limit_up(root, group + 1, "memory.max");
	if (strncmp(kind, ":memory:", 8) != 0)
		return 0;
	snprintf(old, sizeof old, "%s/memory", root);
	return limit_up(old, group + 1, "memory.limit_in_bytes");
}

size_t memory_limit_of_cgroup(const char *groups, const char *root)
{
	size_t least = 0;

	for (const char *at = groups; *at != '\0';) {
		const size_t n = strcspn(at, "\n");
		char line[PATH_MAX];

		if (n < sizeof line) {
			memcpy(line, at, n);
			line[n] = '\0';
			least = lesser(least, limit_of_line(line, root));
		}
		at += n + (at[n] == '\n');
	}
	return least;
}

static size_t room(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES);
	const long size = sysconf(_SC_PAGESIZE);
	char groups[GROUPS_MAX];
	size_t all = pages > 0 && size > 0 ? (size_t)pages * (size_t)size : 0;

	if (memory_limit_read_text("/proc/self/cgroup", groups, sizeof groups))
		all = lesser(all, memory_limit_of_cgroup(groups,
		    "/sys/fs/cgroup"));
	return all / 100 * AUTO_PER_CENT;
}

int memory_limit_parse(const char *value, size_t *bytes, struct err *e)
{
	int64_t n;

	if (strcmp(value, "auto") == 0) {
		*bytes = room();
		return 0;
	}
	if (num_parse_bytes(value, &n) < 0 || n < 0)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "memory_limit must be a whole number, of bytes or with a "
		    "unit (kB, MB, GB), or auto");
	if (n > 0 && n < LEAST)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "memory_limit must be 0 or at least 16 MB");
	*bytes = (size_t)n;
	return 0;
}
