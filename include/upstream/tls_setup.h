/* tls_setup.h - the TLS contexts of a configuration: all of them, or none.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_TLS_SETUP_H
#define UPSTREAM_TLS_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/config.h"

struct err;
struct tls_context;

/* A digest of the state on disk of all files that a configuration names. */
#define TLS_PRINT 32

/* How to connect to the servers of some databases. */
struct tls_target {
	struct config_tls what;		/* borrowed from tls_setup.config */
	struct tls_context *context;	/* counted; NULL: never TLS */
	struct config_db *own;		/* owned; of the "*" entry, or NULL */
	struct tls_target *next;
};

/*
 * The modes are part of it, because after a failed SET they differ from the
 * settings. These are in force.
 */
struct tls_setup {
	struct config *config;		/* counted */
	enum ssl_mode client_mode;
	struct tls_context *client;	/* counted; NULL: disable */
	struct tls_context *http;	/* counted; NULL: plain HTTP */
	struct tls_target *targets;	/* owned; the first: no own settings */
	uint8_t print[TLS_PRINT];	/* before they were read; not if shared */
};

/* Which certificate: client_tls_cert_file and so on. */
enum tls_certificate {
	TLS_CERT_CLIENT, TLS_CERT_SERVER, TLS_CERT_HTTP, TLS_CERTS
};

/*
 * Reads all files that the configuration names. Databases with the same
 * settings share a context, and contexts with the same CA file share its
 * content. NULL: e has the reason.
 */
struct tls_setup *tls_setup_new(struct config *config, struct err *e);
/*
 * The same contexts for another thread, without HTTP; no file is read. NULL: no
 * memory.
 */
struct tls_setup *tls_setup_share(const struct tls_setup *s);
void tls_setup_free(struct tls_setup **s);
/* The present digest. May block. Returns 0, or -1: no memory. */
int tls_setup_print(const struct config *c, uint8_t print[TLS_PRINT]);

/* Its name, for example "client_tls_cert_file". */
const char *tls_certificate_setting(enum tls_certificate which);
/*
 * Seconds until the first of these certificates expires (negative: since then).
 * False: there is none.
 */
bool tls_setup_seconds_left(const struct tls_setup *s,
    enum tls_certificate which, int64_t *left);

/*
 * Do the settings of authentication match each other, and the rules of the HBA
 * file? Returns 0, or -1 with e. To be called if a setting has changed that
 * tls_setup_is_asked_for() names, and their files are not read again. Source:
 * spec/authentication.md sections 3.4, 9.1.
 */
int tls_setup_check(const struct config *c, struct err *e);
bool tls_setup_is_asked_for(const char *setting);

/* The target for servers of db. NULL: SET has left no context that matches. */
const struct tls_target *tls_setup_find(const struct tls_setup *s,
    const struct config_db *db);

/*
 * Would servers of databases without own settings be connected in another way?
 */
bool tls_setup_recycles(const struct settings *a, const struct settings *b);

#endif
