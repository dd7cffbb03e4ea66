/* test_derive.c - keys made off the loop: shared, kept, given up, refused.
 * SPDX-License-Identifier: ISC */
#include "upstream/derive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/time.h"
#include "io/loop.h"
#include "io/offload.h"
#include "pool/credentials.h"
#include "verifier_test.h"

#define GIVE_UP (20 * USEC)
#define COSTLY 200000	/* iterations: still under way when the test goes on */

struct world {
	struct loop *loop;
	struct offload *offload;
	struct credentials *plain;
	int wanted, ready;
	bool late;
};

/* One who waits. */
struct waiter {
	struct derive_wait wait;	/* first */
	struct world *w;
	struct derive_wait *leaves;	/* when this one is ready; NULL */
};

static const uint8_t salt[16] = "0123456789abcde";

static struct scram_salt salt_for(int iterations)
{
	return (struct scram_salt){ salt, sizeof salt, iterations };
}

static void on_ready(struct derive_wait *dw)
{
	struct waiter *x = (struct waiter *)dw;

	assert_null(dw->of);
	x->w->ready++;
	if (x->leaves != NULL)
		derive_leave(x->leaves);
}

static enum derive_result ask_verifier(struct offload *o, struct credentials *c,
    int iterations, struct derive_wait *w)
{
	const struct scram_salt s = salt_for(iterations);

	return derive_verifier(o, c, &s, w);
}

static struct waiter waiter(struct world *w)
{
	return (struct waiter){ .wait.ready = on_ready, .w = w };
}

static void start(struct world *w)
{
	memset(w, 0, sizeof *w);
	w->loop = loop_new();
	assert_non_null(w->loop);
	w->offload = offload_new(w->loop);
	assert_non_null(w->offload);
	offload_limit(w->offload, OFFLOAD_DERIVE, 1, 100);
	offload_limit(w->offload, OFFLOAD_TYPED, 1, 100);
	w->plain = credentials_new("pencil");
	assert_non_null(w->plain);
}

static void finish(struct world *w)
{
	/* a costly one may be under way */
	struct offload *kept = w->offload;

	while (!offload_free(&w->offload))
		w->offload = kept;
	loop_free(&w->loop);
	assert_null(w->plain->deriving);
	assert_int_equal(w->plain->refs, 1);
	credentials_unref(&w->plain);
}

static void after_turn(void *arg)
{
	struct world *w = arg;

	if (w->ready >= w->wanted)
		loop_stop(w->loop);
}

static void on_late(void *arg)
{
	struct world *w = arg;

	w->late = true;
	loop_stop(w->loop);
}

static void run_until(struct world *w, int n)
{
	w->wanted = n;
	assert_int_equal(loop_every(w->loop, GIVE_UP, on_late, w), 0);
	loop_run(w->loop, after_turn, w);
	assert_false(w->late);
	assert_int_equal(w->ready, n);
}

static void assert_keys(const struct scram_keys *k, const char *password,
    int iterations)
{
	struct scram_keys want;

	assert_int_equal(scram_keys_derive(&want, password, salt, sizeof salt,
	    iterations), 0);
	assert_memory_equal(k, &want, sizeof want);
}

static void test_one_derivation_serves_all_who_wait(void **state)
{
	struct world w;
	struct waiter a[5];

	(void)state;
	start(&w);
	for (int i = 0; i < 5; i++) {
		a[i] = waiter(&w);
		assert_int_equal(ask_verifier(w.offload, w.plain, 4096,
		    &a[i].wait), DERIVE_WAIT);
		assert_ptr_equal(a[i].wait.of, w.plain->deriving);
	}
	run_until(&w, 5);
	for (int i = 0; i < 5; i++)
		assert_true(a[i].wait.ok);
	const struct scram_verifier *v = credentials_verifier(w.plain, 4096);

	assert_non_null(v);
	assert_true(verifier_matches(v, "pencil"));
	/* and those who come later */
	assert_int_equal(ask_verifier(w.offload, w.plain, 4096,
	    &a[0].wait), DERIVE_READY);
	assert_true(a[0].wait.ok);
	assert_ptr_equal(credentials_verifier(w.plain, 4096), v);
	finish(&w);
}

