/* test_place.c - where the console is.
 * SPDX-License-Identifier: ISC */
#include "ctl/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"

#define POOLER 900		/* its user */
#define PEER 1000		/* another */
#define NOBODY ((uid_t)-1)
#define STRANGER 1001		/* has a socket in /tmp */

/* --- the world --- */

static const char *no_env(const char *name)
{
	(void)name;
	return NULL;
}

static const char *host_env(const char *name)
{
	return strcmp(name, "PGHOST") == 0 ? "db1" : NULL;
}

static const char *port_env(const char *name)
{
	return strcmp(name, "PGPORT") == 0 ? "7777" : NULL;
}

static const char *user_env(const char *name)
{
	return strcmp(name, "PGUSER") == 0 ? "zoe" : NULL;
}

static const char *service_env(const char *name)
{
	return strcmp(name, "PGSERVICE") == 0 ? "pool" : NULL;
}

/* The pooler of /run/p is there, and a stranger waits for those of /tmp. */
static int find_socket(const char *path, struct place_socket *s)
{
	if (strcmp(path, "/run/p/.s.PGSQL.6543") == 0)
		*s = (struct place_socket){ .uid = POOLER, .owner = "pool" };
	else if (strncmp(path, "/tmp/.s.PGSQL.6", 15) == 0)
		*s = (struct place_socket){ .uid = STRANGER,
			.owner = "mallory", .shared = true };
	else
		return -1;
	return 0;
}

struct world {
	struct settings ini;
	struct place_facts facts;
	struct place place;
	struct err e;
};

static int up(void **state)
{
	struct world *const w = calloc(1, sizeof(*w));

	*state = w;
	w->facts = (struct place_facts){ .ini = &w->ini, .os_user = "ann",
		.uid = PEER, .keeper = NOBODY, .author = NOBODY, .env = no_env,
		.socket = find_socket };
	return settings_init(&w->ini);
}

static int down(void **state)
{
	struct world *const w = *state;

	place_fini(&w->place);
	settings_fini(&w->ini);
	free(w);
	return 0;
}

static void say(struct world *w, const char *key, const char *value)
{
	assert_int_equal(option_set(option_find(key), &w->ini, value, NULL), 0);
}

static void say_all(struct world *w)
{
	say(w, "unix_socket_dir", "/run/p");
	say(w, "listen_port", "6543");
	say(w, "listen_addr", "10.0.0.7, ::1");
	say(w, "admin_users", "bob, carl");
}

static void assert_is(const struct world *w, const char *key, const char *want)
{
	const char *const value = place_get(&w->place, key);

	if (want == NULL) {
		assert_null(value);
	} else {
		assert_non_null(value);
		assert_string_equal(value, want);
	}
}

static void assert_found(struct world *w, const char *host, const char *port,
    const char *user)
{
	assert_int_equal(place_find(&w->place, &w->facts, &w->e), 0);
	assert_is(w, "dbname", "pgbouncer");
	assert_is(w, "host", host);
	assert_is(w, "port", port);
	assert_is(w, "user", user);
}

/* --- the ini --- */

static void test_socket_of_others_wants_an_admin_user(void **state)
{
	struct world *const w = *state;

	say_all(w);
	assert_found(w, "/run/p", "6543", "bob");
	assert_int_equal(w->place.as, (uid_t)-1);
}

static void test_own_socket_wants_no_password(void **state)
{
	struct world *const w = *state;

	say_all(w);
	w->facts.uid = POOLER;
	assert_found(w, "/run/p", "6543", "pgbouncer");
	assert_int_equal(w->place.as, (uid_t)-1);
}

static void test_root_connects_as_the_owner_of_the_socket(void **state)
{
	struct world *const w = *state;

	say_all(w);
	w->facts.uid = 0;
	assert_found(w, "/run/p", "6543", "pgbouncer");
	assert_int_equal(w->place.as, POOLER);
}

static void assert_refused(struct world *w)
{
	w->e.text[0] = '\0';
	assert_int_equal(place_find(&w->place, &w->facts, &w->e), -1);
	assert_non_null(strstr(w->e.text, "mallory (uid 1001)"));
	assert_is(w, "host", NULL);
	place_fini(&w->place);
}

static void test_socket_that_anyone_may_have_made_is_refused(void **state)
{
	struct world *const w = *state;

	say_all(w);
	say(w, "unix_socket_dir", "/tmp");
	assert_refused(w);
	w->facts.uid = 0;
	assert_refused(w);
	w->facts.user = "carl";
	assert_refused(w);
	w->facts.ini = NULL;
	assert_refused(w);
	/* who says where it is has chosen */
	place_default(&w->place, "host", "/tmp");
	assert_found(w, "/tmp", "6432", "carl");
	assert_is(w, "requirepeer", NULL);
}

