/* model_os_peer.c - os_peer_eid.c on Linux, which has no getpeereid().
 * SPDX-License-Identifier: ISC */
#include <sys/socket.h>
#include <sys/types.h>

static int getpeereid(int fd, uid_t *uid, gid_t *gid)
{
	struct ucred c;
	socklen_t len = sizeof c;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len) < 0)
		return -1;
	*uid = c.uid;
	*gid = c.gid;
	return 0;
}

#include "../../src/base/os_peer_eid.c"
