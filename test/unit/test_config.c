/* test_config.c - whole configurations: load, reload, look up, derive.
 * SPDX-License-Identifier: ISC */
#include "conf/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/require.h"
#include "conf/userlist.h"

/* Each test has a directory of its own, and is in it. */
struct box {
	char dir[64];
	char buf[8192];
	struct text said;	/* what was reported, a line each */
	struct err e;
};

static const char *const files[] = {
	"main.ini", "more.ini", "users.txt", "deep.ini"
};

static int box_open(void **state)
{
	static struct box box;

	box = (struct box){ .dir = "/tmp/test_config.XXXXXX" };
	*state = &box;
	return mkdtemp(box.dir) == NULL || chdir(box.dir) != 0;
}

static int box_close(void **state)
{
	const struct box *const box = *state;

	mem_fail_at(0);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		unlink(files[i]);
	return chdir("/") != 0 || rmdir(box->dir) != 0;
}

static void write_file(const char *path, const char *text)
{
	FILE *const f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fchmod(fileno(f), 0600), 0);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void on_report(void *arg, enum log_level level, const char *line)
{
	(void)level;
	struct box *const box = arg;

	text_addf(&box->said, "%s\n", line);
}

static struct config *load(struct box *box, const char *text,
    const struct config *prev)
{
	write_file("main.ini", text);
	text_init(&box->said, box->buf, sizeof(box->buf));
	box->e = (struct err){ 0 };
	return config_load("main.ini", prev, on_report, box, &box->e);
}

/* A file without any mistake. */
static struct config *load_good(struct box *box, const char *text,
    const struct config *prev)
{
	struct config *const c = load(box, text, prev);

	assert_string_equal(box->buf, "");
	assert_non_null(c);
	return c;
}

static void test_minimal_file_loads(void **state)
{
	struct config *c = load_good(*state, "[pgbouncer]\n", NULL);

	assert_string_equal(c->path, "main.ini");
	assert_string_equal(c->set.conffile, "main.ini");
	assert_int_equal(c->set.listen_port, 6432);
	assert_null(c->dbs);
	assert_null(c->users);
	assert_null(c->peers);
	assert_null(c->auto_db);
	assert_null(c->userlist);
	config_unref(&c);
	assert_null(c);
}

static void test_database_keys(void **state)
{
	struct config *c = load_good(*state,
	    "[pgbouncer]\n[databases]\n"
	    "full = host=h,::1 port=6000 dbname=d user=u password='p''w' "
	    "auth_user=au auth_query='select 1' auth_dbname=ad "
	    "connect_query='set x=1' client_encoding=utf8 datestyle=iso "
	    "timezone=utc application_name=app pool_size=1 min_pool_size=2 "
	    "reserve_pool_size=3 pool_mode=Statement max_db_connections=4 "
	    "max_db_client_connections=5 server_lifetime=6 "
	    "query_wait_timeout=0 load_balance_hosts=disable "
	    "target_session_attrs=standby max_pinned=0 pin_timeout=7 listen_lost=close\n"
	    "bare =\n"
	    "off = pool_size=-1 reserve_pool=007 max_db_connections=0 "
	    "max_db_client_connections=-3 server_lifetime=0 "
	    "query_wait_timeout=-1 min_pool_size=0 max_pinned=-2 "
	    "pin_timeout=-1\n",
	    NULL);
	const struct config_db *db = config_find_db(c, "full");

	assert_string_equal(db->name, "full");
	assert_string_equal(db->host, "h,::1");
	assert_int_equal(db->port, 6000);
	assert_string_equal(db->dbname, "d");
	assert_string_equal(db->user, "u");
	assert_string_equal(db->password, "p'w");
	assert_string_equal(db->auth_user, "au");
	assert_string_equal(db->auth_query, "select 1");
	assert_string_equal(db->auth_dbname, "ad");
	assert_string_equal(db->connect_query, "set x=1");
	assert_string_equal(db->client_encoding, "utf8");
	assert_string_equal(db->datestyle, "iso");
	assert_string_equal(db->timezone, "utc");
	assert_string_equal(db->application_name, "app");
	assert_int_equal(db->pool_size, 1);
	assert_int_equal(db->min_pool_size, 2);
	assert_int_equal(db->reserve_pool_size, 3);
	assert_int_equal(db->pool_mode, POOL_STATEMENT);
	assert_int_equal(db->max_db_connections, 4);
	assert_int_equal(db->max_db_client_connections, 5);
	assert_true(db->server_lifetime == 6 * USEC);
	assert_true(db->query_wait_timeout == 0);
	assert_int_equal(db->load_balance_hosts, LB_DISABLE);
	assert_int_equal(db->target_session_attrs, ATTRS_STANDBY);
	assert_int_equal(db->max_pinned, 0);
	assert_true(db->pin_timeout == 7 * USEC);
	assert_int_equal(db->listen_lost, LISTEN_LOST_CLOSE);

	db = config_find_db(c, "bare");
	assert_null(db->host);
	assert_int_equal(db->port, 5432);
	assert_string_equal(db->dbname, "bare");
	assert_null(db->user);
	assert_int_equal(db->pool_size, CONFIG_UNSET);
	assert_int_equal(db->pool_mode, CONFIG_UNSET);
	assert_true(db->server_lifetime == CONFIG_UNSET);
	assert_true(db->query_wait_timeout == CONFIG_UNSET);
	assert_int_equal(db->load_balance_hosts, LB_ROUND_ROBIN);
	assert_int_equal(db->max_pinned, CONFIG_UNSET);
	assert_true(db->pin_timeout == CONFIG_UNSET);

	db = config_find_db(c, "off");
	assert_int_equal(db->pool_size, CONFIG_UNSET);
	assert_int_equal(db->min_pool_size, 0);
	assert_int_equal(db->reserve_pool_size, 7);
	assert_int_equal(db->max_db_connections, CONFIG_UNSET);
	assert_int_equal(db->max_db_client_connections, CONFIG_UNSET);
	assert_true(db->server_lifetime == CONFIG_UNSET);
	assert_true(db->query_wait_timeout == CONFIG_UNSET);
	assert_int_equal(db->max_pinned, CONFIG_NO_LIMIT);
	assert_true(db->pin_timeout == CONFIG_UNSET);
	config_unref(&c);
}

