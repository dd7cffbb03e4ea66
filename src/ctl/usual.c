/* usual.c - which of the usual files tells where the console is.
 *
 * A package installs one of them, although only the pooler of the other may
 * run.
 * SPDX-License-Identifier: ISC */
#include "ctl/usual.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/os.h"
#include "ctl/place.h"

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
