/* auth_ask.h - passwords that somebody else must check: PAM, LDAP.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_AUTH_ASK_H
#define LOGIN_AUTH_ASK_H

#include <stdbool.h>

#include "io/offload.h"

struct auth;

/* One question; on the thread, only ask_*() touches it. */
struct auth_ask {
	struct offload_job job;		/* first */
	struct auth *auth;		/* the loop's: what waits */
	void (*ask)(struct auth_ask *q);	/* a function below */
	char *user;			/* owned */
	char *password;			/* owned, of secmem */
	char *options;			/* the same: LDAP's; else "" */
	char *address;			/* owned: where the client is */
	bool submitted;			/* the loop's: a thread will do it */
	bool allowed;			/* the answer */
	bool no_memory;			/* not allowed, but for that reason */
	char detail[256];		/* not allowed: why, for the log */
};

/* Each blocks; on a thread. Each exists where configure found its library. */
void ask_pam(struct auth_ask *q);
void ask_ldap(struct auth_ask *q);

#endif