static void test_user_keys(void **state)
{
	struct config *c = load_good(*state,
	    "[pgbouncer]\n[users]\n"
	    "a = pool_size=0 reserve_pool_size=1 pool_mode=transaction "
	    "max_user_connections=2 max_user_client_connections=3 "
	    "query_timeout=4 idle_transaction_timeout=5 "
	    "transaction_timeout=6 client_idle_timeout=7 "
	    "query_wait_timeout=0 max_pinned=8 pin_timeout=0\n"
	    "\"b c\" = query_timeout=0 max_user_connections=0\n", NULL);
	const struct config_user *u = config_find_user(c, "a");

	assert_int_equal(u->pool_size, 0);
	assert_int_equal(u->reserve_pool_size, 1);
	assert_int_equal(u->pool_mode, POOL_TRANSACTION);
	assert_int_equal(u->max_user_connections, 2);
	assert_int_equal(u->max_user_client_connections, 3);
	assert_true(u->query_timeout == 4 * USEC);
	assert_true(u->idle_transaction_timeout == 5 * USEC);
	assert_true(u->transaction_timeout == 6 * USEC);
	assert_true(u->client_idle_timeout == 7 * USEC);
	assert_true(u->query_wait_timeout == 0);
	assert_int_equal(u->max_pinned, 8);
	assert_true(u->pin_timeout == 0);

	u = config_find_user(c, "b c");
	assert_int_equal(u->pool_size, CONFIG_UNSET);
	assert_int_equal(u->max_user_connections, CONFIG_UNSET);
	assert_true(u->query_timeout == CONFIG_UNSET);
	assert_true(u->query_wait_timeout == CONFIG_UNSET);
	assert_null(config_find_user(c, "A"));
	config_unref(&c);
}

static void test_peer_keys(void **state)
{
	struct config *c = load_good(*state,
	    "[pgbouncer]\n[peers]\n1 = host=/s pool_size=9\n"
	    "65535 = host=h port=7000\n", NULL);
	const struct config_peer *p = config_find_peer(c, 1);

	assert_string_equal(p->host, "/s");
	assert_int_equal(p->port, 6432);
	assert_int_equal(p->pool_size, 9);
	p = config_find_peer(c, 65535);
	assert_int_equal(p->port, 7000);
	assert_int_equal(p->pool_size, CONFIG_UNSET);
	assert_null(config_find_peer(c, 2));
	config_unref(&c);
}

static void test_peers_come_by_id(void **state)
{
	static const int ids[] = { 2, 9, 10, 65535 };
	struct config *c = load_good(*state, "[pgbouncer]\n[peers]\n"
	    "10 = host=h\n2 = host=h\n65535 = host=h\n9 = host=h\n"
	    "2 = host=h\n", NULL);
	const struct config_peer *p = c->peers;

	for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++, p = p->next) {
		assert_non_null(p);
		assert_int_equal(p->id, ids[i]);
	}
	assert_null(p);
	config_unref(&c);
}

static void test_entries_are_in_file_order_and_last_wins(void **state)
{
	struct config *c = load_good(*state,
	    "[databases]\nz = host=1\na = host=2 pool_size=3\n"
	    "[pgbouncer]\n[databases]\nm =\na = host=4\n", NULL);
	const struct config_db *db = c->dbs;

	assert_string_equal(db->name, "z");
	db = db->next;
	assert_string_equal(db->name, "a");
	assert_string_equal(db->host, "4");
	assert_int_equal(db->pool_size, CONFIG_UNSET);
	db = db->next;
	assert_string_equal(db->name, "m");
	assert_null(db->next);
	config_unref(&c);
}

