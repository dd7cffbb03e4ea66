/* os_peer_ucred.c - who is at the other end: SO_PEERCRED, SCM_CREDENTIALS.
 * SPDX-License-Identifier: ISC */
#include "base/os.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static_assert(CMSG_SPACE(sizeof(struct ucred)) <= OS_SENDER_SPACE,
    "OS_SENDER_SPACE");

int os_peer_get(int fd, struct os_peer *p)
{
	struct ucred c;
	socklen_t len = sizeof c;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len) < 0)
		return -1;
	*p = (struct os_peer){ .uid = c.uid, .pid = c.pid };
	return 0;
}

int os_sender_ask(int fd)
{
	const int on = 1;

	return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

int os_sender_get(int fd, struct msghdr *m, struct os_peer *p)
{
	struct ucred c;

	(void)fd;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h != NULL;
	    h = CMSG_NXTHDR(m, h)) {
		if (h->cmsg_level != SOL_SOCKET ||
		    h->cmsg_type != SCM_CREDENTIALS ||
		    h->cmsg_len != CMSG_LEN(sizeof c))
			continue;
		memcpy(&c, CMSG_DATA(h), sizeof c);
		*p = (struct os_peer){ .uid = c.uid, .pid = c.pid };
		return 0;
	}
	errno = ENODATA;
	return -1;
}
