/* config_parts.h - the entries of a configuration; private to config*.c.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_CONFIG_PARTS_H
#define CONF_CONFIG_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

struct config;
struct config_db;
struct config_peer;
struct config_user;
struct err;
struct ini_source;
struct option_row;

#define CONFIG_RESERVED_DB "pgbouncer"	/* the console */

/* An entry from its line, owned by the caller; NULL with e set. */
struct config_db *config_db_parse(const char *name, const char *text,
    struct err *e);
struct config_user *config_user_parse(const char *name, const char *text,
    struct err *e);
struct config_peer *config_peer_parse(const char *id, const char *text,
    struct err *e);
void config_user_free(struct config_user *u);
void config_peer_free(struct config_peer *p);

/*
 * "unknown parameter: ...", with the name that was meant, if one is near.
 * Returns -1.
 */
int config_unknown_setting(const char *key, struct err *e);

/* Rules of a setting beyond its type and range; 0, or -1 with e. */
int config_check_setting(const char *key, const char *value, struct err *e);
/* Find the user of server_require_peer; may block. 0, or -1 with e. */
int config_find_peer_user(struct config *c, struct err *e);
/*
 * Remember where a setting's value comes from; text NULL: it is the default.
 * 0, or -1 out of memory.
 */
int config_note_source(struct config *c, size_t i, const char *text);

/* The same, and do settings that need each other fit? 0, or -1 with e. */
int config_complete(struct config *c, struct err *e);

/* What everybody may do with a file: CONFIG_WRITABLE includes reading it. */
enum config_exposure { CONFIG_READABLE, CONFIG_WRITABLE };

typedef void config_exposed_fn(void *arg, enum config_exposure how,
    const char *line);
/*
 * Call found() for each file with secrets that everybody may read or write, of
 * a configuration that is being loaded.
 */
void config_find_exposed(struct config *c, config_exposed_fn *found,
    void *arg);

typedef void config_unusable_fn(void *arg, const char *line);
/* Call found() for each password in [databases] that authenticates nobody. */
void config_find_unusable(const struct config *c, config_unusable_fn *found,
    void *arg);

/*
 * Read the HBA file and its maps where auth_type asks for them; what was there
 * goes. 0, or -1 with e.
 */
int config_load_hba(struct config *c, void (*report)(void *arg,
    enum log_level level, const char *text), void *arg, struct err *e);

/* Copy the settings of prev whose row is wanted; 0, or -1 out of memory. */
int config_take(struct config *c, const struct config *prev,
    bool (*wanted)(const struct option_row *o));

struct config_node;

/*
 * All entries, by name and in file order. Written while loading only; then
 * shared by the configurations that SET made from the loaded one.
 */
struct config_index {
	atomic_uint refs;
	struct config_node *dbs, *users, *peers;	/* owned maps */
	struct config_node *filled;	/* owned: included files with text */
	char *auto_db;		/* owned: text of the "*" entry; secret */
};

struct config_index *config_index_new(void);
struct config_index *config_index_ref(struct config_index *ix);
void config_index_unref(struct config_index **ix);

/*
 * Add an entry, in the place of one with that name. Takes it in any case;
 * 0, or -1 out of memory.
 */
int config_index_put_db(struct config_index *ix, struct config_db *db);
int config_index_put_user(struct config_index *ix, struct config_user *u);
int config_index_put_peer(struct config_index *ix, struct config_peer *p);

/*
 * A file is included: is it empty, and was not in prev (NULL: there is none)?
 * It may be caught between truncating and writing. 0, or -1 with e.
 */
int config_note_include(struct config *c, const struct config *prev,
    const struct ini_source *file, struct err *e);

/* The item of a map; NULL: none. */
void *config_node_find(struct config_node *map, const void *key, size_t len);

/*
 * Chain the entries by next, in file order, users by name, peers by id; the
 * heads.
 */
struct config_db *config_index_link_dbs(struct config_index *ix);
struct config_user *config_index_link_users(struct config_index *ix);
struct config_peer *config_index_link_peers(struct config_index *ix);

#endif