#define AT(line) " in configuration (main.ini:" #line ")\n"

/* Every mistake, and the lines it is told by. */
static const struct {
	const char *text, *said;
} mistakes[] = {
	{ "", "load_init_file: main section missing from config file\n" },
	{ "[databases]\n",
	    "load_init_file: main section missing from config file\n" },
	{ "x = 1\n[pgbouncer]\n",
	    "load_init_file: value without section: x\n"
	    "invalid value \"1\" for parameter x" AT(1) },
	{ "[pgbouncer]\n?\n",
	    "syntax error in configuration (main.ini:2), stopping loading "
	    "(a line is \"key = value\", or \"[section]\")\n" },
	{ "[pgbouncer]\n[Users]\nx = 1\n[databases]\n",
	    "fill_defaults fail\ninvalid section \"Users\" in configuration "
	    "(main.ini:2), did you mean \"users\"?\n" },
	{ "[pgbouncer]\npool_mod = session\n",
	    "unknown parameter: pgbouncer/pool_mod "
	    "(did you mean \"pool_mode\"?)\n"
	    "invalid value \"session\" for parameter pool_mod" AT(2) },
	{ "[pgbouncer]\nservice_name = x\n",
	    "unknown parameter: pgbouncer/service_name\n"
	    "invalid value \"x\" for parameter service_name" AT(2) },
	{ "[pgbouncer]\n\nlisten_port = 65536\n\n",
	    "listen_port must be from 0 to 65535\n"
	    "invalid value \"65536\" for parameter listen_port" AT(3) },
	{ "[pgbouncer]\nlog_stats = 1 ; note\n",
	    "log_stats must be 0 or 1\n"
	    "invalid value \"1 ; note\" for parameter log_stats" AT(2) },
	{ "[pgbouncer]\n%include none.ini\n",
	    "could not load file \"none.ini\": No such file or directory\n"
	    "error processing include file in configuration (main.ini:2), "
	    "stopping loading\n" },
	{ "[pgbouncer]\n[databases]\npgbouncer = host=x\n",
	    "database name \"pgbouncer\" is reserved\n"
	    "invalid value \"host=x\" for parameter pgbouncer" AT(3) },
	{ "[pgbouncer]\n[databases]\n"
	    "0123456789012345678901234567890123456789012345678901234567890123"
	    " =\n",
	    "too long db name: "
	    "0123456789012345678901234567890123456789012345678901234567890123"
	    "\ninvalid value \"\" for parameter "
	    "0123456789012345678901234567890123456789012345678901234567890123"
	    AT(3) },
	{ "[pgbouncer]\n[databases]\na = hst=x\n",
	    "unrecognized connection parameter: hst "
	    "(did you mean \"host\"?)\n"
	    "invalid value \"hst=x\" for parameter a" AT(3) },
	{ "[pgbouncer]\n[databases]\na = sslmode=x\n",
	    "unrecognized connection parameter: sslmode "
	    "(did you mean \"server_tls_sslmode\"?)\n"
	    "invalid value \"sslmode=x\" for parameter a" AT(3) },
	{ "[pgbouncer]\n[databases]\na = host=''\n",
	    "syntax error in connection string: empty value\n"
	    "invalid value \"host=''\" for parameter a" AT(3) },
	{ "[pgbouncer]\n[databases]\na = host=x,,y\n",
	    "empty entry in host list: x,,y\n"
	    "invalid value \"host=x,,y\" for parameter a" AT(3) },
	{ "[pgbouncer]\n[databases]\na = host=,\n",
	    "empty entry in host list: ,\n"
	    "invalid value \"host=,\" for parameter a" AT(3) },
	{ "[pgbouncer]\n[databases]\na = port=0\n",
	    "invalid port: 0\n"
	    "invalid value \"port=0\" for parameter a" AT(3) },
	{ "[pgbouncer]\n[databases]\na = port=65536\n",
	    "invalid port: 65536\n"
	    "invalid value \"port=65536\" for parameter a" AT(3) },
	{ "[pgbouncer]\n[databases]\na = pool_size=5x\n",
	    "invalid number for pool_size: 5x\n"
	    "invalid value \"pool_size=5x\" for parameter a" AT(3) },
	{ "[pgbouncer]\n[databases]\na = server_lifetime=x\n",
	    "invalid time for server_lifetime: x\n"
	    "invalid value \"server_lifetime=x\" for parameter a" AT(3) },
	{ "[pgbouncer]\n[databases]\na = pool_mode=x\n",
	    "invalid pool mode: x\n"
	    "invalid value \"pool_mode=x\" for parameter a" AT(3) },
	{ "[pgbouncer]\n[databases]\na = load_balance_hosts=x\n",
	    "invalid load_balance_hosts: x\n"
	    "invalid value \"load_balance_hosts=x\" for parameter a" AT(3) },
	{ "[pgbouncer]\n[databases]\na = host=x password=geheim port=0\n",
	    "invalid port: 0\n"
	    "invalid value \"host=x ...\" for parameter a" AT(3) },
	{ "[pgbouncer]\npassword = geheim\n",
	    "unknown parameter: pgbouncer/password\n"
	    "invalid value \"...\" for parameter password" AT(2) },
	{ "[pgbouncer]\n[users]\na = reserve_pool=1\n",
	    "unrecognized user parameter: reserve_pool\n"
	    "invalid value \"reserve_pool=1\" for parameter a" AT(3) },
	{ "[pgbouncer]\n[users]\na = host=1\n",
	    "unrecognized user parameter: host\n"
	    "invalid value \"host=1\" for parameter a" AT(3) },
	{ "[pgbouncer]\n[peers]\n0 = host=x\n",
	    "ids of peers must be a number larger than 0 and at most 65536\n"
	    "invalid value \"host=x\" for parameter 0" AT(3) },
	{ "[pgbouncer]\n[peers]\na = host=x\n",
	    "ids of peers must be a number larger than 0 and at most 65536\n"
	    "invalid value \"host=x\" for parameter a" AT(3) },
	{ "[pgbouncer]\n[peers]\n1 = port=1\n",
	    "host was not provided for peer 1\n"
	    "invalid value \"port=1\" for parameter 1" AT(3) },
	/* all of them are told, also of one line */
	{ "[pgbouncer]\n[databases]\na = hst=x port=0 pool_size=5x host='y\n",
	    "unrecognized connection parameter: hst "
	    "(did you mean \"host\"?); invalid port: 0; "
	    "invalid number for pool_size: 5x; "
	    "syntax error in connection string: closing quote missing\n"
	    "invalid value \"hst=x port=0 pool_size=5x host='y\" for "
	    "parameter a" AT(3) },
	{ "[pgbouncer]\npkt_buf = x\n[databases]\n=\na = port=0\n[users]\n",
	    "pkt_buf must be a whole number, "
	    "of bytes or with a unit (kB, MB, GB)\n"
	    "invalid value \"x\" for parameter pkt_buf" AT(2)
	    "syntax error in configuration (main.ini:4), stopping loading "
	    "(a line is \"key = value\", or \"[section]\")\n"
	    "invalid port: 0\n"
	    "invalid value \"port=0\" for parameter a" AT(5) },
};

