/* login_parts.h - what the files of the login share; for login*.c only.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_LOGIN_PARTS_H
#define SESSION_LOGIN_PARTS_H

#include <stdbool.h>

#include "conf/config.h"
#include "proto/startup.h"
#include "session/auth.h"

struct client;
struct err;

#define LOGIN_EXTENSIONS_MAX 16	/* unknown _pq_ names we tell the client */

struct login {
	struct startup startup;		/* kind STARTUP_MESSAGE once it came */
	struct auth auth;
	char user[CONFIG_USER_MAX];	/* as asked for */
	char *db_name;			/* owned; as asked for */
	char *options;			/* owned; NULL = none */
	char *application_name;		/* owned; NULL = none */
	char *extensions[LOGIN_EXTENSIONS_MAX];	/* owned */
	unsigned extension_count;
	bool user_too_long;
};

/*
 * Take the parameters of a StartupMessage into c->login and c->params.
 * Returns 0, or -1 with e set for the client. (pooling.md section 20)
 */
int login_read_params(struct client *c, const struct startup *m,
    struct err *e);

#endif
