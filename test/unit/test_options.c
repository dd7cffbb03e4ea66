/* test_options.c - the settings: defaults, parsing, printing.
 * SPDX-License-Identifier: ISC */
#include "conf/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* SHOW CONFIG: spec/admin-console.md section 6.3. */
static const struct {
	const char *name, *def;
	bool changeable;
} shown[] = {
	{ "admin_users", "", true },
	{ "application_name_add_host", "0", true },
	{ "auth_dbname", NULL, true },
	{ "auth_file", NULL, true },
	{ "auth_hba_file", "", true },
	{ "auth_ident_file", NULL, true },
	{ "auth_ldap_options", NULL, true },
	{ "auth_query",
	    "SELECT rolname, CASE WHEN rolvaliduntil OPERATOR(pg_catalog.<) "
	    "pg_catalog.now() THEN NULL ELSE rolpassword END "
	    "FROM pg_catalog.pg_authid "
	    "WHERE rolname OPERATOR(pg_catalog.=) $1 AND rolcanlogin",
	    true },
	{ "auth_type", "md5", true },
	{ "auth_user", NULL, true },
	{ "autodb_idle_timeout", "3600", true },
	{ "cancel_wait_timeout", "10", true },
	{ "client_idle_timeout", "0", true },
	{ "client_login_timeout", "60", true },
	{ "client_tls13_ciphers", NULL, true },
	{ "client_tls_ca_file", "", true },
	{ "client_tls_cert_file", "", true },
	{ "client_tls_ciphers", "default", true },
	{ "client_tls_dheparams", "auto", true },
	{ "client_tls_ecdhcurve", "auto", true },
	{ "client_tls_key_file", "", true },
	{ "client_tls_protocols", "secure", true },
	{ "client_tls_sslmode", "disable", true },
	{ "conffile", NULL, true },
	{ "default_pool_size", "20", true },
	{ "disable_pqexec", "0", false },
	{ "dns_max_ttl", "15", true },
	{ "dns_nxdomain_ttl", "15", true },
	{ "dns_zone_check_period", "0", true },
	{ "idle_transaction_timeout", "0", true },
	{ "ignore_startup_parameters", "", true },
	{ "job_name", "pgbouncer", false },
	{ "listen_addr", "", false },
	{ "listen_backlog", "128", false },
	{ "listen_port", "6432", false },
	{ "log_connections", "1", true },
	{ "log_disconnections", "1", true },
	{ "log_pooler_errors", "1", true },
	{ "log_stats", "1", true },
	{ "logfile", "", true },
	{ "login_notify_message", "", true },
	{ "max_client_conn", "100", true },
	{ "max_db_client_connections", "0", true },
	{ "max_db_connections", "0", true },
	{ "max_packet_size", "2147483647", true },
	{ "max_prepared_statements", "200", true },
	{ "max_user_client_connections", "0", true },
	{ "max_user_connections", "0", true },
	{ "min_pool_size", "0", true },
	{ "peer_id", "0", true },
	{ "pidfile", "", false },
	{ "pkt_buf", "4096", false },
	{ "pool_mode", "session", true },
	{ "pool_idle_timeout", "0", true },
	{ "query_timeout", "0", true },
	{ "query_wait_notify", "5", true },
	{ "query_wait_timeout", "120", true },
	{ "reserve_pool_size", "0", true },
	{ "reserve_pool_timeout", "5", true },
	{ "resolv_conf", "", false },
	{ "sbuf_loopcnt", "5", true },
	{ "scram_iterations", "4096", true },
	{ "server_check_delay", "30", true },
	{ "server_check_query", "<empty>", true },
	{ "server_connect_timeout", "15", true },
	{ "server_down_timeout", "5", true },
	{ "server_fast_close", "0", true },
	{ "server_idle_timeout", "600", true },
	{ "server_lifetime", "3600", true },
	{ "server_login_retry", "15", true },
	{ "server_reset_query", "DISCARD ALL", true },
	{ "server_reset_query_always", "0", true },
	{ "server_round_robin", "0", true },
	{ "server_tls13_ciphers", NULL, true },
	{ "server_tls_ca_file", "", true },
	{ "server_tls_cert_file", "", true },
	{ "server_tls_ciphers", "default", true },
	{ "server_tls_key_file", "", true },
	{ "server_tls_protocols", "secure", true },
	{ "server_tls_sslmode", "prefer", true },
	{ "so_reuseport", "0", false },
	{ "stats_period", "60", true },
	{ "stats_users", "", true },
	{ "suspend_timeout", "10", true },
	{ "syslog", "0", true },
	{ "syslog_facility", "daemon", true },
	{ "syslog_ident", "pgbouncer", true },
	{ "tcp_defer_accept", "1", true },
	{ "tcp_keepalive", "1", true },
	{ "tcp_keepcnt", "0", true },
	{ "tcp_keepidle", "0", true },
	{ "tcp_keepintvl", "0", true },
	{ "tcp_socket_buffer", "0", true },
	{ "tcp_user_timeout", "0", true },
	{ "track_extra_parameters", "IntervalStyle", false },
	{ "transaction_timeout", "0", true },
	{ "unix_socket_dir", "/tmp", false },
	{ "unix_socket_group", "", false },
	{ "unix_socket_mode", "0777", false },
	{ "user", NULL, false },
	{ "verbose", NULL, true },
	/* ours */
	{ "server_login_concurrency", "4", true },
	{ "server_handover_delay", "0.25", true },
	{ "worker_handover_delay", "0.001", true },
	{ "auth_threads", "16", true },
	{ "reload_file_timeout", "30", true },
	{ "auth_queue", "1000", true },
	{ "server_rollback_on_disconnect", "0", true },
	{ "client_channel_binding", "prefer", true },
	{ "server_channel_binding", "prefer", true },
	{ "server_tls_negotiation", "postgres", true },
	{ "max_console_conn", "100", true },
	{ "memory_limit", "0", true },
	{ "max_prepared_statement_memory", "67108864", true },
	{ "cache_unnamed_statements", "0", true },
	{ "log_format", "text", true },
	{ "log_min_duration", "0", true },
	{ "log_query_text", "0", true },
	{ "login_memory", "134217728", true },
	{ "max_unauthenticated", "0", true },
	{ "max_unauthenticated_per_address", "0", true },
	{ "auth_failure_delay", "1", true },
	{ "auth_failure_log_rate", "100", true },
	{ "console_locked_settings", "", true },
	{ "console_version", "1.25", true },
	{ "client_tls_groups", "X25519:P-256:P-384:P-521", true },
	{ "auth_hba_unknown", "refuse", true },
	{ "client_tls_crl_file", "", true },
	{ "server_tls_crl_file", "", true },
	{ "server_require_auth", "", true },
	{ "server_require_peer", "", true },
	{ "strict_permissions", "0", true },
	{ "auth_mock_secret_file", "", true },
	{ "client_proxy_protocol", "off", true },
	{ "proxy_trusted_nets", "", true },
	{ "http_listen_addr", "127.0.0.1", true },
	{ "http_listen_port", "0", true },
	{ "http_pgbouncer_names", "1", true },
	{ "http_tls_cert_file", "", true },
	{ "http_tls_key_file", "", true },
	{ "http_auth_token_file", "", true },
	{ "http_max_series", "100000", true },
	{ "http_log_lines", "100", true },
	{ "shutdown_drain_timeout", "0", true },
	{ "shutdown_grace", "0", true },
	{ "session_state", "forget", true },
	{ "slow_turn", "0.1", true },
	{ "session_state_check", "told", true },
	{ "max_pinned", "-1", true },
	{ "pin_timeout", "0", true },
	{ "listen_lost", "notify", true },
	{ "workers", "1", false },
	{ "worker_cpus", "", false },
	{ "password_timeout", "10", true },
	{ "tls_reload", "off", true },
	{ "auth_query_cache", "0", true },
	{ "auth_query_cache_stale", "3600", true },
	{ "startup_parameters", "", true },
	{ "krb_server_keyfile", NULL, true },
	{ "krb_caseins_users", "0", true },
	{ "client_gssencmode", "allow", true },
	{ "server_gss", "0", true },
	{ "krb_client_keyfile", NULL, true },
	{ "krb_client_principal", NULL, true },
	{ "krbsrvname", "postgres", true },
};