static void test_every_mistake_is_told_and_fails_the_load(void **state)
{
	struct box *const box = *state;

	for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
		assert_null(load(box, mistakes[i].text, NULL));
		assert_string_equal(box->buf, mistakes[i].said);
		assert_true(box->e.text[0] != '\0');
	}
}

static void test_first_problem_is_in_the_error(void **state)
{
	struct box *const box = *state;

	assert_null(load(box, "[pgbouncer]\npkt_buf = x\nverbose = y\n",
	    NULL));
	assert_string_equal(box->e.text,
	    "invalid value \"x\" for parameter pkt_buf in configuration "
	    "(main.ini:2): pkt_buf must be a whole number, "
	    "of bytes or with a unit (kB, MB, GB)");
}

static void test_unreadable_file_fails(void **state)
{
	struct box *const box = *state;

	text_init(&box->said, box->buf, sizeof(box->buf));
	assert_null(config_load("none.ini", NULL, on_report, box, &box->e));
	assert_string_equal(box->buf,
	    "could not load file \"none.ini\": No such file or directory\n");
	text_init(&box->said, box->buf, sizeof(box->buf));
	assert_null(config_load("/", NULL, on_report, box, &box->e));
	assert_string_equal(box->buf,
	    "could not load file \"/\": Is a directory\n");
}

static void test_include_shares_the_section(void **state)
{
	write_file("more.ini", "b = host=2\n[users]\nu = pool_size=1\n");
	struct config *c = load_good(*state,
	    "[pgbouncer]\n[databases]\na =\n%include more.ini\n"
	    "v = pool_size=2\n", NULL);

	assert_non_null(config_find_db(c, "a"));
	assert_string_equal(config_find_db(c, "b")->host, "2");
	assert_int_equal(config_find_user(c, "u")->pool_size, 1);
	assert_int_equal(config_find_user(c, "v")->pool_size, 2);
	config_unref(&c);
}

