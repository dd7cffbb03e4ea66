/* passwords.h - servers' passwords that change: fetched, kept and renewed.
 *
 * A password belongs to a user at a host, so databases of one server share it.
 * Each worker keeps its own. The process that runs commands tells all workers
 * of each password, so that one command is enough for them.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_PASSWORDS_H
#define UPSTREAM_PASSWORDS_H

#include <stdbool.h>

#include "base/time.h"
#include "conf/secret.h"

struct credentials;
struct password;
struct passwords;
struct sessions;

/* The password that a login wants: of which user, and from which source. All borrowed. */
struct password_wish {
	const struct config_secret *from;
	const char *host, *user, *dbname;	/* PGHOST and so on */
	const char *database;	/* whose pool wants it, with user */
	int port;
};

enum password_result {
	PASSWORD_READY,		/* w->credentials is the password */
	PASSWORD_WAIT,		/* ready() is called, unless it leaves first */
	PASSWORD_FAILED,	/* none can be had; the log says why */
};

/* The passwords that a login can use. */
enum password_want {
	WANT_ANY,
	WANT_RECENT,	/* a fresh one, or the old one if none can be had */
	WANT_OTHER,	/* the server has refused the one that it got */
};

/* A login that needs a password; embedded in it. All zero, except ready. */
struct password_wait {
	struct password_wait *prev, *next;	/* private to passwords.c */
	struct password *of;		/* counted; NULL: it asked for none */
	bool waits;			/* private: is in the list of `of` */
	enum password_want want;	/* private */
	unsigned needs;			/* private: so many fetches must have ended */
	unsigned generation;		/* private: of the password that the login got */
	struct credentials *credentials;	/* counted; NULL: none */
	void (*ready)(struct password_wait *w, enum password_result r);
};

/* NULL: no memory. */
struct passwords *passwords_new(struct sessions *ss);
/* To be called when no login waits any more, and no thread has a job. */
void passwords_free(struct passwords **t);
/* A reload: fetches that failed are tried again at once. */
void passwords_retry(struct passwords *t);
/* Each tick: old passwords are fetched again, unused ones are forgotten. */
void passwords_tick(struct passwords *t, usec_t now);

/* The password to log in with. */
enum password_result passwords_get(struct passwords *t,
    const struct password_wish *q, struct password_wait *w);
/* The server has refused the password that w got. The result is another one. */
enum password_result passwords_get_other(struct password_wait *w);
/* The server has let w in. */
void password_accept(struct password_wait *w);
/* Has a server ever accepted a password from the source of w? */
bool password_is_proved(const struct password_wait *w);
/* The login has ended. w may be one that has not asked for a password. */
void password_leave(struct password_wait *w);
/* "password_file" or "password_command". w must have asked. */
const char *password_key(const struct password_wait *w);

/* A password in use whose last fetch failed. All borrowed. */
struct password_fact {
	const char *host, *user;
	int port;
	const char *key;		/* "password_file" */
	const char *failure;
	bool is_known;			/* an older one is in use */
};
typedef void password_fact_fn(void *arg, const struct password_fact *f);
/* t may be NULL: then there is none. */
void passwords_each_failure(const struct passwords *t, password_fact_fn *fn,
    void *arg);

#endif