static void test_rows_are_those_of_show_config(void **state)
{
	size_t count;
	const struct option_row *const rows = option_rows(&count);

	(void)state;
	assert_int_equal(count, COUNT(shown));
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(rows[i].name, shown[i].name);
		if (shown[i].def == NULL)
			assert_null(rows[i].def);
		else
			assert_string_equal(rows[i].def, shown[i].def);
		assert_int_equal(rows[i].effect != OPT_START,
		    shown[i].changeable);
		assert_ptr_equal(option_find(rows[i].name), &rows[i]);
		assert_int_equal(option_index(rows[i].name), i);
	}
}

static bool locks(const char *patterns, const char *name)
{
	const struct settings s = {
		.console_locked_settings = (char *)patterns,
	};

	return option_is_locked(name, &s);
}

static void test_locked_settings_are_patterns(void **state)
{
	(void)state;
	assert_false(locks("", "logfile"));
	assert_false(locks(" , ", "logfile"));
	assert_true(locks("logfile", "logfile"));
	assert_true(locks("a,\tlogfile", "logfile"));
	assert_false(locks("logfil", "logfile"));
	assert_false(locks("logfilee", "logfile"));
	assert_true(locks("log*", "logfile"));
	assert_true(locks("*file", "logfile"));
	assert_true(locks("*", "logfile"));
	assert_true(locks("l*g*e", "logfile"));
	assert_true(locks("logfile*", "logfile"));
	assert_false(locks("*l", "logfile"));
	assert_true(locks("*_tls*", "client_tls13_ciphers"));
	assert_true(locks("*tls_*_file", "client_tls_cert_file"));
	/* soon told, though there are many ways to fail */
	assert_false(locks("*e*e*e*e*e*e*e*e*e*e*e*e*e*z",
	    "server_reset_query_always"));
	assert_true(locks("", "console_locked_settings"));
}

