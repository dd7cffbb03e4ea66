/* test_auth_cache.c - answers of auth_query that are kept for a while.
 * SPDX-License-Identifier: ISC */
#include "login/auth_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/container.h"
#include "base/err.h"
#include "base/mem.h"
#include "pool/credentials.h"

#define FETCH ((struct auth_fetch *)&fetching)	/* never looked at */
#define WAITERS 3

static int fetching;
static struct auth_cache *cache;
static const struct auth_ages ages = { 10 * USEC, 100 * USEC };

static struct waiter {
	struct auth_wait wait;
	unsigned told;
	char secret[16];	/* "-": nobody has the name; "!": no answer */
} waiters[WAITERS];

static void on_ready(struct auth_wait *w, const struct auth_entry *e,
    const struct err *why)
{
	struct waiter *const me = container_of(w, struct waiter, wait);

	me->told++;
	snprintf(me->secret, sizeof me->secret, "%s", why != NULL ? "!" :
	    e->state == AUTH_ENTRY_FOUND ? e->found->secret : "-");
}

static int setup(void **state)
{
	(void)state;
	memset(waiters, 0, sizeof waiters);
	for (int i = 0; i < WAITERS; i++)
		waiters[i].wait.ready = on_ready;
	cache = auth_cache_new(3);
	return cache == NULL ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	auth_cache_free(&cache);
	return mem_stat(MEM_ANSWER)->used == 0 &&
	    mem_stat(MEM_CREDENTIALS)->used == 0 ? 0 : -1;
}

static struct auth_key key_of(const char *user)
{
	return (struct auth_key){ user, "asker", "shop", "select", false };
}

static struct auth_entry *get(const char *user)
{
	const struct auth_key key = key_of(user);
	struct auth_entry *const e = auth_cache_get(cache, &key);

	assert_non_null(e);
	return e;
}

static struct auth_entry *find(const char *user)
{
	const struct auth_key key = key_of(user);

	return auth_cache_find(cache, &key);
}

/* A fetch of e begins and ends; secret NULL: no row. */
static bool put(struct auth_entry *e, const char *secret, usec_t asked)
{
	struct credentials *c = secret == NULL ? NULL : credentials_new(secret);
	const bool wanted = auth_entry_put(e, &(struct auth_news){
	    .number = auth_cache_begin(cache), .asked = asked, .found = c,
	    .name = "ann" });

	credentials_unref(&c);
	return wanted;
}

static enum auth_age age(const struct auth_entry *e, usec_t now)
{
	return auth_entry_age(e, &ages, now);
}

static void test_answer_grows_old_and_counts_no_more(void **state)
{
	struct auth_entry *const e = get("ann");

	(void)state;
	assert_int_equal(age(e, 0), AUTH_AGE_NONE);
	assert_false(put(e, "x", USEC));
	assert_int_equal(age(e, USEC), AUTH_AGE_YOUNG);
	assert_int_equal(age(e, 11 * USEC - 1), AUTH_AGE_YOUNG);
	assert_int_equal(age(e, 11 * USEC), AUTH_AGE_OLD);
	assert_int_equal(age(e, 101 * USEC - 1), AUTH_AGE_OLD);
	assert_int_equal(age(e, 101 * USEC), AUTH_AGE_NONE);
	auth_cache_tick(cache, &ages, 101 * USEC);
	assert_null(find("ann"));
}

static void test_absent_name_is_kept_for_a_second(void **state)
{
	struct auth_entry *const e = get("ghost");

	(void)state;
	put(e, NULL, USEC);
	assert_int_equal(e->state, AUTH_ENTRY_ABSENT);
	assert_int_equal(age(e, 2 * USEC - 1), AUTH_AGE_YOUNG);
	assert_int_equal(age(e, 2 * USEC), AUTH_AGE_NONE);
	auth_cache_tick(cache, &ages, 2 * USEC);
	assert_null(find("ghost"));
}

static void test_each_part_of_the_key_tells(void **state)
{
	static const struct auth_key keys[] = {
		{ "ann", "asker", "shop", "select", false },
		{ "anna", "asker", "shop", "select", false },
		{ "ann", "other", "shop", "select", false },
		{ "ann", "asker", "sho", "pselect", false },
		{ "ann", "asker", "shop", "select 1", false },
		{ "ann", "asker", "shop", "select", true },
	};
	const size_t count = sizeof keys / sizeof keys[0];

	(void)state;
	for (size_t i = 0; i < count; i++)
		assert_non_null(auth_cache_get(cache, &keys[i]));
	assert_int_equal(auth_cache_count(cache, AUTH_ENTRY_NEW), count);
	assert_ptr_equal(auth_cache_get(cache, &keys[0]),
	    auth_cache_find(cache, &keys[0]));
	assert_int_equal(auth_cache_count(cache, AUTH_ENTRY_NEW), count);
}