static void test_file_that_includes_itself_ends(void **state)
{
	struct box *const box = *state;

	assert_null(load(box,
	    "[pgbouncer]\n%include main.ini\n%include main.ini\n", NULL));
	assert_memory_equal(box->buf,
	    "include nesting level too deep (main.ini:2), stopping loading\n",
	    62);
}

static void test_each_main_header_resets_the_settings(void **state)
{
	struct config *c = load_good(*state,
	    "[pgbouncer]\nlisten_port = 1\nauth_user = au\n"
	    "[databases]\n[pgbouncer]\npkt_buf = 7\n", NULL);

	assert_int_equal(c->set.listen_port, 6432);
	assert_int_equal(c->set.pkt_buf, 7);
	/* No default, so it stays. */
	assert_string_equal(c->set.auth_user, "au");
	config_unref(&c);
}

static void test_reload_keeps_what_counts_at_start_only(void **state)
{
	struct config *a = load_good(*state,
	    "[pgbouncer]\nlisten_port = 1\nauth_user = au\nverbose = 1\n"
	    "max_client_conn = 5\nserver_reset_query = x\n", NULL);
	struct box *const box = *state;
	struct config *b = load(box,
	    "[pgbouncer]\nlisten_port = 2\nunix_socket_dir = /x\n"
	    "max_client_conn = 6\n", a);

	assert_non_null(b);
	assert_string_equal(box->buf,
	    "listen_port: \"2\" takes effect after a restart; \"1\" is in use\n"
	    "unix_socket_dir: \"/x\" takes effect after a restart; \"/tmp\" is "
	    "in use\n");
	assert_int_equal(b->set.listen_port, 1);
	assert_string_equal(b->set.unix_socket_dir, "/tmp");
	assert_int_equal(b->set.max_client_conn, 6);
	assert_string_equal(b->set.server_reset_query, "DISCARD ALL");
	assert_string_equal(b->set.auth_user, "au");
	assert_int_equal(b->set.verbose, 1);
	assert_string_equal(b->set.conffile, "main.ini");
	assert_int_equal(a->set.listen_port, 1);
	config_unref(&a);
	config_unref(&b);
}

static void test_failed_reload_leaves_the_old_one(void **state)
{
	struct config *a = load_good(*state,
	    "[pgbouncer]\nauth_type = trust\n[databases]\nx =\n", NULL);

	assert_null(load(*state, "[pgbouncer]\n[databases]\ny =\n?\n", a));
	assert_int_equal(a->set.auth_type, AUTH_TRUST);
	assert_non_null(config_find_db(a, "x"));
	assert_null(config_find_db(a, "y"));
	config_unref(&a);
}

static void test_seed_gives_verbosity_but_no_start_settings(void **state)
{
	struct config *seed = config_seed(2);
	struct config *a = load_good(*state,
	    "[pgbouncer]\nlisten_port = 1\n", seed);
	struct config *b = load_good(*state, "[pgbouncer]\nverbose = 0\n",
	    seed);

	assert_int_equal(a->set.listen_port, 1);
	assert_int_equal(a->set.verbose, 2);
	assert_int_equal(b->set.verbose, 0);
	config_unref(&seed);
	config_unref(&a);
	config_unref(&b);
}

static void test_auth_file_is_read(void **state)
{
	write_file("users.txt", "\"a\" \"s\"\n");
	struct config *c = load_good(*state,
	    "[pgbouncer]\nauth_file = users.txt\n", NULL);

	assert_string_equal(userlist_find(c->userlist, "a"), "s");
	config_unref(&c);
	c = load_good(*state,
	    "[pgbouncer]\nauth_file = none\nauth_type = any\n", NULL);
	assert_null(c->userlist);
	config_unref(&c);
}

static void test_unreadable_auth_file_is_told_and_users_stay(void **state)
{
	struct box *const box = *state;
	static const char said[] =
	    "could not open auth_file users.txt: No such file or directory "
	    "(\"pgsluicectl userlist import\" or \"add\" makes it; the name is "
	    "relative to the folder in which pgsluice is started)\n";
	static const char text[] = "[pgbouncer]\nauth_file = users.txt\n";

	struct config *c = load(box, text, NULL);
	assert_string_equal(box->buf, said);
	assert_non_null(c);
	assert_null(c->userlist);
	config_unref(&c);

	write_file("users.txt", "\"a\" \"s\"\n");
	c = load_good(box, text, NULL);
	assert_int_equal(unlink("users.txt"), 0);
	assert_null(load(box, text, c));
	assert_string_equal(box->buf, said);
	assert_string_equal(userlist_find(c->userlist, "a"), "s");
	config_unref(&c);
}

#define BROKEN ", a line is \"user\" \"password\", with the quotes\n"