static void test_pattern_that_means_nothing_is_an_error(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(option_check_patterns("", &e), 0);
	assert_int_equal(option_check_patterns("auth_*, logfile", &e), 0);
	assert_int_equal(option_check_patterns("logfile,aut_*", &e), -1);
	assert_string_equal(e.text, "no setting is called \"aut_*\"");
}

static void test_every_row_has_help_and_words_where_it_needs_them(void **state)
{
	size_t count;
	const struct option_row *const rows = option_rows(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		assert_true(strlen(rows[i].help) > 10);
		assert_int_equal(rows[i].help[strlen(rows[i].help) - 1], '.');
		assert_int_equal(rows[i].words != NULL,
		    rows[i].type == OPT_T_ENUM);
	}
}

static void test_defaults_are_shown(void **state)
{
	struct settings s = { 0 };
	size_t count;
	const struct option_row *const rows = option_rows(&count);
	char buf[64];

	(void)state;
	assert_int_equal(settings_init(&s), 0);
	for (size_t i = 0; i < count; i++) {
		const char *const v = option_show(&rows[i], &s, buf,
		    sizeof(buf));
		const char *want = shown[i].def;

		if (strcmp(rows[i].name, "unix_socket_mode") == 0)
			want = "511";
		if (strcmp(rows[i].name, "verbose") == 0)
			want = "0";
		if (want == NULL)
			assert_null(v);
		else
			assert_string_equal(v, want);
	}
	settings_fini(&s);
}

