/* test_catalog.c - databases, users, pools; configurations put in force.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "pool/catalog.h"
#include "pool/credentials.h"
#include "pool/users.h"

struct fixture {
	char ini[64], list[64];
	char log[256];		/* what ops were told */
};

static int setup(void **state)
{
	static struct fixture f;

	f.log[0] = '\0';
	snprintf(f.ini, sizeof f.ini, "/tmp/catalog_ini_XXXXXX");
	snprintf(f.list, sizeof f.list, "/tmp/catalog_list_XXXXXX");
	const int a = mkstemp(f.ini), b = mkstemp(f.list);

	*state = &f;
	return a < 0 || b < 0 || close(a) < 0 || close(b) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unlink(f->ini);
	unlink(f->list);
	assert_int_equal(mem_stat(MEM_POOL)->used, 0);
	assert_int_equal(mem_stat(MEM_DATABASE)->used, 0);
	assert_int_equal(mem_stat(MEM_USER)->used, 0);
	assert_int_equal(mem_stat(MEM_CREDENTIALS)->used, 0);
	return 0;
}

static void put(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static void report(void *arg, enum log_level level, const char *text)
{
	(void)level;
	(void)arg;
	print_message("# %s\n", text);
}

/* dbs and users are the text of those sections, list that of the auth file */
static struct config *load(struct fixture *f, const char *dbs,
    const char *users, const char *list)
{
	char text[1024];
	struct err e = { .text = "" };

	snprintf(text, sizeof text, "[databases]\n%s\n[users]\n%s\n"
	    "[pgbouncer]\nlisten_port = 6432\nauth_type = md5\n"
	    "auth_file = %s\n", dbs, users, f->list);
	unlink(f->list);	/* so that its age never hides a change */
	put(f->list, list);
	put(f->ini, text);
	struct config *c = config_load(f->ini, NULL, report, NULL, &e);

	assert_non_null(c);
	return c;
}

static void note(struct fixture *f, const char *what, const struct database *db)
{
	const size_t n = strlen(f->log);

	snprintf(f->log + n, sizeof f->log - n, "%s%s ", what, db->name);
}

static void on_removed(struct database *db, void *arg)
{
	note(arg, "-", db);
}

static void on_changed(struct database *db, void *arg)
{
	note(arg, "~", db);
}

static const struct catalog_ops ops = { on_removed, on_changed };

static struct catalog *start(struct fixture *f, const char *dbs,
    const char *users, const char *list)
{
	struct config *config = load(f, dbs, users, list);
	struct catalog *c = catalog_new(config);

	assert_non_null(c);
	config_unref(&config);
	return c;
}

static void apply(struct catalog *c, struct fixture *f, struct config *config,
    const char *log)
{
	f->log[0] = '\0';
	assert_int_equal(catalog_apply(c, config, &ops, f), 0);
	config_unref(&config);
	assert_string_equal(f->log, log);
}

static struct credentials *secret_of(struct catalog *c, const char *name)
{
	struct user *u = catalog_get_user(c, name);

	assert_non_null(u);
	return user_credentials(c, u);
}

#define PARTS 3

static void test_each_database_is_in_one_part(void **state)
{
	struct fixture *const f = *state;
	struct config *config = load(f, "a = host=h\nb = host=h\n"
	    "c = host=h\nd = host=h\ne = host=h\n", "", "");
	struct catalog *parts[PARTS];
	unsigned found = 0;

	for (unsigned i = 0; i < PARTS; i++) {
		parts[i] = catalog_new_part(config,
		    (struct catalog_part){ .index = i, .count = PARTS });
		assert_non_null(parts[i]);
	}
	for (const char *name = "abcde"; *name != '\0'; name++) {
		const char db[] = { *name, '\0' };
		const unsigned home = catalog_home(parts[0], db);

		for (unsigned i = 0; i < PARTS; i++) {
			assert_int_equal(catalog_home(parts[i], db), home);
			assert_int_equal(catalog_find_database(parts[i], db) !=
			    NULL, i == home);
		}
	}
	/* the first has the console as well */
	assert_int_equal(catalog_home(parts[1], "pgbouncer"), 0);
	for (unsigned i = 0; i < PARTS; i++) {
		found += HASH_COUNT(parts[i]->databases);
		catalog_free(&parts[i]);
	}
	assert_int_equal(found, 5 + 1);
	config_unref(&config);
}

static void test_databases_come_change_and_go(void **state)
{
	struct fixture *f = *state;
	struct catalog *c = start(f, "a = host=h\nb =\n", "", "\"u\" \"p\"\n");
	struct database *a = catalog_find_database(c, "a");
	struct database *b = catalog_find_database(c, "b");
	struct user *u = catalog_get_user(c, "u");
	struct pool *p = catalog_get_pool(c, a, u);

	assert_true(catalog_find_database(c, "pgbouncer")->console);
	catalog_touch_pool(c, catalog_get_pool(c, b, u));
	catalog_touch_pool(c, p);
	a->paused = true;
	apply(c, f, load(f, "a = host=h pool_size=7\nc =\n", "",
	    "\"u\" \"p\"\n"), "-b ");
	assert_null(catalog_find_database(c, "b"));
	assert_non_null(catalog_find_database(c, "c"));
	assert_ptr_equal(catalog_find_database(c, "a"), a);
	assert_true(a->paused);
	assert_int_equal(p->limits.size, 7);
	/* the pool of b left the touched ones, and the user */
	assert_ptr_equal(catalog_take_touched(c), p);
	assert_null(catalog_take_touched(c));
	assert_ptr_equal(u->pools, p);
	assert_null(p->user_next);
	apply(c, f, load(f, "a = host=other\nc =\n", "", ""), "~a ");
	apply(c, f, load(f, "a = host=other\nc =\n", "", ""), "");
	catalog_free(&c);
	assert_null(c);
}

static void test_secrets_keep_or_lose_what_was_derived(void **state)
{
	struct fixture *f = *state;
	struct catalog *c = start(f, "a = user=x password=one\n", "",
	    "\"u\" \"p\"\n\"v\" \"p\"\n\"w\" \"p\"\n");
	struct credentials *u = secret_of(c, "u");
	struct credentials *v = credentials_ref(secret_of(c, "v"));
	struct database *a = catalog_find_database(c, "a");
	struct credentials *one = a->password;

	u->verifier = secmem_zalloc(sizeof *u->verifier);
	assert_non_null(u->verifier);
	apply(c, f, load(f, "a = user=x password=one\n", "",
	    "\"u\" \"p\"\n\"v\" \"q\"\n\"n\" \"\"\n"), "");
	assert_ptr_equal(secret_of(c, "u"), u);
	assert_non_null(u->verifier);
	assert_ptr_equal(a->password, one);
	assert_string_equal(secret_of(c, "v")->secret, "q");
	assert_string_equal(v->secret, "p");	/* a login still holds it */
	assert_null(secret_of(c, "w"));
	assert_false(users_has_listed(c, "w"));
	assert_true(users_has_listed(c, "n"));
	assert_int_equal(secret_of(c, "n")->kind, SECRET_NONE);
	credentials_unref(&v);
	apply(c, f, load(f, "a = user=x\n", "", "\"x\" \"s\"\n"),
	    "");
	/* without a password of its own: that of the auth file */
	struct pool *p = catalog_get_pool(c, a, catalog_find_user(c, "x"));

	assert_null(a->password);
	assert_string_equal(catalog_pool_credentials(c, p)->secret, "s");
	catalog_free(&c);
}

static void test_learned_secret_is_of_one_pool(void **state)
{
	struct fixture *f = *state;
	struct catalog *c = start(f, "a = host=h\nb = host=h\n"
	    "forced = host=h user=u password=p auth_user=asker\n", "",
	    "\"listed\" \"l\"\n");
	struct user *u = catalog_get_user(c, "u");
	struct user *asker = catalog_find_user(c, "asker");
	struct database *forced = catalog_find_database(c, "forced");
	struct credentials *learned = credentials_new("learned");
	struct pool *a = catalog_get_pool(c,
	    catalog_find_database(c, "a"), u);
	struct pool *b = catalog_get_pool(c,
	    catalog_find_database(c, "b"), u);
	struct pool *own = catalog_get_pool(c, forced, u);

	catalog_learn_credentials(a, learned);
	catalog_learn_credentials(a, learned);
	catalog_learn_credentials(own, learned);
	assert_int_equal(learned->refs, 2);
	assert_ptr_equal(catalog_pool_credentials(c, a), learned);
	assert_null(catalog_pool_credentials(c, b));
	assert_string_equal(catalog_pool_credentials(c, own)->secret, "p");
	/* who runs auth_query there is not the forced user */
	assert_non_null(asker);
	assert_null(catalog_pool_credentials(c,
	    catalog_get_pool(c, forced, asker)));
	/* the auth file comes first */
	struct pool *l = catalog_get_pool(c, catalog_find_database(c, "a"),
	    catalog_get_user(c, "listed"));

	catalog_learn_credentials(l, learned);
	assert_string_equal(catalog_pool_credentials(c, l)->secret, "l");
	catalog_free(&c);
	assert_int_equal(learned->refs, 1);
	credentials_unref(&learned);
}

static void test_effective_settings(void **state)
{
	struct fixture *f = *state;
	struct catalog *c = start(f, "a = pool_size=3 pool_mode=statement "
	    "min_pool_size=1 max_db_connections=9\nb = user=x\nd =\n",
	    "u = pool_size=0 pool_mode=transaction max_user_connections=4\n",
	    "");
	struct user *u = catalog_get_user(c, "u");
	struct database *a = catalog_find_database(c, "a");
	struct database *b = catalog_find_database(c, "b");
	struct pool *p = catalog_get_pool(c, a, u);
	struct pool *q = catalog_get_pool(c, a, catalog_get_user(c, "z"));

	assert_int_equal(p->limits.size, 0);
	assert_int_equal(p->limits.mode, POOL_TRANSACTION);
	assert_false(p->limits.reset);
	assert_int_equal(p->limits.min, 1);
	assert_int_equal(p->limits.max_db, 9);
	assert_int_equal(p->limits.max_user, 4);
	assert_int_equal(q->limits.size, 3);
	assert_int_equal(q->limits.mode, POOL_STATEMENT);
	assert_int_equal(q->limits.max_user, 0);
	assert_ptr_equal(catalog_get_pool(c, a, u), p);
	assert_ptr_equal(catalog_pool_user(c, a, u), u);
	assert_string_equal(catalog_pool_user(c, b, u)->name, "x");
	q = catalog_get_pool(c, catalog_find_database(c, "d"),
	    catalog_find_user(c, "z"));
	assert_int_equal(q->limits.size, 20);
	assert_true(q->limits.reset);	/* session mode, DISCARD ALL */
	apply(c, f, load(f, "a =\nb = user=x\nd =\n", "", ""), "");
	assert_null(u->conf);
	assert_int_equal(p->limits.size, 20);
	cursor_list_arrange(&c->all_databases);
	cursor_list_arrange(&c->all_pools);
	assert_ptr_equal(c->all_databases.first, &a->node);
	assert_ptr_equal(c->all_pools.first, &p->node);
	c->paused = true;
	assert_true(pool_is_paused(p, c));
	assert_false(pool_is_paused(c->console->pools, c));
	catalog_free(&c);
}

static int note_sum(void *arg, const struct known_user *u)
{
	struct fixture *f = arg;
	const size_t n = strlen(f->log);

	snprintf(f->log + n, sizeof f->log - n, "%s %u, ", u->name, u->servers);
	return 0;
}

static int note_user(void *arg, const struct known_user *u)
{
	struct fixture *f = arg;
	const size_t n = strlen(f->log);

	snprintf(f->log + n, sizeof f->log - n, "%s%s%s ", u->name,
	    u->servers > 0 ? "+" : "", u->conf != NULL ? "=" : "");
	return strcmp(u->name, "stop") == 0;
}

static int each_user(struct catalog *const *all, size_t count,
    int (*fn)(void *arg, const struct known_user *u), void *arg)
{
	struct users_walk w;
	struct known_user u;
	int rc = 0;

	users_walk_begin(&w);
	for (size_t i = 0; i < count; i++)
		users_walk_add(&w, all[i]);
	while (rc == 0 && users_walk_next(&w, &u))
		rc = fn(arg, &u);
	users_walk_end(&w);
	return rc;
}

static void test_users_of_several_catalogs_are_added_up(void **state)
{
	struct fixture *f = *state;
	struct catalog *all[] = {
		start(f, "", "line =\n", ""), start(f, "", "line =\n", ""),
	};

	f->log[0] = '\0';
	catalog_get_user(all[0], "ann")->servers = 2;
	catalog_get_user(all[1], "ann")->servers = 3;
	catalog_get_user(all[1], "zoe")->servers = 4;
	assert_int_equal(each_user(all, 2, note_sum, f), 0);
	assert_string_equal(f->log, "ann 5, line 0, pgbouncer 0, zoe 4, ");
	catalog_free(&all[0]);
	catalog_free(&all[1]);
}

static const char *next_name(struct users_walk *w)
{
	struct known_user u;

	return users_walk_next(w, &u) ? u.name : "(none)";
}

static void test_users_come_and_go_amid_a_walk(void **state)
{
	struct fixture *f = *state;
	struct catalog *c = start(f, "", "bob =\nline =\n", "\"dan\" \"\"\n");
	struct users_walk w, other;
	struct known_user u;

	catalog_get_user(c, "eve")->clients = 1;
	(void)catalog_get_user(c, "amy");
	(void)catalog_get_user(c, "gus");
	users_walk_begin(&w);
	users_walk_add(&w, c);
	assert_string_equal(next_name(&w), "amy");
	assert_string_equal(next_name(&w), "bob");
	/* one goes and comes again, others come before and behind the walk */
	catalog_drop_user(c, catalog_find_user(c, "amy"));
	(void)catalog_get_user(c, "amy");
	(void)catalog_get_user(c, "bob");
	(void)catalog_get_user(c, "dan");
	(void)catalog_get_user(c, "fay");
	users_walk_begin(&other);
	users_walk_add(&other, c);
	assert_string_equal(next_name(&other), "amy");
	users_walk_end(&other);
	catalog_release_user(c, catalog_find_user(c, "eve"));
	/* a reload takes what the walk has begun with from nobody */
	apply(c, f, load(f, "", "new =\n", ""), "");
	assert_string_equal(next_name(&w), "dan");
	assert_string_equal(next_name(&w), "fay");
	assert_string_equal(next_name(&w), "gus");
	assert_true(users_walk_next(&w, &u));
	assert_string_equal(u.name, "line");
	assert_non_null(u.conf);
	assert_string_equal(next_name(&w), "pgbouncer");
	assert_string_equal(next_name(&w), "(none)");
	users_walk_end(&w);
	users_walk_end(&w);
	catalog_free(&c);
}

static void test_users_are_known_before_they_come(void **state)
{
	struct fixture *f = *state;
	struct catalog *c = start(f, "", "line =\nboth =\nuser =\n",
	    "\"zoe\" \"\"\n\"both\" \"\"\n\"ann\" \"\"\n");

	assert_null(catalog_find_user(c, "ann"));
	catalog_get_user(c, "user")->servers = 1;
	assert_non_null(catalog_get_user(c, "both")->conf);
	catalog_get_user(c, "guest")->servers = 1;
	assert_int_equal(each_user(&c, 1, note_user, f), 0);
	assert_string_equal(f->log,
	    "ann both= guest+ line= pgbouncer user+= zoe ");
	assert_int_equal(users_count(c), 7);
	apply(c, f, load(f, "", "stop =\n", ""), "");
	assert_null(catalog_get_user(c, "both")->conf);
	assert_int_equal(each_user(&c, 1, note_user, f), 1);
	assert_string_equal(f->log, "both guest+ pgbouncer stop= ");
	/* and the one that the log stopped before */
	assert_int_equal(users_count(c), 5);
	assert_int_equal(users_configured(c), 1);
	catalog_free(&c);
}

static void test_automatic_databases(void **state)
{
	struct fixture *f = *state;
	struct catalog *c = start(f, "* = host=h\n", "", "");
	struct err e = { .text = "" };
	struct database *x = catalog_auto_database(c, "x", &e);
	struct database *y = catalog_auto_database(c, "y", &e);

	assert_string_equal(x->conf->dbname, "x");
	assert_ptr_equal(x->conf, x->own);
	apply(c, f, load(f, "* = host=h\n", "", ""), "");
	/* an entry of its own under the name; the line changed for the rest */
	x->tentative = y->tentative = true;
	apply(c, f, load(f, "* = host=h pool_size=2\nx = host=h\n", "", ""),
	    "~y ");
	assert_null(x->own);
	assert_false(x->tentative);
	assert_true(y->tentative);
	assert_int_equal(y->conf->pool_size, 2);
	/* without the line those made from it stay */
	apply(c, f, load(f, "z =\nx = host=h\n", "", ""), "");
	assert_ptr_equal(catalog_find_database(c, "y"), y);
	assert_int_equal(y->conf->pool_size, 2);
	assert_null(catalog_auto_database(c, "w", &e));
	assert_string_equal(e.text, "");
	catalog_drop_database(c, y);
	assert_null(catalog_find_database(c, "y"));
	catalog_free(&c);
}

static void test_each_has_its_turn_whoever_goes(void **state)
{
	struct fixture *f = *state;
	struct catalog *c = start(f, "a = host=h\nb = host=h\n", "", "");
	struct user *u = catalog_get_user(c, "u");
	struct database *a = catalog_find_database(c, "a"),
	    *b = catalog_find_database(c, "b");
	struct pool *console = c->pools, *p = catalog_get_pool(c, a, u),
	    *q = catalog_get_pool(c, b, u);

	/* all are new */
	catalog_turn(c, time_now());
	assert_ptr_equal(catalog_turn_pool(c), console);
	assert_ptr_equal(catalog_turn_pool(c), p);
	assert_ptr_equal(catalog_turn_pool(c), q);
	assert_null(catalog_turn_pool(c));
	/* who is woken is due in the next turn, once */
	catalog_touch_pool(c, q);
	pool_recheck(p);
	pool_recheck(q);
	assert_null(catalog_turn_pool(c));
	catalog_turn(c, time_now());
	catalog_drop_pool(c, q);
	assert_ptr_equal(catalog_turn_pool(c), p);
	assert_null(catalog_turn_pool(c));

	assert_ptr_equal(catalog_turn_database(c), c->console);
	catalog_drop_database(c, a);
	assert_ptr_equal(catalog_turn_database(c), b);
	assert_null(catalog_turn_database(c));
	catalog_free(&c);
}

static void test_database_that_wants_a_look_is_woken(void **state)
{
	struct fixture *f = *state;
	struct catalog *c = start(f, "plain = host=h\nforced = host=h user=u\n"
	    "* = host=h\n", "", "");
	struct database *plain = catalog_find_database(c, "plain"),
	    *forced = catalog_find_database(c, "forced"), *automatic;
	struct err e;

	automatic = catalog_auto_database(c, "auto", &e);
	catalog_turn(c, time_now());
	while (catalog_turn_database(c) != NULL)
		;
	assert_true(plain->wheel.due == WHEEL_NEVER);
	catalog_wake_databases(c);
	assert_true(plain->wheel.due == WHEEL_NEVER);
	assert_int_equal(forced->wheel.due, 0);
	assert_int_equal(automatic->wheel.due, 0);
	/* the line that made it goes, and the time that it may stay changes */
	while (catalog_turn(c, time_now()), catalog_turn_database(c) != NULL)
		;
	assert_true(automatic->wheel.due == WHEEL_NEVER);
	struct config *next = load(f, "plain = host=h\nforced = host=h user=u\n",
	    "", "");

	next->set.autodb_idle_timeout = 5;
	apply(c, f, next, "");
	assert_int_equal(automatic->wheel.due, 0);
	/* one that just a client of comes or goes */
	database_count_client(plain, 1);
	assert_int_equal(plain->wheel.due, 0);
	assert_int_equal(plain->clients, 1);
	database_count_client(plain, -1);
	assert_int_equal(plain->clients, 0);
	catalog_free(&c);
}

static void test_apply_without_memory_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct catalog *c = start(f, "a = user=x password=p\n* = host=h\n",
	    "", "\"u\" \"p\"\n");
	struct err e = { .text = "" };
	struct database *a = catalog_find_database(c, "a");
	struct database *y = catalog_auto_database(c, "y", &e);
	struct config *next = load(f, "n = user=m password=r\na = user=k "
	    "password=q\n* = host=i\n", "g =\n",
	    "\"u\" \"r\"\n\"t\" \"s\"\n");
	const struct config *before = c->config;
	const struct config_db *conf = y->conf;
	unsigned long n = 1;

	for (;; n++) {
		f->log[0] = '\0';
		mem_fail_at(n);
		const int rc = catalog_apply(c, next, &ops, f);

		if (mem_fail_at(0) < n) {
			assert_int_equal(rc, 0);
			break;
		}
		if (rc == 0)
			fail_msg("allocation %lu was not missed", n);
		assert_string_equal(f->log, "");
		assert_ptr_equal(c->config, before);
		assert_null(catalog_find_database(c, "n"));
		assert_string_equal(a->password->secret, "p");
		assert_string_equal(a->conf->user, "x");
		assert_ptr_equal(y->conf, conf);
		assert_string_equal(secret_of(c, "u")->secret, "p");
	}
	assert_true(n > 10);
	assert_non_null(strstr(f->log, "~a "));
	assert_non_null(strstr(f->log, "~y "));
	config_unref(&next);
	catalog_free(&c);
}