static void test_keys_for_a_server_are_shared_and_kept(void **state)
{
	const struct scram_salt s = salt_for(4096), other = salt_for(5);
	struct world w;
	struct waiter a, b, c;

	(void)state;
	start(&w);
	a = b = c = waiter(&w);
	assert_int_equal(derive_keys(w.offload, w.plain, &s, &a.wait),
	    DERIVE_WAIT);
	assert_int_equal(derive_keys(w.offload, w.plain, &other, &b.wait),
	    DERIVE_WAIT);
	assert_int_equal(derive_keys(w.offload, w.plain, &s, &c.wait),
	    DERIVE_WAIT);
	assert_ptr_equal(a.wait.of, c.wait.of);
	assert_ptr_not_equal(a.wait.of, b.wait.of);
	run_until(&w, 3);
	assert_keys(&a.wait.keys, "pencil", 4096);
	assert_keys(&b.wait.keys, "pencil", 5);
	assert_keys(&c.wait.keys, "pencil", 4096);
	derive_leave(&a.wait);
	assert_int_equal(derive_keys(w.offload, w.plain, &s, &a.wait),
	    DERIVE_READY);
	assert_true(a.wait.ok);
	assert_keys(&a.wait.keys, "pencil", 4096);
	finish(&w);
}

static void test_typed_password_is_nobody_elses(void **state)
{
	const struct scram_salt s = salt_for(4096);
	struct world w;
	struct waiter a, b;

	(void)state;
	start(&w);
	a = b = waiter(&w);
	assert_int_equal(derive_typed(w.offload, "pen", &s, &a.wait),
	    DERIVE_WAIT);
	assert_int_equal(derive_keys(w.offload, NULL, &s, &b.wait),
	    DERIVE_WAIT);
	run_until(&w, 2);
	assert_keys(&a.wait.keys, "pen", 4096);
	assert_keys(&b.wait.keys, "", 4096);
	derive_leave(&a.wait);
	assert_int_equal(a.wait.keys.client_key[0] |
	    a.wait.keys.server_key[31], 0);
	finish(&w);
}

static void test_who_leaves_is_not_told(void **state)
{
	const struct scram_salt s = salt_for(COSTLY);
	struct world w;
	struct waiter a, b, c, d;

	(void)state;
	start(&w);
	a = b = c = d = waiter(&w);
	/* the one thread is busy with a; the others wait */
	assert_int_equal(derive_typed(w.offload, "a", &s, &a.wait),
	    DERIVE_WAIT);
	assert_int_equal(derive_typed(w.offload, "b", &s, &b.wait),
	    DERIVE_WAIT);
	assert_int_equal(ask_verifier(w.offload, w.plain, 4096, &c.wait),
	    DERIVE_WAIT);
	assert_int_equal(ask_verifier(w.offload, w.plain, 4096, &d.wait),
	    DERIVE_WAIT);
	derive_leave(&b.wait);
	derive_leave(&a.wait);
	derive_leave(&c.wait);
	derive_leave(&c.wait);
	run_until(&w, 1);
	assert_true(d.wait.ok);
	finish(&w);
}

static void test_neighbour_may_leave_while_being_told(void **state)
{
	struct world w;
	struct waiter a, b, c;

	(void)state;
	start(&w);
	a = b = c = waiter(&w);
	assert_int_equal(ask_verifier(w.offload, w.plain, 4096, &a.wait),
	    DERIVE_WAIT);
	assert_int_equal(ask_verifier(w.offload, w.plain, 4096, &b.wait),
	    DERIVE_WAIT);
	assert_int_equal(ask_verifier(w.offload, w.plain, 4096, &c.wait),
	    DERIVE_WAIT);
	a.leaves = &b.wait;
	run_until(&w, 2);
	assert_null(b.wait.of);
	finish(&w);
}

