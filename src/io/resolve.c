/* resolve.c - names to addresses with the system's resolver, at start only.
 * SPDX-License-Identifier: ISC */
#include "io/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"

int resolve_name(const char *name, struct net_addr *out, size_t max,
    struct err *e)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE,
	};
	struct addrinfo *list = NULL;
	size_t n = 0;
	const int rc = getaddrinfo(name, NULL, &hints, &list);

	if (rc != 0)
		return err_set(e, ERRCODE_CANNOT_CONNECT, "%s: %s", name,
		    rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
	for (struct addrinfo *a = list; a != NULL && n < max; a = a->ai_next)
		net_from_sockaddr(&out[n++], a->ai_addr);
	freeaddrinfo(list);
	return (int)n;
}