static void test_new_without_memory(void **state)
{
	struct fixture *f = *state;
	struct config *config = load(f, "a = user=x password=p\n", "",
	    "\"u\" \"p\"\n");
	struct catalog *c;
	unsigned long n = 1;

	for (;; n++) {
		mem_fail_at(n);
		c = catalog_new(config);
		if (mem_fail_at(0) < n)
			break;
		assert_null(c);
		assert_int_equal(config->refs, 1);
	}
	assert_non_null(c);
	assert_true(n > 10);
	struct err e = { .text = "" };

	catalog_free(&c);
	config_unref(&config);
	c = start(f, "* = host=h\n", "", "");
	for (n = 1;; n++) {
		mem_fail_at(n);
		struct database *db = catalog_auto_database(c, "x", &e);

		if (mem_fail_at(0) < n)
			break;
		assert_null(db);
		assert_string_equal(e.code, "53200");
		assert_null(catalog_find_database(c, "x"));
	}
	assert_non_null(catalog_find_database(c, "x"));
	catalog_free(&c);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_databases_come_change_and_go),
		CASE(test_each_database_is_in_one_part),
		CASE(test_secrets_keep_or_lose_what_was_derived),
		CASE(test_learned_secret_is_of_one_pool),
		CASE(test_effective_settings),
		CASE(test_users_of_several_catalogs_are_added_up),
		CASE(test_users_come_and_go_amid_a_walk),
		CASE(test_users_are_known_before_they_come),
		CASE(test_automatic_databases),
		CASE(test_each_has_its_turn_whoever_goes),
		CASE(test_database_that_wants_a_look_is_woken),
		CASE(test_apply_without_memory_changes_nothing),
		CASE(test_new_without_memory),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
