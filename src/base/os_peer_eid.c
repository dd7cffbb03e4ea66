/* os_peer_eid.c - who is at the other end: getpeereid().
 * SPDX-License-Identifier: ISC */
#include "base/os.h"

#include <unistd.h>

int os_peer_get(int fd, struct os_peer *p)
{
	gid_t gid;

	p->pid = 0;
	return getpeereid(fd, &p->uid, &gid);
}

int os_sender_ask(int fd)
{
	(void)fd;
	return 0;
}

int os_sender_get(int fd, struct msghdr *m, struct os_peer *p)
{
	(void)m;
	return os_peer_get(fd, p);
}
