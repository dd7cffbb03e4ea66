/* auth.h - how a client proves who it is: one exchange, bytes in, bytes out.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_AUTH_H
#define LOGIN_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "conf/mock.h"
#include "conf/options.h"
#include "proto/scram.h"
#include "upstream/derive.h"

struct auth;
struct auth_method;
struct credentials;
struct hba_rule;
struct net_addr;
struct iovec;
struct offload;
struct random_pool;
struct writer;

enum auth_result {
	AUTH_MORE,	/* send what was written, wait for the client's answer */
	AUTH_OK,	/* send what was written (SASLFinal); the user is proven */
	AUTH_DENY,	/* auth->refusal says why */
	AUTH_WAIT,	/* read nothing; rq->wake tells when to call auth_resume() */
};

/* The user that wants to log in, and what is known of that user. */
struct auth_request {
	enum auth_type type;		/* never AUTH_HBA: that is resolved */
	const char *user;		/* borrowed for the exchange */
	struct credentials *credentials;	/* NULL: mock authentication */
	const struct hba_rule *rule;	/* borrowed for the exchange; NULL: none */
	const uid_t *os_uid;	/* peer: by the kernel, for auth_begin(); or NULL */
	/* cert: of one that is verified; gss: of the encryption; NULL: none */
	const char *peer_name;
	bool tls;
	int scram_iterations;
	struct random_pool *random;	/* borrowed; NULL: ask the generator */
	const uint8_t *mock_salt;	/* borrowed: 32 bytes, of which salts are */
	const struct mock_shape *mock_shape;	/* borrowed; NULL: of no secret */
	/* ldap: how; gss: our keytab; or NULL. For auth_begin() */
	const char *options;
	const struct net_addr *addr;	/* of the client */
	struct offload *offload;	/* borrowed; NULL: there are no threads */
	void (*wake)(struct auth *a);	/* once after AUTH_WAIT, from the loop */
	struct scram_binding binding;	/* may be offered; none without TLS */
	bool must_bind;		/* whatever the type */
	bool caseless;		/* gss: krb_caseins_users */
	bool doubtful;		/* the credentials may be out of date */
};

/* Long, and rare: not part of what each login has. */
struct auth_refusal {
	struct err error;		/* code and text for the client */
	char detail[256];		/* for the log, or "" */
};

struct auth {
	const struct auth_method *method;	/* NULL: no exchange is open */
	struct auth_refusal *refusal;	/* borrowed; set for each call, which
					 * says there why it is DENY */
	struct auth_request request;	/* credentials counted */
	void *state;			/* owned by the method */
	struct derive_wait derive;	/* keys that it waits for */
	struct credentials *typed;	/* counted; OK by pam, ldap: the password */
};

/*
 * May an exchange of this type be tied to the TLS connection, or need it not,
 * as the kernel says who is there? With md5 it is SCRAM's, when it must be.
 */
bool auth_can_bind(enum auth_type type);

/*
 * Open the exchange. Appends whole messages (AuthenticationXxx) to out. After
 * OK and DENY the exchange is over, except for auth_judge_again(): no further step.
 */
enum auth_result auth_begin(struct auth *a, const struct auth_request *rq,
    struct writer *out);
/* The body of a PasswordMessage / SASL message ('p'), len bytes. */
enum auth_result auth_step(struct auth *a, const uint8_t *body, size_t len,
    struct writer *out);
/* After AUTH_WAIT and wake: go on where it stopped. */
enum auth_result auth_resume(struct auth *a, struct writer *out);
/*
 * The client is gone. Was it told already that it had failed, and only its last
 * word is missing? The exchange is over then, and a->refusal says why.
 */
bool auth_had_failed(struct auth *a);
/*
 * After OK or DENY by doubtful credentials: may the same answer be judged by c,
 * which are not? SCRAM's may not: a proof is for one salt.
 */
bool auth_can_judge_again(const struct auth *a, const struct credentials *c);
/* Do so: body is that of the step before. */
enum auth_result auth_judge_again(struct auth *a, struct credentials *c,
    const struct iovec *body, struct writer *out);
/* Wipe, free, and forget what it waits for; of all zero: nothing. */
void auth_end(struct auth *a);

#endif