static void test_full_queue_is_told(void **state)
{
	const struct scram_salt s = salt_for(COSTLY);
	struct world w;
	struct waiter a[3];

	(void)state;
	start(&w);
	offload_limit(w.offload, OFFLOAD_TYPED, 1, 1);
	for (int i = 0; i < 3; i++)
		a[i] = waiter(&w);
	assert_int_equal(derive_typed(w.offload, "a", &s, &a[0].wait),
	    DERIVE_WAIT);
	assert_int_equal(derive_typed(w.offload, "b", &s, &a[1].wait),
	    DERIVE_WAIT);
	/* the thread may have begun with one of them already, or not */
	enum derive_result r = derive_typed(w.offload, "c", &s, &a[2].wait);

	if (r == DERIVE_WAIT)
		r = ask_verifier(w.offload, w.plain, 4096, &a[2].wait);
	assert_int_equal(r, DERIVE_FULL);
	for (int i = 0; i < 3; i++)
		derive_leave(&a[i].wait);
	finish(&w);
}

static void test_without_threads_it_is_done_at_once(void **state)
{
	const struct scram_salt s = salt_for(4);
	struct credentials *c = credentials_new("pencil");
	struct credentials *md5 = credentials_new(
	    "md50123456789abcdef0123456789abcdef");
	struct waiter a = waiter(NULL);

	(void)state;
	assert_int_equal(ask_verifier(NULL, c, 4, &a.wait), DERIVE_READY);
	assert_true(a.wait.ok);
	assert_non_null(credentials_verifier(c, 4));
	assert_int_equal(derive_keys(NULL, c, &s, &a.wait), DERIVE_READY);
	assert_keys(&a.wait.keys, "pencil", 4);
	assert_non_null(credentials_keys(c, &s));
	assert_int_equal(derive_typed(NULL, "x", &s, &a.wait), DERIVE_READY);
	assert_keys(&a.wait.keys, "x", 4);
	/* a hash is no password */
	assert_int_equal(ask_verifier(NULL, md5, 4, &a.wait),
	    DERIVE_READY);
	assert_false(a.wait.ok);
	assert_int_equal(derive_keys(NULL, md5, &s, &a.wait), DERIVE_READY);
	assert_false(a.wait.ok);
	credentials_unref(&c);
	credentials_unref(&md5);
}

static void test_no_memory_is_told(void **state)
{
	const struct scram_salt s = salt_for(4);
	struct waiter a = waiter(NULL);
	unsigned long n = 0;

	(void)state;
	do {
		struct credentials *c = credentials_new("pencil");

		mem_fail_at(++n);
		assert_int_equal(ask_verifier(NULL, c, 4, &a.wait),
		    DERIVE_READY);
		mem_fail_at(0);
		assert_int_equal(credentials_verifier(c, 4) != NULL,
		    a.wait.ok);
		assert_null(c->deriving);
		credentials_unref(&c);
	} while (!a.wait.ok);
	assert_true(n > 3);
	for (n = 1, a.wait.ok = false; !a.wait.ok; n++) {
		mem_fail_at(n);
		assert_int_equal(derive_typed(NULL, "x", &s, &a.wait),
		    DERIVE_READY);
		mem_fail_at(0);
	}
	assert_true(n > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_derivation_serves_all_who_wait),
		cmocka_unit_test(test_keys_for_a_server_are_shared_and_kept),
		cmocka_unit_test(test_typed_password_is_nobody_elses),
		cmocka_unit_test(test_who_leaves_is_not_told),
		cmocka_unit_test(test_neighbour_may_leave_while_being_told),
		cmocka_unit_test(test_full_queue_is_told),
		cmocka_unit_test(test_without_threads_it_is_done_at_once),
		cmocka_unit_test(test_no_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
