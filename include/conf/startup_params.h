/* startup_params.h - parameters that the operator gives to each server connection.
 * (spec/config-files.md section 3.1)
 * SPDX-License-Identifier: ISC */
#ifndef CONF_STARTUP_PARAMS_H
#define CONF_STARTUP_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;
struct config_db;
struct config_user;
struct err;

#define STARTUP_PARAMS_MAX 100	/* of one level */
#define STARTUP_PARAMS_LEVELS 3
#define STARTUP_PARAMS_KEYS 4	/* of a database, as timezone= */
#define STARTUP_PARAMS_BYTES 3000	/* of the text of one level */

struct startup_param {
	const char *name;	/* in lower case */
	const char *value;
	bool forced;		/* the client's start-up packet does not change it */
	bool key;		/* of a key of its own, as timezone= */
};

/* All zero at first. */
struct startup_params {
	struct startup_param at[STARTUP_PARAMS_LEVELS * STARTUP_PARAMS_MAX +
	    STARTUP_PARAMS_KEYS];
	size_t count;
	char *texts[STARTUP_PARAMS_LEVELS];	/* owned: what names and values are in */
	size_t levels;
};

/*
 * Take the next level: name=value pairs with blanks between; NULL: none. A name
 * that is there already has the value of this level from now on, and is forced if
 * this level says so. 0, or -1 with e.
 */
int startup_params_add(struct startup_params *p, const char *text,
    struct err *e);
void startup_params_fini(struct startup_params *p);
/* Is that a text to be added? 0, or -1 with e. */
int startup_params_check(const char *text, struct err *e);

/*
 * What a server of db is given that logs in as a user with this line (NULL: it has
 * none). 0, or -1: no memory.
 */
int startup_params_of(struct startup_params *p, const struct config *c,
    const struct config_db *db, const struct config_user *u);
/*
 * What stays the same, in any process, as long as all names and values do, but
 * for those of keys of their own: a change of these is for new servers.
 */
uint64_t startup_params_mark(const struct startup_params *p);
/* Is it there, and forced? Case does not count. */
bool startup_params_force(const struct startup_params *p, const char *name);
/* Is any parameter forced, of whatever database or user? */
bool config_forces_startup(const struct config *c);

#endif
