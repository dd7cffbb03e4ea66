/* login_parts.h - what the files of the login share; for login*.c only.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_LOGIN_PARTS_H
#define LOGIN_LOGIN_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/config.h"
#include "conf/hba.h"
#include "login/auth.h"
#include "login/auth_query.h"
#include "login/login_proxy.h"
#include "pool/lobby.h"
#include "proto/msg.h"
#include "proto/startup.h"

struct client;
struct credentials;
struct database;
struct dns_host;
struct err;
struct iovec;

#define LOGIN_MAX (64 * 1024)	/* bytes of one message before login */
#define LOGIN_EXTENSIONS_MAX 16	/* unknown _pq_ names we tell the client */

struct login {
	struct client *client;		/* the one that logs in */
	struct login *prev, *next;	/* in the queue */
	struct login *guess_prev, *guess_next;	/* see login_guess.h */
	void (*guess_go_on)(struct client *c);
	struct lobby_guest guest;	/* see login_lobby.h */
	struct err *late;		/* owned: why it is refused, later */
	size_t asked_bytes;		/* of the message that is looked at */
	struct startup startup;		/* kind STARTUP_MESSAGE once it came */
	enum auth_type method;		/* chosen for this login */
	enum hba_host_state host_state;	/* of the next rule */
	struct hba *hba;		/* counted: of the rule */
	const struct hba_rule *rule;	/* that chose it; NULL = none did */
	char *host;			/* owned: the name of its machine */
	struct dns_host *host_query;	/* is being asked for */
	void (*host_answered)(struct client *c);
	char *db_name;			/* owned; as asked for */
	char *options;			/* owned; NULL = none */
	char *application_name;		/* owned; NULL = none */
	char **extensions;		/* owned, as they are; NULL = none */
	uint16_t extension_count, other_count;
	enum login_proxy proxy;
	struct writer others[2];	/* see login_others.h; by name, in options */
	struct err *unsupported;	/* owned: why the first may be refused */
	uint8_t to;			/* the worker it departs for */
	bool arrived : 1;		/* where it departed for: there is room */
	bool placed : 1;		/* its pool's home has chosen a part */
	bool user_too_long;
	bool unread;		/* the carry holds messages that came whole */
	uint8_t asked;			/* for TLS, GSS: the bits of
					 * enum startup_kind; it has begun */
	uint8_t queued;			/* see login_queue.c; 0: it is not */
	uint8_t lookups;		/* so often auth_query has answered */
	uint8_t guess;			/* see login_guess.h */
	struct auth auth;
	struct credentials *asked_for;	/* counted: what auth looks at, or NULL */
	struct auth_query query;	/* and its answer */
	void (*work)(struct client *c);	/* its turn in the queue has come */
	/* from here on: "" at first, and the rest as it may be */
	char user[CONFIG_USER_MAX];	/* as asked for */
};

/*
 * Take the parameters of a StartupMessage into c->login and c->params.
 * Returns 0, or -1 with e set for the client. (spec/pooling.md section 20)
 */
int login_read_params(struct client *c, const struct startup *m,
    struct err *e);

/* It is told why, and its hint. No guess is counted. */
void login_turn_away(struct client *c, const struct err *e);

/* What the role's turn in the queue is for: see login.work. */
void login_work(struct client *c);

/* --- login_tls.c --- */

bool login_may_use_tls(const struct client *c);
/*
 * TLS without an SSLRequest; start: what of the ClientHello is here. Returns
 * len, or 0: c was closed.
 */
size_t login_start_tls(struct client *c, const uint8_t *start, size_t len);
/* Returns true when the handshake is done; false: later, or c was closed. */
bool login_hand_shake(struct client *c);
/* The same of GSSAPI encryption. */
bool login_shake_gssenc(struct client *c);
/* Answer m, for TLS or GSS, by a byte; have: bytes here. Those of m; 0: c was closed. */
size_t login_answer_encryption(struct client *c, const struct startup *m,
    size_t have);

/* --- login_auth.c; each may close c, or let it in --- */

/* Database and user are found, or known to be unknown. */
void login_begin_auth(struct client *c);
/* The body of a PasswordMessage; wiped. */
void login_step_auth(struct client *c, uint8_t *body, size_t len);
/* Proven: let it in. first is what the exchange ends with. */
void login_enter_pool(struct client *c, const struct iovec *first);
/* It has not proven who it is. */
void login_deny(struct client *c, const struct auth_refusal *why);
/* The same, where that is not the client's fault: no guess is counted. */
void login_deny_uncounted(struct client *c, const struct auth_refusal *why);
/* The secret has changed since it was kept: what c has sent is judged by found. */
void login_judge_again(struct client *c, struct credentials *found,
    const struct iovec *body);
/* c is not read until its answer is judged. */
void login_rest(struct client *c);
/* What a hasty client has sent while it was not read is behind the carry. */
void login_read_on(struct client *c);

/* --- login_proxy.c --- */

/*
 * Ask for the name of the client's machine, if a rule may want it. True: c is
 * not read until answered is called, from the loop.
 */
bool login_ask_host(struct client *c, const struct hba_login *who,
    void (*answered)(struct client *c));

/* --- login_user.c; int functions: 0, or -1 with e for the client --- */

int login_check_room(struct client *c, struct err *e);
/* The same for one that is known not to want the console. */
int login_claim_room(struct client *c, struct err *e);

enum login_who {
	LOGIN_KNOWN,	/* or unknown for good: the exchange is a mock one */
	LOGIN_ASK,	/* auth_query may know */
	LOGIN_REFUSED,	/* e: for the client */
};
/* Find database and user, as far as they exist. */
enum login_who login_identify(struct client *c, struct err *e);
/* The same, when the database is found. */
enum login_who login_find_user(struct client *c, struct err *e);
/* ... for the user that auth_query has found. */
int login_adopt(struct client *c, struct err *e);
/* By PAM, LDAP or a token: any name may be right, and exists once it was. */
bool login_is_checked_elsewhere(enum auth_type method);
/*
 * ... for the user whom another service has found right: typed is the password,
 * or NULL.
 */
int login_adopt_typed(struct client *c, struct credentials *typed,
    struct err *e);
/*
 * The user is proven: any rights on the console, is there room? Clients
 * that are not in yet keep nobody out, and learn nothing.
 */
int login_admit(struct client *c, struct err *e);
/* Find the database of one that asked another worker, and comes back. */
int login_unpack(struct client *c, struct err *e);
/* What is known of the user's secret; NULL: nobody has that name. */
struct credentials *login_credentials(const struct client *c);
/* Bytes of the database's name to tell: a stranger's may be endless. */
int login_name_length(const struct client *c);
/* "login attempt: ..." */
void login_log_attempt(const struct client *c);
/* What rules look at. */
struct hba_login login_describe(const struct client *c);
/* Set method and rule; AUTH_HBA means that no rule fits. */
void login_choose_method(struct client *c);

#endif