static void test_socket_of_who_is_named_must_stay_his(void **state)
{
	struct world *const w = *state;
	uid_t *const whose[] = { &w->facts.uid, &w->facts.keeper,
		&w->facts.author };

	say_all(w);
	say(w, "unix_socket_dir", "/tmp");
	for (size_t i = 0; i < 3; i++) {
		const uid_t before = *whose[i];

		*whose[i] = STRANGER;
		assert_found(w, "/tmp", "6543", i == 0 ? "pgbouncer" : "bob");
		assert_is(w, "requirepeer", "mallory");
		assert_int_equal(w->place.own, i == 0);
		*whose[i] = before;
		place_fini(&w->place);
	}
	say(w, "unix_socket_dir", "/run/p");
	assert_found(w, "/run/p", "6543", "bob");
	assert_is(w, "requirepeer", NULL);
}

static void test_root_with_a_user_stays_root(void **state)
{
	struct world *const w = *state;

	say_all(w);
	w->facts.uid = 0;
	w->facts.user = "carl";
	assert_found(w, "/run/p", "6543", "carl");
	assert_int_equal(w->place.as, (uid_t)-1);
}

static void test_who_may_look_goes_by_his_own_name(void **state)
{
	struct world *const w = *state;

	say_all(w);
	say(w, "stats_users", "zoe ann");
	assert_found(w, "/run/p", "6543", "ann");
}

static void test_without_socket_the_first_address_counts(void **state)
{
	struct world *const w = *state;

	say_all(w);
	say(w, "unix_socket_dir", "/run/elsewhere");
	assert_found(w, "10.0.0.7", "6543", "bob");
}

static void test_all_addresses_are_this_machine(void **state)
{
	static const char *const rows[][2] = {
		{ "*", "localhost" }, { "0.0.0.0", "127.0.0.1" },
		{ "::", "::1" }, { " ,db1", "db1" },
	};
	struct world *const w = *state;

	say_all(w);
	say(w, "unix_socket_dir", "");
	for (size_t i = 0; i < 4; i++) {
		say(w, "listen_addr", rows[i][0]);
		assert_found(w, rows[i][1], "6543", "bob");
		place_fini(&w->place);
	}
}

static void test_without_address_the_missing_socket_is_named(void **state)
{
	struct world *const w = *state;

	say(w, "unix_socket_dir", "/run/elsewhere");
	assert_found(w, "/run/elsewhere", "6432", NULL);
}

static void test_abstract_socket_is_taken_for_granted(void **state)
{
	struct world *const w = *state;

	say_all(w);
	say(w, "unix_socket_dir", "@pool");
	assert_found(w, "@pool", "6543", "bob");
}

/* --- variables and options --- */

static void test_variables_beat_the_usual_ini(void **state)
{
	struct world *const w = *state;

	w->facts.ini = NULL;
	w->facts.env = host_env;
	assert_true(place_is_named(&w->place, host_env));
	assert_found(w, NULL, "6432", NULL);
	place_fini(&w->place);
	w->facts.env = port_env;
	assert_true(place_is_named(&w->place, port_env));
	assert_found(w, "127.0.0.1", "7777", NULL);
}

static void test_a_named_ini_beats_variables(void **state)
{
	struct world *const w = *state;

	say_all(w);
	w->facts.given = true;
	w->facts.env = host_env;
	assert_found(w, "/run/p", "6543", "bob");
	place_fini(&w->place);
	w->facts.env = user_env;
	assert_false(place_is_named(&w->place, user_env));
	assert_found(w, "/run/p", "6543", NULL);
}

static void test_a_service_tells_all_but_the_database(void **state)
{
	struct world *const w = *state;

	w->facts.ini = NULL;
	w->facts.env = service_env;
	assert_found(w, NULL, NULL, NULL);
}

static void test_a_conninfo_beats_all(void **state)
{
	struct world *const w = *state;

	say_all(w);
	place_default(&w->place, "host", "db2");
	place_default(&w->place, "user", "dan");
	assert_true(place_is_named(&w->place, no_env));
	assert_found(w, "db2", "6543", "dan");
}

/* --- reading --- */

static const char *put(char path[32], const char *text)
{
	snprintf(path, 32, "/tmp/test_place.XXXXXX");
	const int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return path;
}

