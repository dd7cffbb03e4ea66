/* redirect.c - for LD_PRELOAD: what connects to the port REDIRECT_FROM, which a
 * suite has in its source, reaches REDIRECT_TO.
 * SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

typedef int connect_fn(int, const struct sockaddr *, socklen_t);

static in_port_t
port_of(const char *name)
{
	const char *text = getenv(name);

	return htons((in_port_t)strtol(text ? text : "0", NULL, 10));
}

int
connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	connect_fn *real = (connect_fn *)dlsym(RTLD_NEXT, "connect");
	struct sockaddr_in to;

	if (addr->sa_family != AF_INET)
		return real(fd, addr, len);
	memcpy(&to, addr, sizeof(to));
	if (to.sin_port == port_of("REDIRECT_FROM"))
		to.sin_port = port_of("REDIRECT_TO");
	return real(fd, (struct sockaddr *)&to, sizeof(to));
}