static void test_reload_fails_with_its_auth_file(void **state)
{
	static const char text[] = "[pgbouncer]\nauth_file = users.txt\n";
	static const struct {
		const char *users, *said;
	} rows[] = {
		{ "\"a\" \"s\"\n'b' 'c'\n\"d\" \"e\"\n",
		    "broken auth file (users.txt:2)" BROKEN },
		{ "", "auth_file users.txt is empty and was not before: if this "
		    "is intended, put a comment in it\n" },
		{ " \n", "auth_file users.txt is empty and was not before: if "
		    "this is intended, put a comment in it\n" },
	};
	struct box *const box = *state;

	write_file("users.txt", "\"a\" \"s\"\n");
	struct config *c = load_good(box, text, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		write_file("users.txt", rows[i].users);
		assert_null(load(box, text, c));
		assert_string_equal(box->buf, rows[i].said);
		/* and again: nothing of it is taken for read */
		assert_null(load(box, text, c));
		assert_string_equal(box->buf, rows[i].said);
	}
	assert_string_equal(userlist_find(c->userlist, "a"), "s");
	write_file("users.txt", "; nobody\n");
	struct config *d = load_good(box, text, c);
	assert_int_equal(userlist_count(d->userlist), 0);
	config_unref(&c);
	config_unref(&d);
}

static void test_reload_fails_with_an_include_that_was_emptied(void **state)
{
	static const char text[] = "[pgbouncer]\n%include more.ini\n";
	struct box *const box = *state;

	write_file("more.ini", "\n");
	struct config *c = load_good(box, text, NULL), *d;

	d = load_good(box, text, c);	/* it was empty */
	config_unref(&c);
	write_file("more.ini", "[databases]\na = host=x\n");
	c = load_good(box, text, d);
	config_unref(&d);
	write_file("more.ini", " \n");
	for (int i = 0; i < 2; i++) {
		assert_null(load(box, text, c));
		assert_non_null(strstr(box->buf, "%include file more.ini is empty "
		    "and was not before: if this is intended, put a comment in "
		    "it\n"));
	}
	write_file("more.ini", "; none\n");
	d = load_good(box, text, c);
	assert_null(d->dbs);
	config_unref(&c);
	config_unref(&d);
}

static void test_unusable_secrets_are_told_of(void **state)
{
	struct box *const box = *state;

	write_file("users.txt", "\"a\" \"SCRAM-SHA-1$x\"\n");
	struct config *c = load(box, "[pgbouncer]\nauth_file = users.txt\n"
	    "[databases]\nd = password=SCRAM-SHA-512$x\ne = password=p\n",
	    NULL);
	assert_non_null(c);
	assert_string_equal(box->buf, "unusable secret in auth file: it looks "
	    "like a hash but is not valid, so no password matches it (users.txt:1)\n"
	    "unusable password of database \"d\": it looks like a hash but is not "
	    "valid, so it is not sent to any server\n");
	config_unref(&c);
}

static void test_unchanged_auth_file_is_shared(void **state)
{
	static const char text[] = "[pgbouncer]\nauth_file = users.txt\n";

	write_file("users.txt", "\"a\" \"s\"\n");
	struct config *a = load_good(*state, text, NULL);
	struct config *b = load_good(*state, text, a);
	assert_ptr_equal(a->userlist, b->userlist);
	write_file("users.txt", "\"b\" \"longer\"\n");
	struct config *c = load_good(*state, text, b);
	assert_null(userlist_find(c->userlist, "a"));
	assert_string_equal(userlist_find(c->userlist, "b"), "longer");
	config_unref(&a);
	config_unref(&b);
	config_unref(&c);
}

static void test_start_fails_with_a_broken_auth_file(void **state)
{
	struct box *const box = *state;

	write_file("users.txt", "\"a\" \"s\"\nx\n");
	assert_null(load(box, "[pgbouncer]\nauth_file = users.txt\n", NULL));
	assert_string_equal(box->buf, "broken auth file (users.txt:2)" BROKEN);
}

static void test_auth_file_is_checked_in_a_bad_configuration(void **state)
{
	struct box *const box = *state;

	write_file("users.txt", "x\n\"a\" \"s\"\ny\n");
	assert_null(load(box, "[pgbouncer]\nauth_file = users.txt\nz = 1\n",
	    NULL));
	assert_non_null(strstr(box->buf, "unknown parameter: pgbouncer/z"));
	assert_non_null(strstr(box->buf, "broken auth file (users.txt:1)" BROKEN
	    "broken auth file (users.txt:3)" BROKEN));
}