static void test_name_used_longest_ago_makes_room(void **state)
{
	static const char *const names[] = { "a", "b", "c" };

	(void)state;
	for (int i = 0; i < 3; i++)
		put(get(names[i]), "x", 0);
	(void)get("a");
	put(get("d"), "x", 0);
	assert_non_null(find("a"));
	assert_null(find("b"));
	assert_int_equal(auth_cache_count(cache, AUTH_ENTRY_FOUND), 3);
}

static void test_invented_names_drive_out_no_known_one(void **state)
{
	char name[16];

	(void)state;
	put(get("ann"), "x", 0);
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof name, "n%d", i);
		put(get(name), NULL, 0);
	}
	assert_non_null(find("ann"));
	assert_int_equal(auth_cache_count(cache, AUTH_ENTRY_ABSENT),
	    AUTH_CACHE_ABSENT);
}

static void test_entry_that_somebody_waits_for_stays(void **state)
{
	struct auth_entry *const e = get("a");

	(void)state;
	put(e, "x", 0);
	auth_wait_begin(&waiters[0].wait, e, auth_cache_last(cache));
	put(get("b"), "x", 0);
	put(get("c"), "x", 0);
	put(get("d"), "x", 0);
	assert_ptr_equal(find("a"), e);
	auth_cache_shed(cache);
	assert_ptr_equal(find("a"), e);
	assert_null(find("d"));
	auth_wait_end(&waiters[0].wait);
	auth_wait_end(&waiters[0].wait);
	auth_cache_shed(cache);
	assert_null(find("a"));
	assert_int_equal(waiters[0].told, 0);
}

static void test_wait_ends_by_a_fetch_that_began_later(void **state)
{
	struct auth_entry *const e = get("ann");

	(void)state;
	const uint64_t first = auth_cache_begin(cache);

	e->fetch = FETCH;
	auth_wait_begin(&waiters[0].wait, e, 0);
	auth_wait_begin(&waiters[1].wait, e, first);
	struct credentials *c = credentials_new("x");

	assert_true(auth_entry_put(e, &(struct auth_news){ .number = first,
	    .found = c, .name = "ann" }));
	credentials_unref(&c);
	assert_string_equal(waiters[0].secret, "x");
	assert_int_equal(waiters[1].told, 0);
	assert_false(put(e, "y", 0));
	assert_string_equal(waiters[1].secret, "y");
	assert_int_equal(waiters[0].told, 1);
}

static void test_failure_ends_all_waits_and_keeps_the_answer(void **state)
{
	struct auth_entry *const e = get("ann");
	struct err why;

	(void)state;
	put(e, "x", 0);
	auth_wait_begin(&waiters[0].wait, e, auth_cache_last(cache));
	auth_wait_begin(&waiters[1].wait, e, auth_cache_last(cache) + 9);
	err_set(&why, ERRCODE_PROTOCOL_VIOLATION, "down");
	assert_false(auth_entry_put(e, &(struct auth_news){
	    .number = auth_cache_begin(cache), .why = &why }));
	assert_string_equal(waiters[0].secret, "!");
	assert_string_equal(waiters[1].secret, "!");
	assert_int_equal(find("ann")->state, AUTH_ENTRY_FOUND);
}

static void test_denial_ends_the_answer_that_was_kept(void **state)
{
	struct auth_entry *const e = get("ann");
	struct err why;

	(void)state;
	put(e, "x", 0);
	auth_wait_begin(&waiters[0].wait, e, auth_cache_last(cache));
	err_set(&why, ERRCODE_PROTOCOL_VIOLATION, "locked");
	assert_false(auth_entry_put(e, &(struct auth_news){
	    .number = auth_cache_begin(cache), .why = &why, .denied = true }));
	assert_string_equal(waiters[0].secret, "!");
	assert_true(waiters[0].wait.forgotten);
	assert_null(find("ann"));
}

static void test_fetch_given_up_is_asked_again_if_somebody_waits(void **state)
{
	struct auth_entry *const e = get("ann");

	(void)state;
	e->fetch = FETCH;
	auth_wait_begin(&waiters[0].wait, e, 0);
	assert_false(auth_entry_is_unwanted(e));
	assert_true(auth_entry_give_up(e));
	assert_int_equal(waiters[0].told, 0);
	e->fetch = FETCH;
	auth_wait_end(&waiters[0].wait);
	assert_true(auth_entry_is_unwanted(e));
	assert_false(auth_entry_give_up(e));
	assert_null(find("ann"));
}

