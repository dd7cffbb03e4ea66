/* config_index.c - the entries of a configuration by name, in file order.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "conf/config.h"
#include "conf/config_parts.h"
#include "conf/ini.h"

struct config_node {
	void *item;		/* owned; the key lies within */
	UT_hash_handle hh;
};

struct config_index *config_index_new(void)
{
	struct config_index *const ix = mem_zalloc(sizeof(*ix));

	if (ix != NULL)
		ix->refs = 1;
	return ix;
}

struct config_index *config_index_ref(struct config_index *ix)
{
	ix->refs++;
	return ix;
}

static void map_free(struct config_node *map, void (*free_item)(void *item))
{
	struct config_node *n, *next;

	HASH_ITER (hh, map, n, next) {
		HASH_DEL(map, n);
		free_item(n->item);
		mem_free(n);
	}
}

static void free_db(void *item)
{
	config_db_free(item);
}

static void free_user(void *item)
{
	config_user_free(item);
}

static void free_peer(void *item)
{
	config_peer_free(item);
}

void config_index_unref(struct config_index **ixp)
{
	struct config_index *const ix = *ixp;

	*ixp = NULL;
	if (ix == NULL || --ix->refs > 0)
		return;
	map_free(ix->dbs, free_db);
	map_free(ix->users, free_user);
	map_free(ix->peers, free_peer);
	map_free(ix->filled, mem_free);
	secmem_free(ix->auto_db);
	mem_free(ix);
}

struct map_key {
	const void *at;		/* borrowed from the item */
	size_t len;
};

static struct config_node *node_find(struct config_node *map,
    const struct map_key *key)
{
	struct config_node *n;

	HASH_FIND(hh, map, key->at, key->len, n);
	return n;
}

void *config_node_find(struct config_node *map, const void *key, size_t len)
{
	const struct config_node *const n =
	    node_find(map, &(struct map_key){ key, len });

	return n != NULL ? n->item : NULL;
}

/*
 * Put item into the map. Returns what the caller must free: NULL, the item
 * it replaced, or item itself when out of memory.
 */
static void *map_put(struct config_node **map, const struct map_key *key,
    void *item)
{
	struct config_node *n = node_find(*map, key);

	if (n != NULL) {
		void *const old = n->item;

		n->item = item;
		n->hh.key = key->at;
		return old;
	}
	n = mem_zalloc(sizeof(*n));
	if (n == NULL)
		return item;
	n->item = item;
	HASH_ADD_KEYPTR(hh, *map, key->at, key->len, n);
	if (n->hh.tbl != NULL)
		return NULL;
	mem_free(n);
	return item;
}

int config_index_put_db(struct config_index *ix, struct config_db *db)
{
	const struct map_key key = { db->name, strlen(db->name) };
	struct config_db *const out = map_put(&ix->dbs, &key, db);
	const int rc = out == db ? -1 : 0;

	config_db_free(out);
	return rc;
}

int config_index_put_user(struct config_index *ix, struct config_user *u)
{
	const struct map_key key = { u->name, strlen(u->name) };
	struct config_user *const out = map_put(&ix->users, &key, u);
	const int rc = out == u ? -1 : 0;

	config_user_free(out);
	return rc;
}

int config_index_put_peer(struct config_index *ix, struct config_peer *p)
{
	const struct map_key key = { &p->id, sizeof(p->id) };
	struct config_peer *const out = map_put(&ix->peers, &key, p);
	const int rc = out == p ? -1 : 0;

	config_peer_free(out);
	return rc;
}

static int put_filled(struct config_index *ix, const char *path)
{
	char *const copy = mem_strdup(path);

	if (copy == NULL)
		return -1;
	const struct map_key key = { copy, strlen(copy) };
	char *const out = map_put(&ix->filled, &key, copy);
	const int rc = out == copy ? -1 : 0;

	mem_free(out);
	return rc;
}

int config_note_include(struct config *c, const struct config *prev,
    const struct ini_source *file, struct err *e)
{
	const bool blank = strspn(file->text, " \t\r\n") == file->len;
	const struct config_index *const old = prev == NULL ? NULL :
	    prev->index;

	if (!blank)
		return put_filled(c->index, file->file) < 0 ? err_nomem(e) : 0;
	if (old == NULL || config_node_find(old->filled, file->file,
	    strlen(file->file)) == NULL)
		return 0;
	return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "%%include file %s is empty "
	    "and was not before: if this is intended, put a comment in it",
	    file->file);
}

struct config_db *config_index_link_dbs(struct config_index *ix)
{
	struct config_db *head = NULL, **tail = &head;

	for (struct config_node *n = ix->dbs; n != NULL; n = n->hh.next) {
		*tail = n->item;
		tail = &(*tail)->next;
	}
	return head;
}

static int by_user_name(const struct config_node *a,
    const struct config_node *b)
{
	const struct config_user *const x = a->item, *const y = b->item;

	return strcmp(x->name, y->name);
}

struct config_user *config_index_link_users(struct config_index *ix)
{
	struct config_user *head = NULL, **tail = &head;

	HASH_SORT(ix->users, by_user_name);
	for (struct config_node *n = ix->users; n != NULL; n = n->hh.next) {
		*tail = n->item;
		tail = &(*tail)->next;
	}
	return head;
}

static int by_peer_id(const struct config_node *a,
    const struct config_node *b)
{
	const struct config_peer *const x = a->item, *const y = b->item;

	return (x->id > y->id) - (x->id < y->id);
}

struct config_peer *config_index_link_peers(struct config_index *ix)
{
	struct config_peer *head = NULL, **tail = &head;

	HASH_SORT(ix->peers, by_peer_id);
	for (struct config_node *n = ix->peers; n != NULL; n = n->hh.next) {
		*tail = n->item;
		tail = &(*tail)->next;
	}
	return head;
}