static void test_star_makes_databases(void **state)
{
	struct box *const box = *state;
	struct config *c = load_good(box,
	    "[pgbouncer]\n[databases]\n* = host=h pool_size=2\n", NULL);
	struct err e = { 0 };
	struct config_db *db = config_auto_db(c, "new one", &e);

	assert_string_equal(c->auto_db, "host=h pool_size=2");
	assert_null(config_find_db(c, "*"));
	assert_string_equal(db->name, "new one");
	assert_string_equal(db->dbname, "new one");
	assert_int_equal(db->pool_size, 2);
	config_db_free(db);
	assert_null(config_auto_db(c, "pgbouncer", &e));
	assert_string_equal(e.text,
	    "database name \"pgbouncer\" is reserved");
	config_unref(&c);

	c = load_good(box, "[pgbouncer]\n", NULL);
	assert_null(config_auto_db(c, "x", &e));
	assert_string_equal(e.text, "");
	config_unref(&c);
}

static void test_faulty_star_is_told_but_loads(void **state)
{
	struct box *const box = *state;
	struct config *c = load(box,
	    "[pgbouncer]\n[databases]\n* = port=0\n", NULL);
	struct err e = { 0 };

	assert_non_null(c);
	assert_string_equal(box->buf,
	    "the \"*\" entry can't be used: invalid port: 0\n");
	assert_null(config_auto_db(c, "x", &e));
	assert_string_equal(e.text, "invalid port: 0");
	config_unref(&c);
}

static void test_with_changes_one_setting_of_a_copy(void **state)
{
	struct config *a = load_good(*state,
	    "[pgbouncer]\n[databases]\nx = password=p\n* =\n", NULL);
	struct err e = { 0 };
	struct config *b = config_with(a, "default_pool_size", "7", &e);

	assert_int_equal(a->set.default_pool_size, 20);
	assert_int_equal(b->set.default_pool_size, 7);
	assert_ptr_equal(config_find_db(b, "x"), config_find_db(a, "x"));
	config_unref(&a);
	assert_string_equal(config_find_db(b, "x")->password, "p");
	assert_string_equal(b->auto_db, "");
	assert_string_equal(b->path, "main.ini");

	/* Accepted, for the next start: no effect now. */
	struct config *c = config_with(b, "listen_port", "1", &e);
	assert_int_equal(c->set.listen_port, 6432);
	config_unref(&c);

	assert_null(config_with(b, "listen_port", "x", &e));
	assert_null(config_with(b, "Pool_mode", "session", &e));
	assert_string_equal(e.text, "unknown parameter: pgbouncer/Pool_mode "
	    "(did you mean \"pool_mode\"?)");
	config_unref(&b);
}

static void test_marked_settings_count_on_top_of_a_copy(void **state)
{
	struct config *read = load_good(*state,
	    "[pgbouncer]\ndefault_pool_size = 3\nquery_timeout = 7\n", NULL);
	struct config *now = load_good(*state,
	    "[pgbouncer]\nauth_user = x\nquery_timeout = 8\n", NULL);
	bool marked[OPTION_COUNT] = { false };
	struct err e = { 0 };

	marked[option_index("auth_user")] = true;
	marked[option_index("query_timeout")] = true;

	struct config *c = config_with_marked(read, now, marked, &e);
	assert_int_equal(c->set.default_pool_size, 3);
	assert_int_equal(c->set.query_timeout, 8 * USEC);
	assert_string_equal(c->set.auth_user, "x");
	assert_int_equal(read->set.query_timeout, 7 * USEC);
	config_unref(&c);

	/* its rules are read */
	config_unref(&now);
	now = config_with(read, "auth_hba_file", "/not/there", &e);
	marked[option_index("auth_hba_file")] = true;
	assert_non_null(now);
	c = config_with_marked(read, now, marked, &e);
	assert_string_equal(c->set.auth_hba_file, "/not/there");
	now->set.auth_type = AUTH_HBA;
	marked[option_index("auth_type")] = true;
	assert_null(config_with_marked(read, now, marked, &e));
	assert_non_null(strstr(e.text, "/not/there"));
	config_unref(&c);
	config_unref(&now);
	config_unref(&read);
}

static void test_recycles_only_by_what_the_server_sees(void **state)
{
	static const struct {
		const char *name;
		bool recycles;
	} changed[] = {
		{ "same", false }, { "host", true }, { "port", true },
		{ "dbname", true }, { "user", true }, { "query", true },
		{ "aquery", true }, { "adb", true }, { "lb", true },
		{ "sizes", false }, { "password", false }, { "enc", false },
	};
	struct config *c = load_good(*state,
	    "[pgbouncer]\n[databases]\n"
	    "base = dbname=d\nsame = dbname=d\nhost = dbname=d host=h\n"
	    "port = dbname=d port=1\ndbname = dbname=e\n"
	    "user = dbname=d user=u\nquery = dbname=d connect_query=q\n"
	    "aquery = dbname=d auth_query=q\nadb = dbname=d auth_dbname=q\n"
	    "lb = dbname=d load_balance_hosts=disable\n"
	    "sizes = dbname=d pool_size=1 min_pool_size=1 pool_mode=session "
	    "reserve_pool_size=1 max_db_connections=1 server_lifetime=1 "
	    "auth_user=x\n"
	    "password = dbname=d password=p\n"
	    "enc = dbname=d client_encoding=e\n", NULL);
	const struct config_db *const base = config_find_db(c, "base");

	for (size_t i = 0; i < sizeof(changed) / sizeof(*changed); i++) {
		const struct config_db *const db =
		    config_find_db(c, changed[i].name);

		assert_int_equal(config_db_recycles(base, db),
		    changed[i].recycles);
		assert_int_equal(config_db_recycles(db, base),
		    changed[i].recycles);
	}
	config_unref(&c);
}