static void test_known_answer_is_asked_again_for_nobody(void **state)
{
	struct auth_entry *const e = get("ann");

	(void)state;
	put(e, "x", 0);
	assert_false(auth_entry_is_unwanted(e));
}

static void test_forget_finds_the_name_that_another_leads_to(void **state)
{
	struct auth_entry *const under_way = get("ANN");

	(void)state;
	put(get("Ann"), "x", 0);	/* the row has ann */
	const uint64_t begun = auth_cache_begin(cache);

	under_way->fetch = FETCH;
	auth_wait_begin(&waiters[0].wait, under_way, 0);
	assert_int_equal(auth_cache_forget(cache, "ann"), 1);
	assert_null(find("Ann"));
	struct credentials *c = credentials_new("x");

	assert_true(auth_entry_put(under_way, &(struct auth_news){
	    .number = begun, .found = c, .name = "ann" }));
	credentials_unref(&c);
	assert_int_equal(waiters[0].told, 0);
	auth_wait_end(&waiters[0].wait);
}

static void test_forgotten_answer_is_none_when_it_comes(void **state)
{
	struct auth_entry *const e = get("ann");

	(void)state;
	put(e, "x", 0);
	const uint64_t begun = auth_cache_begin(cache);

	e->fetch = FETCH;
	auth_wait_begin(&waiters[0].wait, e, 0);
	assert_int_equal(auth_cache_forget(cache, "bob"), 0);
	assert_false(waiters[0].wait.forgotten);
	assert_int_equal(auth_cache_forget(cache, "ann"), 1);
	assert_true(waiters[0].wait.forgotten);
	assert_int_equal(age(e, 0), AUTH_AGE_NONE);
	struct credentials *c = credentials_new("x");

	assert_true(auth_entry_put(e, &(struct auth_news){ .number = begun,
	    .found = c, .name = "ann" }));
	credentials_unref(&c);
	assert_int_equal(waiters[0].told, 0);
	assert_false(put(e, "y", 0));
	assert_string_equal(waiters[0].secret, "y");
}

static void test_clear_forgets_all(void **state)
{
	(void)state;
	put(get("a"), "x", 0);
	put(get("b"), NULL, 0);
	auth_cache_clear(cache);
	assert_null(find("a"));
	assert_null(find("b"));
}

static void test_same_secret_keeps_what_was_derived(void **state)
{
	struct auth_entry *const e = get("ann");

	(void)state;
	put(e, "x", 0);
	struct credentials *const before = e->found;

	put(e, "x", USEC);
	assert_ptr_equal(e->found, before);
	assert_int_equal(e->asked, USEC);
	put(e, "y", USEC);
	assert_ptr_not_equal(e->found, before);
}

/* Once more, with each allocation failing in turn. */
static void test_no_memory_keeps_nothing_wrong(void **state)
{
	const struct auth_key key = key_of("ann");

	(void)state;
	for (unsigned long nth = 1; nth < 12; nth++) {
		struct credentials *c = credentials_new("x");
		struct auth_wait *const w = &waiters[0].wait;

		assert_non_null(c);
		mem_fail_at(nth);
		struct auth_entry *const e = auth_cache_get(cache, &key);

		if (e != NULL) {
			auth_wait_begin(w, e, auth_cache_last(cache));
			(void)auth_entry_put(e, &(struct auth_news){
			    .number = auth_cache_begin(cache), .found = c,
			    .name = "ann" });
			assert_null(w->entry);
			assert_true(strcmp(waiters[0].secret, "x") == 0 ||
			    strcmp(waiters[0].secret, "!") == 0);
		}
		mem_fail_at(0);
		credentials_unref(&c);
		auth_cache_clear(cache);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_answer_grows_old_and_counts_no_more),
		TEST(test_absent_name_is_kept_for_a_second),
		TEST(test_each_part_of_the_key_tells),
		TEST(test_name_used_longest_ago_makes_room),
		TEST(test_invented_names_drive_out_no_known_one),
		TEST(test_entry_that_somebody_waits_for_stays),
		TEST(test_wait_ends_by_a_fetch_that_began_later),
		TEST(test_failure_ends_all_waits_and_keeps_the_answer),
		TEST(test_denial_ends_the_answer_that_was_kept),
		TEST(test_fetch_given_up_is_asked_again_if_somebody_waits),
		TEST(test_known_answer_is_asked_again_for_nobody),
		TEST(test_forget_finds_the_name_that_another_leads_to),
		TEST(test_forgotten_answer_is_none_when_it_comes),
		TEST(test_clear_forgets_all),
		TEST(test_same_secret_keeps_what_was_derived),
		TEST(test_no_memory_keeps_nothing_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