/* A value given and what SHOW CONFIG says then; NULL: rejected. */
static const struct {
	const char *name, *value, *shows;
} values[] = {
	{ "default_pool_size", "10", "10" },
	{ "default_pool_size", " +10", "10" },
	{ "default_pool_size", "-1", "-1" },
	{ "default_pool_size", "010", "8" },
	{ "default_pool_size", "0x1F", "31" },
	{ "default_pool_size", "99999999999", "2147483647" },
	{ "default_pool_size", "-99999999999", "-2147483648" },
	{ "default_pool_size", "", NULL },
	{ "default_pool_size", "on", NULL },
	{ "default_pool_size", "1 ; note", NULL },
	{ "default_pool_size", "1.5", NULL },
	{ "unix_socket_mode", "0777", "511" },
	{ "unix_socket_mode", "777", "777" },
	{ "listen_port", "0", "0" },
	{ "listen_port", "65535", "65535" },
	{ "listen_port", "65536", NULL },
	{ "listen_port", "-1", NULL },
	{ "stats_period", "0", NULL },
	{ "server_login_concurrency", "0", NULL },
	{ "server_login_concurrency", "1000", "1000" },
	{ "server_login_concurrency", "1001", NULL },
	{ "auth_threads", "0", NULL },
	{ "auth_threads", "65", NULL },
	{ "auth_queue", "0", "0" },
	{ "verbose", "3", "3" },
	{ "so_reuseport", "0", "0" },
	{ "so_reuseport", "7", "7" },
	{ "so_reuseport", "-2", "-2" },
	{ "so_reuseport", "on", "1" },
	{ "so_reuseport", "TRUE", "1" },
	{ "so_reuseport", "no", "0" },
	{ "so_reuseport", "", NULL },
	{ "so_reuseport", "maybe", NULL },
	{ "max_packet_size", "1024", "1024" },
	{ "max_packet_size", "-1", "4294967295" },
	{ "max_packet_size", "9999999999", "4294967295" },
	{ "max_packet_size", "x", NULL },
	{ "query_timeout", "3600", "3600" },
	{ "query_timeout", "0.5", "0.5" },
	{ "query_timeout", "1e3", "1000" },
	{ "query_timeout", "1234567", "1.23457e+06" },
	{ "query_timeout", "10min", "600" },
	{ "query_timeout", "250ms", "0.25" },
	{ "query_timeout", "-1", NULL },
	{ "query_timeout", "", NULL },
	{ "query_timeout", "inf", NULL },
	{ "query_timeout", "nan", NULL },
	{ "query_timeout", "5 x", NULL },
	{ "pool_mode", "Transaction", "transaction" },
	{ "pool_mode", "statement", "statement" },
	{ "pool_mode", "sessions", NULL },
	{ "pool_mode", "", NULL },
	{ "auth_type", "any", "any" },
	{ "auth_type", "trust", "trust" },
	{ "auth_type", "plain", "plain" },
	{ "auth_type", "MD5", "md5" },
	{ "auth_type", "scram-sha-256", "scram-sha-256" },
	{ "auth_type", "cert", "cert" },
	{ "auth_type", "hba", "hba" },
	{ "auth_type", "peer", NULL },
	{ "auth_type", "reject", NULL },
	{ "auth_type", "password", NULL },
	{ "auth_type", "crypt", NULL },
	{ "auth_type", "", NULL },
	{ "client_tls_sslmode", "verify-full", "verify-full" },
	{ "client_tls_sslmode", "verify-ca", "verify-ca" },
	{ "server_tls_sslmode", "require", "require" },
	{ "server_tls_sslmode", "allow", "allow" },
	{ "server_tls_sslmode", "disabled", NULL },
	{ "logfile", "", "" },
	{ "logfile", "'a b'", "'a b'" },
	{ "user", "nobody", "nobody" },
};

static void test_each_value_of_the_table(void **state)
{
	struct settings s = { 0 };
	char buf[64];

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++) {
		const struct option_row *const o = option_find(values[i].name);
		struct err e = { 0 };

		assert_int_equal(settings_init(&s), 0);
		const int rc = option_set(o, &s, values[i].value, &e);
		if (values[i].shows == NULL) {
			assert_int_equal(rc, -1);
			/* The text names the setting. */
			assert_non_null(strstr(e.text, o->name));
		} else {
			assert_int_equal(rc, 0);
			assert_string_equal(option_show(o, &s, buf,
			    sizeof(buf)), values[i].shows);
		}
		settings_fini(&s);
	}
}

static void test_rejected_value_changes_nothing(void **state)
{
	struct settings s = { 0 };

	(void)state;
	assert_int_equal(settings_init(&s), 0);
	option_set(option_find("listen_port"), &s, "99999", NULL);
	option_set(option_find("query_timeout"), &s, "x", NULL);
	option_set(option_find("pool_mode"), &s, "x", NULL);
	assert_int_equal(s.listen_port, 6432);
	assert_true(s.query_timeout == 0);
	assert_int_equal(s.pool_mode, POOL_SESSION);
	settings_fini(&s);
}

static void test_error_names_range_or_words(void **state)
{
	struct settings s = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(option_set(option_find("listen_port"), &s, "65536",
	    &e), -1);
	assert_string_equal(e.text, "listen_port must be from 0 to 65535");
	assert_int_equal(option_set(option_find("pool_mode"), &s, "x", &e),
	    -1);
	assert_string_equal(e.text,
	    "pool_mode must be one of session, transaction, statement");
}