static const char full[] =
    "[pgbouncer]\nauth_file = users.txt\nlogfile = x\n"
    "[databases]\na = host=h user=u password=p\na = dbname=e\n'b' =\n"
    "* = host=h\n[users]\nu = pool_size=1\n[peers]\n1 = host=p\n"
    "%include more.ini\n";

static void test_each_failed_allocation_fails_the_load(void **state)
{
	struct box *const box = *state;
	struct config *prev = load_good(box,
	    "[pgbouncer]\nauth_user = x\nuser = y\n", NULL);
	struct config *c;
	unsigned long n = 0, told = 0;

	write_file("users.txt", "\"a\" \"s\"\n");
	write_file("more.ini", "\n");
	do {
		write_file("main.ini", full);
		text_init(&box->said, box->buf, sizeof(box->buf));
		mem_fail_at(++n);
		c = config_load("main.ini", prev, on_report, box, &box->e);
		mem_fail_at(0);
		if (c != NULL && box->buf[0] != '\0') {
			/* Only the trial of the "*" entry may be given up. */
			assert_non_null(strstr(box->buf, "\"*\" entry"));
			told++;
			config_unref(&c);
			continue;
		}
		if (c == NULL)
			assert_non_null(strstr(box->buf, "emory"));
	} while (c == NULL);
	assert_true(n > 100);
	assert_in_range(told, 1, 10);
	assert_non_null(config_find_db(c, "b"));
	config_unref(&c);
	config_unref(&prev);
}

static void test_each_failed_allocation_fails_the_copy(void **state)
{
	struct config *a = load_good(*state, "[pgbouncer]\n", NULL);
	struct config *b;
	struct err e = { 0 };
	unsigned long n = 0;

	do {
		mem_fail_at(++n);
		b = config_with(a, "listen_addr", "x", &e);
		mem_fail_at(0);
		if (b == NULL)
			assert_string_equal(e.text, "out of memory");
	} while (b == NULL);
	assert_true(n > 10);
	config_unref(&b);

	bool marked[OPTION_COUNT] = { false };
	marked[option_index("listen_addr")] = true;
	n = 0;
	do {
		mem_fail_at(++n);
		b = config_with_marked(a, a, marked, &e);
		mem_fail_at(0);
		if (b == NULL)
			assert_string_equal(e.text, "out of memory");
	} while (b == NULL);
	assert_true(n > 10);
	config_unref(&b);
	config_unref(&a);
}

#define BOXED(test) cmocka_unit_test_setup_teardown(test, box_open, box_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOXED(test_minimal_file_loads),
		BOXED(test_database_keys),
		BOXED(test_user_keys),
		BOXED(test_peer_keys),
		BOXED(test_peers_come_by_id),
		BOXED(test_entries_are_in_file_order_and_last_wins),
		BOXED(test_every_mistake_is_told_and_fails_the_load),
		BOXED(test_first_problem_is_in_the_error),
		BOXED(test_unreadable_file_fails),
		BOXED(test_include_shares_the_section),
		BOXED(test_file_that_includes_itself_ends),
		BOXED(test_each_main_header_resets_the_settings),
		BOXED(test_reload_keeps_what_counts_at_start_only),
		BOXED(test_failed_reload_leaves_the_old_one),
		BOXED(test_seed_gives_verbosity_but_no_start_settings),
		BOXED(test_auth_file_is_read),
		BOXED(test_unreadable_auth_file_is_told_and_users_stay),
		BOXED(test_reload_fails_with_its_auth_file),
		BOXED(test_reload_fails_with_an_include_that_was_emptied),
		BOXED(test_unusable_secrets_are_told_of),
		BOXED(test_unchanged_auth_file_is_shared),
		BOXED(test_start_fails_with_a_broken_auth_file),
		BOXED(test_auth_file_is_checked_in_a_bad_configuration),
		BOXED(test_star_makes_databases),
		BOXED(test_faulty_star_is_told_but_loads),
		BOXED(test_with_changes_one_setting_of_a_copy),
		BOXED(test_marked_settings_count_on_top_of_a_copy),
		BOXED(test_recycles_only_by_what_the_server_sees),
		BOXED(test_each_failed_allocation_fails_the_load),
		BOXED(test_each_failed_allocation_fails_the_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
