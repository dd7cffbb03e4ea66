/* test_view_merge.c - things of all workers: in the order of one, and bit by bit.
 * SPDX-License-Identifier: ISC */
#include "console/view_merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "console/admin.h"
#include "console/table.h"
#include "console/view_walk.h"
#include "pool/catalog.h"
#include "session/client.h"

#define WORKERS 3
#define THINGS 8

/* What was told: the worker's number and a name, each. */
static struct world {
	struct admin admins[WORKERS];
	struct sessions ss[WORKERS];
	struct catalog catalogs[WORKERS];
	struct database dbs[THINGS];
	struct user users[THINGS];
	struct pool pools[THINGS];
	struct client clients[THINGS];
	char told[256];
} w;

static int setup(void **state)
{
	(void)state;
	memset(&w, 0, sizeof w);
	for (unsigned i = 0; i < WORKERS; i++) {
		w.admins[i].ss = &w.ss[i];
		w.admins[i].next = i + 1 < WORKERS ? &w.admins[i + 1] : NULL;
		w.ss[i].catalog = &w.catalogs[i];
		w.ss[i].worker = i;
		w.catalogs[i].all_databases.compare = database_compare;
		w.catalogs[i].all_pools.compare = pool_compare;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < WORKERS; i++) {
		HASH_CLEAR(hh, w.catalogs[i].databases);
		HASH_CLEAR(hh, w.catalogs[i].pools);
	}
	return 0;
}

static struct database *add_database(unsigned worker, unsigned i,
    const char *name)
{
	struct catalog *const c = &w.catalogs[worker];
	struct database *const db = &w.dbs[i];

	db->name = (char *)(uintptr_t)name;
	HASH_ADD_KEYPTR(hh, c->databases, db->name, strlen(name), db);
	cursor_list_add(&c->all_databases, &db->node);
	return db;
}

static void add_pool(unsigned worker, unsigned i, const char *names[2])
{
	struct catalog *const c = &w.catalogs[worker];
	struct pool *const p = &w.pools[i];

	w.dbs[i].name = (char *)(uintptr_t)names[0];
	w.users[i].name = (char *)(uintptr_t)names[1];
	p->key.db = &w.dbs[i];
	p->key.user = &w.users[i];
	HASH_ADD(hh, c->pools, key, sizeof p->key, p);
	cursor_list_add(&c->all_pools, &p->node);
}

static void tell(const struct admin *a, const char *name)
{
	const size_t len = strlen(w.told);

	snprintf(w.told + len, sizeof w.told - len, "%u%s ", a->ss->worker,
	    name);
}

static void tell_databases(void)
{
	struct view_merge m;
	const struct database *db;

	view_merge_begin(&m, &w.admins[0], MERGE_DATABASES);
	while ((db = view_merge_take(&m)) != NULL)
		tell(m.a, db->name);
	assert_null(view_merge_take(&m));
}

static void test_databases_come_by_name(void **state)
{
	(void)state;
	add_database(1, 0, "d");
	add_database(0, 1, "c");
	add_database(2, 2, "b");
	add_database(1, 3, "a");
	add_database(0, 4, "e");
	tell_databases();
	assert_string_equal(w.told, "1a 2b 0c 1d 0e ");
}

static void test_workers_may_have_none(void **state)
{
	(void)state;
	tell_databases();
	assert_string_equal(w.told, "");
	add_database(2, 0, "b");
	add_database(2, 1, "a");
	tell_databases();
	assert_string_equal(w.told, "2a 2b ");
}

static void test_pools_come_by_database_and_user(void **state)
{
	struct view_merge m;
	const struct pool *p;

	(void)state;
	add_pool(2, 0, (const char *[]){ "a", "y" });
	add_pool(2, 1, (const char *[]){ "a", "x" });
	add_pool(0, 2, (const char *[]){ "b", "a" });
	add_pool(1, 3, (const char *[]){ "aa", "z" });
	view_merge_begin(&m, &w.admins[0], MERGE_POOLS);
	while ((p = view_merge_take(&m)) != NULL)
		tell(m.a, p->key.user->name);
	assert_string_equal(w.told, "2x 2y 1z 0a ");
}

static void add_login(unsigned worker, unsigned i, usec_t born)
{
	struct timeout **at = &w.ss[worker].login_list.head;

	while (*at != NULL)
		at = &(*at)->next;
	w.clients[i].born = born;
	*at = &w.clients[i].timer;
}

static void test_logins_come_by_age(void **state)
{
	struct view_merge m;
	const struct client *c;
	char age[8];

	(void)state;
	add_login(0, 0, 3);
	add_login(0, 1, 5);
	add_login(1, 2, 1);
	add_login(2, 3, 4);
	add_login(2, 4, 6);
	view_merge_begin(&m, &w.admins[0], MERGE_LOGINS);
	while ((c = view_merge_take(&m)) != NULL) {
		snprintf(age, sizeof age, "%d", (int)c->born);
		tell(m.a, age);
	}
	assert_string_equal(w.told, "11 03 24 05 26 ");
}