static void test_methods_that_were_not_built_in_are_rejected(void **state)
{
	const struct option_row *const o = option_find("auth_type");
	struct settings s = { 0 };
	int ldap = -1, pam = -1;

	(void)state;
#ifdef HAVE_LDAP
	ldap = 0;
#endif
#ifdef HAVE_PAM
	pam = 0;
#endif
	assert_int_equal(option_set(o, &s, "ldap", NULL), ldap);
	assert_int_equal(option_set(o, &s, "pam", NULL), pam);
}

static void test_unknown_names_are_not_found(void **state)
{
	(void)state;
	assert_null(option_find("service_name"));
	assert_null(option_find("POOL_MODE"));
	assert_null(option_find(""));
}

static void test_nearest_names_what_was_meant(void **state)
{
	(void)state;
	assert_string_equal(option_nearest("pool_mod"), "pool_mode");
	assert_string_equal(option_nearest("max_client_con"),
	    "max_client_conn");
	assert_string_equal(option_nearest("defualt_pool_size"),
	    "default_pool_size");
	assert_null(option_nearest("zzzzzz"));
	assert_null(option_nearest(""));
}

static void test_reset_spares_what_has_no_default(void **state)
{
	struct settings s = { 0 };

	(void)state;
	assert_int_equal(settings_init(&s), 0);
	assert_int_equal(option_set(option_find("auth_user"), &s, "a", NULL),
	    0);
	assert_int_equal(option_set(option_find("verbose"), &s, "2", NULL), 0);
	assert_int_equal(option_set(option_find("logfile"), &s, "f", NULL), 0);
	assert_int_equal(option_set(option_find("pkt_buf"), &s, "1", NULL), 0);
	assert_int_equal(settings_reset(&s), 0);
	assert_string_equal(s.auth_user, "a");
	assert_int_equal(s.verbose, 2);
	assert_string_equal(s.logfile, "");
	assert_int_equal(s.pkt_buf, 4096);
	settings_fini(&s);
}

static void test_copy_is_independent(void **state)
{
	struct settings a = { 0 }, b = { 0 };
	size_t count;
	const struct option_row *const rows = option_rows(&count);
	char x[64], y[64];

	(void)state;
	assert_int_equal(settings_init(&a), 0);
	assert_int_equal(option_set(option_find("user"), &a, "u", NULL), 0);
	assert_int_equal(settings_copy(&b, &a), 0);
	for (size_t i = 0; i < count; i++) {
		const char *const v = option_show(&rows[i], &a, x, sizeof(x));
		const char *const w = option_show(&rows[i], &b, y, sizeof(y));

		if (v == NULL)
			assert_null(w);
		else
			assert_string_equal(v, w);
	}
	settings_fini(&a);
	assert_string_equal(b.user, "u");
	/* An unset string is copied as well. */
	assert_int_equal(option_copy(option_find("user"), &b, &a), 0);
	assert_null(b.user);
	settings_fini(&b);
}

static void test_each_failed_allocation_fails_init_and_copy(void **state)
{
	struct settings a, b;
	unsigned long n = 0;
	int rc;

	(void)state;
	do {
		a = (struct settings){ 0 };
		mem_fail_at(++n);
		rc = settings_init(&a);
	} while (rc != 0);
	assert_true(n > 20);
	n = 0;
	do {
		b = (struct settings){ 0 };
		mem_fail_at(++n);
		rc = settings_copy(&b, &a);
		settings_fini(&b);
	} while (rc != 0);
	mem_fail_at(0);
	assert_true(n > 20);
	settings_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_those_of_show_config),
		cmocka_unit_test(test_locked_settings_are_patterns),
		cmocka_unit_test(test_pattern_that_means_nothing_is_an_error),
		cmocka_unit_test(
		    test_every_row_has_help_and_words_where_it_needs_them),
		cmocka_unit_test(test_defaults_are_shown),
		cmocka_unit_test(test_each_value_of_the_table),
		cmocka_unit_test(test_rejected_value_changes_nothing),
		cmocka_unit_test(test_error_names_range_or_words),
		cmocka_unit_test(
		    test_methods_that_were_not_built_in_are_rejected),
		cmocka_unit_test(test_unknown_names_are_not_found),
		cmocka_unit_test(test_nearest_names_what_was_meant),
		cmocka_unit_test(test_reset_spares_what_has_no_default),
		cmocka_unit_test(test_copy_is_independent),
		cmocka_unit_test(
		    test_each_failed_allocation_fails_init_and_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
