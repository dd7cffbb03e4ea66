/* test_tls_setup.c - contexts of a configuration: shared, all or none.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/bio.h>

#include "base/err.h"
#include "base/mem.h"
#include "conf/options.h"
#include "upstream/tls_setup.h"

static void set(struct config *c, const char *name, const char *value)
{
	struct err e;

	assert_int_equal(option_set(option_find(name), &c->set, value, &e), 0);
}

static const struct config_tls as_settings = {
	.sslmode = CONFIG_UNSET, .negotiation = CONFIG_UNSET,
};

static void refuse(const char *name, const char *value, const char *text)
{
	struct config *c = config_seed(0);
	struct err e;

	set(c, name, value);
	assert_null(tls_setup_new(c, &e));
	assert_string_equal(e.text, text);
	config_unref(&c);
}

static void test_defaults_need_no_files(void **state)
{
	struct config *c = config_seed(0);
	const struct config_db db = { .tls = as_settings };
	struct err e;
	struct tls_setup *s = tls_setup_new(c, &e);

	(void)state;
	assert_non_null(s);
	assert_null(s->client);
	assert_int_equal(s->client_mode, SSLMODE_DISABLE);
	const struct tls_target *t = tls_setup_find(s, &db);
	assert_ptr_equal(t, s->targets);
	assert_int_equal(t->what.sslmode, SSLMODE_PREFER);
	assert_non_null(t->context);
	tls_setup_free(&s);
	assert_null(s);
	config_unref(&c);
}

static void test_databases_share_a_context(void **state)
{
	struct config_tls clear = as_settings, same = as_settings;
	struct config *c = config_seed(0);
	struct err e;

	(void)state;
	clear.sslmode = SSLMODE_DISABLE;
	same.sslmode = SSLMODE_PREFER;	/* what the setting says, too */
	struct config_db dbs[] = {
		{ .name = (char *)"a", .tls = clear, .next = &dbs[1] },
		{ .name = (char *)"b", .tls = same, .next = &dbs[2] },
		{ .name = (char *)"c", .tls = clear },
	};
	c->dbs = dbs;
	struct tls_setup *s = tls_setup_new(c, &e);

	assert_non_null(s);
	assert_ptr_equal(tls_setup_find(s, &dbs[0]),
	    tls_setup_find(s, &dbs[2]));
	assert_ptr_equal(tls_setup_find(s, &dbs[1]), s->targets);
	assert_null(tls_setup_find(s, &dbs[0])->context);
	/* one that came later, with what nobody had */
	clear.sslmode = SSLMODE_REQUIRE;
	const struct config_db later = { .tls = clear };
	assert_null(tls_setup_find(s, &later));
	tls_setup_free(&s);
	c->dbs = NULL;
	config_unref(&c);
}

static void test_another_thread_has_the_same(void **state)
{
	struct config *c = config_seed(0);
	struct config_db off = { .tls = as_settings };
	struct err e;
	struct tls_setup *a = tls_setup_new(c, &e), *b;

	(void)state;
	assert_non_null(a);
	unsigned long n = 1;

	do {
		mem_fail_at(n++);
		b = tls_setup_share(a);
		mem_fail_at(0);
	} while (b == NULL);
	assert_true(n > 4);
	const struct tls_target *const t = tls_setup_find(b, &off);

	assert_int_equal(t->what.sslmode, SSLMODE_PREFER);
	assert_non_null(t->context);
	assert_ptr_not_equal(t->context, a->targets->context);
	tls_setup_free(&a);
	tls_setup_free(&b);
	config_unref(&c);
}

static void test_what_does_not_fit_is_refused(void **state)
{
	(void)state;
	refuse("auth_type", "cert", "auth_type=cert requires "
	    "client_tls_sslmode=SSLMODE_VERIFY_FULL");
	refuse("client_tls_sslmode", "verify-full",
	    "client_tls_sslmode requires client_tls_ca_file");
	refuse("client_tls_sslmode", "require", "To allow TLS connections "
	    "from clients, client_tls_key_file and client_tls_cert_file "
	    "must be set.");
	refuse("server_tls_ciphers", "none at all",
	    "invalid server_tls_ciphers: none at all");
	refuse("server_tls_key_file", "/nowhere", "server_tls_key_file and "
	    "server_tls_cert_file must both be set, or neither");
	refuse("server_tls_negotiation", "direct", "server_tls_negotiation="
	    "direct requires server_tls_sslmode=require or stricter");
}

static void test_only_what_counts_recycles(void **state)
{
	struct config *a = config_seed(0), *b = config_seed(0);

	(void)state;
	assert_false(tls_setup_recycles(&a->set, &b->set));
	set(b, "client_tls_ciphers", "HIGH");
	set(b, "server_tls13_ciphers", "TLS_AES_128_GCM_SHA256");
	assert_false(tls_setup_recycles(&a->set, &b->set));
	set(b, "server_tls_protocols", "tlsv1.3");
	assert_true(tls_setup_recycles(&a->set, &b->set));
	config_unref(&a);
	config_unref(&b);
}

/* OpenSSL has 127 types of BIO for a process, and takes none back. */
static void test_any_number_of_reloads_is_one_type_of_bio(void **state)
{
	struct config *c = config_seed(0);
	const int before = BIO_get_new_index();
	struct err e;

	(void)state;
	for (int i = 0; i < 130; i++) {
		struct tls_setup *s = tls_setup_new(c, &e);

		assert_non_null(s);
		assert_non_null(s->targets->context);
		tls_setup_free(&s);
	}
	/* ours, unless an earlier test had it made, and this one */
	assert_in_range(BIO_get_new_index(), before + 1, before + 2);
	config_unref(&c);
}

static void test_without_memory_there_is_nothing(void **state)
{
	struct config *c = config_seed(0);
	struct err e;

	(void)state;
	for (unsigned long n = 1;; n++) {
		mem_fail_at(n);
		struct tls_setup *s = tls_setup_new(c, &e);
		mem_fail_at(0);

		if (s != NULL) {
			assert_true(n > 3);
			tls_setup_free(&s);
			break;
		}
		assert_string_equal(e.code, "53200");
	}
	config_unref(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_need_no_files),
		cmocka_unit_test(test_databases_share_a_context),
		cmocka_unit_test(test_another_thread_has_the_same),
		cmocka_unit_test(test_what_does_not_fit_is_refused),
		cmocka_unit_test(test_only_what_counts_recycles),
		cmocka_unit_test(test_any_number_of_reloads_is_one_type_of_bio),
		cmocka_unit_test(test_without_memory_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