/* --- bit by bit --- */

static int put(const struct admin *a, const struct view *v, const void *item,
    struct row_sink *sink)
{
	const struct database *const db = item;

	(void)v;
	(void)sink;
	tell(a, db->name);
	return 0;
}

static const struct view view = { .over = VIEW_DATABASES, .item = put };

static void test_walk_merges_those_of_all_workers(void **state)
{
	struct row_sink sink = { .row = NULL };
	struct view_walk walk;

	(void)state;
	add_database(0, 0, "b");
	add_database(0, 1, "e");
	add_database(0, 3, "a");
	add_database(2, 2, "c");
	add_database(2, 4, "d");
	view_walk_begin(&walk, &w.admins[0], &view);
	while (view_walk_next(&walk, &sink))
		continue;
	assert_false(view_walk_next(&walk, &sink));
	view_walk_end(&walk);
	assert_string_equal(w.told, "0a 0b 2c 2d 0e ");
}

static int put_pool(const struct admin *a, const struct view *v,
    const void *item, struct row_sink *sink)
{
	const struct pool *const p = item;

	(void)v;
	(void)sink;
	tell(a, p->key.user->name);
	return 0;
}

static void test_walk_goes_on_with_others(void **state)
{
	static const struct view pools = { .over = VIEW_POOLS,
		.item = put_pool };
	static const struct view both = { .over = VIEW_DATABASES, .item = put,
		.then = &pools };
	struct row_sink sink = { .row = NULL };
	struct view_walk walk;

	(void)state;
	add_database(1, 0, "b");
	add_database(0, 1, "c");
	add_pool(2, 2, (const char *[]){ "a", "x" });
	add_pool(1, 3, (const char *[]){ "a", "y" });
	assert_true(view_walk_is_long(&w.admins[0], &both, 3));
	assert_false(view_walk_is_long(&w.admins[0], &both, 4));
	view_walk_begin(&walk, &w.admins[0], &both);
	while (view_walk_next(&walk, &sink))
		continue;
	view_walk_end(&walk);
	assert_string_equal(w.told, "1b 0c 2x 1y ");
	for (unsigned i = 0; i < WORKERS; i++) {
		assert_null(w.catalogs[i].all_databases.cursors);
		assert_null(w.catalogs[i].all_pools.cursors);
	}
}

static void test_walk_is_left_wherever_it_is(void **state)
{
	struct row_sink sink = { .row = NULL };
	struct view_walk walk;

	(void)state;
	struct database *const gone = add_database(0, 0, "gone");

	add_database(1, 1, "a");
	add_database(1, 4, "y");
	add_database(2, 2, "b");
	add_database(2, 5, "z");
	view_walk_begin(&walk, &w.admins[0], &view);
	HASH_DEL(w.catalogs[0].databases, gone);
	cursor_list_remove(&w.catalogs[0].all_databases, &gone->node);
	/* each worker's list is begun, then come the rows */
	for (unsigned i = 0; i < WORKERS + 1; i++)
		assert_true(view_walk_next(&walk, &sink));
	assert_non_null(w.catalogs[1].all_databases.cursors);
	add_database(1, 3, "new");
	tell_databases();
	for (int i = 0; i < 3; i++)
		assert_true(view_walk_next(&walk, &sink));
	assert_false(view_walk_next(&walk, &sink));
	assert_string_equal(w.told, "1a 1a 2b 1new 1y 2z 2b 1y 2z ");
	view_walk_end(&walk);
	for (unsigned i = 0; i < WORKERS; i++)
		assert_null(w.catalogs[i].all_databases.cursors);
}

static void test_walk_is_long_by_what_all_have(void **state)
{
	static const struct view whole = { .over = VIEW_WHOLE };

	(void)state;
	for (unsigned i = 0; i < WORKERS; i++)
		add_database(i, i, "a");
	assert_true(view_walk_is_long(&w.admins[0], &view, WORKERS - 1));
	assert_false(view_walk_is_long(&w.admins[0], &view, WORKERS));
	assert_false(view_walk_is_long(&w.admins[0], &whole, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(test_databases_come_by_name),
		T(test_workers_may_have_none),
		T(test_pools_come_by_database_and_user),
		T(test_logins_come_by_age),
		T(test_walk_merges_those_of_all_workers),
		T(test_walk_goes_on_with_others),
		T(test_walk_is_left_wherever_it_is),
		T(test_walk_is_long_by_what_all_have),
#undef T
	};

	return cmocka_run_group_tests_name("view_merge", tests, NULL, NULL);
}