static void test_mistakes_elsewhere_are_no_matter(void **state)
{
	struct settings s = { 0 };
	struct err e;
	char path[32];

	(void)state;
	put(path, "[databases]\nlisten_port = 1\n[pgbouncer]\nfrob = 1\n"
	    "listen_port = 1234\n? nonsense\nlisten_addr = *\n"
	    "max_client_conn = x\nadmin_users = ann\n[users]\n"
	    "listen_port = 2\n");
	assert_int_equal(place_read(path, &s, &e), 0);
	assert_int_equal(s.listen_port, 1234);
	assert_string_equal(s.listen_addr, "*");
	assert_string_equal(s.admin_users, "ann");
	settings_fini(&s);
	unlink(path);
}

static void test_what_is_included_and_kept_counts(void **state)
{
	struct settings s = { 0 };
	struct err e;
	char other[32], path[32], text[128], kept[64];
	FILE *f;

	(void)state;
	put(other, "[pgbouncer]\nlisten_port = 5\nunix_socket_dir = /x\n");
	snprintf(text, sizeof(text), "%%include %s\nlisten_addr = ::1\n",
	    other);
	put(path, text);
	snprintf(kept, sizeof(kept), "%s.persist.ini", path);
	f = fopen(kept, "w");
	fputs("admin_users = eve\n", f);
	fclose(f);
	assert_int_equal(place_read(path, &s, &e), 0);
	assert_int_equal(s.listen_port, 5);
	assert_string_equal(s.unix_socket_dir, "/x");
	assert_string_equal(s.listen_addr, "::1");
	assert_string_equal(s.admin_users, "eve");
	settings_fini(&s);
	unlink(other);
	unlink(path);
	unlink(kept);
}

static void test_relative_folder_counts_from_here(void **state)
{
	static const char *const given[][2] = { { ".", "%s/." },
		{ "run/p", "%s/run/p" }, { "/x", "/x" }, { "@x", "@x" },
		{ "", "" } };
	char path[32], here[256], text[64], want[300];

	(void)state;
	assert_non_null(getcwd(here, sizeof(here)));
	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++) {
		const bool full = given[i][1][0] != '%';
		struct settings s = { 0 };
		struct err e;

		snprintf(text, sizeof(text), "[pgbouncer]\n"
		    "unix_socket_dir = %s\n", given[i][0]);
		put(path, text);
		assert_int_equal(place_read(path, &s, &e), 0);
		snprintf(want, sizeof(want), "%s%s", full ? "" : here,
		    given[i][1] + (full ? 0 : 2));
		assert_string_equal(s.unix_socket_dir, want);
		settings_fini(&s);
		unlink(path);
	}
}

static void test_missing_ini_is_told_by_name(void **state)
{
	struct settings s = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(place_read("/nonexistent/x.ini", &s, &e), -1);
	assert_string_equal(e.text, "could not read \"/nonexistent/x.ini\": "
	    "No such file or directory");
	settings_fini(&s);
}

static void test_without_memory_nothing_is_found(void **state)
{
	struct world *const w = *state;
	unsigned long i = 1;
	int rc;

	say_all(w);
	do {
		mem_fail_at(i++);
		rc = place_find(&w->place, &w->facts, &w->e);
		mem_fail_at(0);
		if (rc != 0)
			place_fini(&w->place);
	} while (rc != 0);
	assert_is(w, "host", "/run/p");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		TEST(test_socket_of_others_wants_an_admin_user),
		TEST(test_own_socket_wants_no_password),
		TEST(test_root_connects_as_the_owner_of_the_socket),
		TEST(test_socket_that_anyone_may_have_made_is_refused),
		TEST(test_socket_of_who_is_named_must_stay_his),
		TEST(test_root_with_a_user_stays_root),
		TEST(test_who_may_look_goes_by_his_own_name),
		TEST(test_without_socket_the_first_address_counts),
		TEST(test_all_addresses_are_this_machine),
		TEST(test_without_address_the_missing_socket_is_named),
		TEST(test_abstract_socket_is_taken_for_granted),
		TEST(test_variables_beat_the_usual_ini),
		TEST(test_a_named_ini_beats_variables),
		TEST(test_a_service_tells_all_but_the_database),
		TEST(test_a_conninfo_beats_all),
		TEST(test_mistakes_elsewhere_are_no_matter),
		TEST(test_what_is_included_and_kept_counts),
		TEST(test_relative_folder_counts_from_here),
		TEST(test_missing_ini_is_told_by_name),
		TEST(test_without_memory_nothing_is_found),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
