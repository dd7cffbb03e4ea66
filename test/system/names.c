/* names.c - for LD_PRELOAD: the resolver knows what the file $NAMES says, and
 * nothing else. A line is "ptr ADDRESS NAME", "host NAME ADDRESS" or "fail NAME",
 * which no name server answers.
 * SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

typedef int name_fn(const struct sockaddr *, socklen_t, char *, socklen_t,
    char *, socklen_t, int);
typedef int addr_fn(const char *, const char *, const struct addrinfo *,
    struct addrinfo **);

/* The next line about key, from where f stands; its last word to value. */
static int find(FILE *f, const char *kind, const char *key, char value[256])
{
	char line[600], word[8], name[256];

	while (fgets(line, sizeof line, f) != NULL) {
		value[0] = '\0';
		if (sscanf(line, "%7s %255s %255s", word, name, value) >= 2 &&
		    strcmp(word, kind) == 0 && strcasecmp(name, key) == 0)
			return 1;
	}
	return 0;
}

int getnameinfo(const struct sockaddr *sa, socklen_t len, char *host,
    socklen_t host_len, char *serv, socklen_t serv_len, int flags)
{
	name_fn *const real = (name_fn *)dlsym(RTLD_NEXT, "getnameinfo");
	FILE *const f = (flags & NI_NUMERICHOST) == 0 && host != NULL ?
	    fopen(getenv("NAMES"), "re") : NULL;
	char text[256], name[256];
	int found;

	if (f == NULL)
		return real(sa, len, host, host_len, serv, serv_len, flags);
	found = real(sa, len, text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0 &&
	    find(f, "ptr", text, name);
	fclose(f);
	if (!found)
		return EAI_NONAME;
	if (snprintf(host, host_len, "%s", name) >= (int)host_len)
		return EAI_OVERFLOW;
	return serv == NULL ? 0 :
	    real(sa, len, NULL, 0, serv, serv_len, flags);
}

/* All addresses of name, in a list as the C library makes them. */
static int known(FILE *f, const char *name, const struct addrinfo *hints,
    struct addrinfo **list)
{
	addr_fn *const real = (addr_fn *)dlsym(RTLD_NEXT, "getaddrinfo");
	struct addrinfo **end = list;
	char value[256];

	*list = NULL;
	if (find(f, "fail", name, value))
		return EAI_AGAIN;
	rewind(f);
	while (find(f, "host", name, value)) {
		if (real(value, NULL, hints, end) != 0)
			continue;
		while (*end != NULL)
			end = &(*end)->ai_next;
	}
	return *list != NULL ? 0 : EAI_NONAME;
}

int getaddrinfo(const char *name, const char *service,
    const struct addrinfo *hints, struct addrinfo **list)
{
	addr_fn *const real = (addr_fn *)dlsym(RTLD_NEXT, "getaddrinfo");
	FILE *f;
	int rc = real(name, service, hints, list);

	/* addresses, and what is ours to know */
	if (rc == 0 || name == NULL || (hints != NULL &&
	    (hints->ai_flags & AI_NUMERICHOST) != 0))
		return rc;
	f = fopen(getenv("NAMES"), "re");
	if (f == NULL)
		return rc;
	rc = known(f, name, hints, list);
	fclose(f);
	return rc;
}
