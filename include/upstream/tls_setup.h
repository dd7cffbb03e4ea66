/* tls_setup.h - the TLS contexts of a configuration: all of them, or none.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_TLS_SETUP_H
#define UPSTREAM_TLS_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/config.h"

struct err;
struct tls_context;

/* How the files that a configuration names are on disk: a digest. */
#define TLS_PRINT 32

/* How connections to the servers of some databases go. */
struct tls_target {
	struct config_tls what;		/* borrowed from tls_setup.config */
	struct tls_context *context;	/* counted; NULL: never TLS */
	struct config_db *own;		/* owned; of the "*" entry, or NULL */
	struct tls_target *next;
};

/*
 * The modes stand here, too: after a SET that failed they differ from the
 * settings, and what counts is what is in force.
 */
struct tls_setup {
	struct config *config;		/* counted */
	enum ssl_mode client_mode;
	struct tls_context *client;	/* counted; NULL: disable */
	struct tls_context *http;	/* counted; NULL: plain HTTP */
	struct tls_target *targets;	/* owned; the first: no own settings */
	uint8_t print[TLS_PRINT];	/* before they were read; not if shared */
};

/* Whose certificate: client_tls_cert_file and so on. */
enum tls_certificate {
	TLS_CERT_CLIENT, TLS_CERT_SERVER, TLS_CERT_HTTP, TLS_CERTS
};

/*
 * Read all files that the configuration names. Databases with the same
 * settings share a context, and all that trust the same file its content.
 * NULL: e says why, and there is no half of it.
 */
struct tls_setup *tls_setup_new(struct config *config, struct err *e);
/* The same for another thread, without HTTP; no file is read. NULL: no memory. */
struct tls_setup *tls_setup_share(const struct tls_setup *s);
void tls_setup_free(struct tls_setup **s);
/* The print of now. May block. 0, or -1: no memory. */
int tls_setup_print(const struct config *c, uint8_t print[TLS_PRINT]);

/* "client_tls_cert_file" */
const char *tls_certificate_setting(enum tls_certificate which);
/*
 * Until it expires (< 0: since then); of several, the first of them. False:
 * there is none.
 */
bool tls_setup_seconds_left(const struct tls_setup *s,
    enum tls_certificate which, int64_t *left);

/*
 * Do the settings of how clients and servers prove who they are fit, and the
 * rules of the HBA file? 0, or -1 with e. To be asked when one of the settings
 * has changed that tls_setup_is_asked_for() names, and their files are not read
 * anew.
 * Source: spec/authentication.md sections 3.4, 9.1.
 */
int tls_setup_check(const struct config *c, struct err *e);
bool tls_setup_is_asked_for(const char *setting);

/* For the servers of db. NULL: SET has left no context that fits. */
const struct tls_target *tls_setup_find(const struct tls_setup *s,
    const struct config_db *db);

/* Would servers of databases without own settings be connected otherwise? */
bool tls_setup_recycles(const struct settings *a, const struct settings *b);

#endif
