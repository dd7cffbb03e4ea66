/* auth_parts.h - the methods of auth.h, and what they share; for auth*.c only.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_AUTH_PARTS_H
#define LOGIN_AUTH_PARTS_H

#include "login/auth.h"

struct ident_map;
struct scram_verifier;

/*
 * One row a method. begin may be NULL: then the first step is all; step may be
 * NULL where begin decides, resume where nothing answers AUTH_WAIT, end where
 * there is no state.
 */
struct auth_method {
	enum auth_result (*begin)(struct auth *a, struct writer *out);
	enum auth_result (*step)(struct auth *a, const uint8_t *body,
	    size_t len, struct writer *out);
	enum auth_result (*resume)(struct auth *a, struct writer *out);
	void (*end)(struct auth *a);
	/* See auth_had_failed(); NULL: a failure is the end. */
	bool (*had_failed)(struct auth *a);
	/* Other credentials are there: a step once more. NULL: impossible. */
	enum auth_result (*again)(struct auth *a, const uint8_t *body,
	    size_t len, struct writer *out);
};

/* The method for a type with these credentials; NULL: not in this build. */
const struct auth_method *auth_method_find(const struct auth_request *rq);
const struct auth_method *auth_basic(enum auth_type type);
const struct auth_method *auth_cert(void);
const struct auth_method *auth_oauth(void);
const struct auth_method *auth_peer(void);
const struct auth_method *auth_scram(void);
#ifdef HAVE_GSSAPI
const struct auth_method *auth_gss(void);
#else
#define auth_gss() NULL
#endif
/* NULL: not in this build. */
const struct auth_method *auth_ask(enum auth_type type);

/* Ask for a password in clear. AUTH_MORE. */
enum auth_result auth_ask_password(struct writer *out);
/*
 * What a PasswordMessage has (PostgreSQL docs, Message Formats): one string, not
 * empty, nothing else; borrowed. NULL: a is denied.
 */
const char *auth_read_password(struct auth *a, const uint8_t *body,
    size_t len);

/*
 * A verifier that nothing matches, and the salt of a user whose secret has none,
 * SCRAM_SALT_BYTES. 0, or -1: no memory.
 */
int auth_mock_verifier(const struct auth_request *rq,
    struct scram_verifier *v);
int auth_own_salt(const struct auth_request *rq, uint8_t *out);

/* The map of the rule; NULL: it has none. */
const struct ident_map *auth_map(const struct auth_request *rq);

/* May one known outside as name log in as the user? */
bool auth_is_allowed(const struct auth_request *rq, const char *name);

/* Why the right password is wrong, for the log. */
#define AUTH_UNUSABLE "password authentication failed: the stored secret " \
	"looks like a hash but is not valid"

/*
 * Each of these words a refusal, and returns AUTH_DENY. This one: the client has
 * not proved who it is (28P01). detail: for the log, or "".
 */
enum auth_result auth_deny(struct auth *a, const char *text,
    const char *detail);
/* The client can't be the user, whatever it knows (28000). */
enum auth_result auth_refuse(struct auth *a, const char *text,
    const char *detail);
/* The client has broken the protocol (08P01). */
enum auth_result auth_deny_violation(struct auth *a, const char *text);
enum auth_result auth_deny_memory(struct auth *a);	/* (53200) */
/* Too many logins wait for a thread already (53300). */
enum auth_result auth_deny_busy(struct auth *a, const char *detail);

#endif
