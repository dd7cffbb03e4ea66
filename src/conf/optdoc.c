/* optdoc.c - build tool: sample file and manual text from options.def.
 * SPDX-License-Identifier: ISC
 *
 * `optdoc sample` prints etc/pgsluice.ini, `optdoc man` the part of
 * doc/pgsluice.ini.5.scd between its two "optdoc" comments. Build it with
 * PAM and LDAP, so that their words are listed. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "conf/options.h"

#define WIDTH 76
#define GROUP_MAX 32	/* settings in one group, NULL included */

struct group {
	const char *title;
	const char *names[GROUP_MAX];
};

static const struct group groups[] = {
	{ "Where to listen",
	    { "listen_addr", "listen_port", "unix_socket_dir",
	    "unix_socket_mode", "unix_socket_group", "listen_backlog",
	    "so_reuseport", "workers", "worker_cpus",
	    "client_proxy_protocol",
	    "proxy_trusted_nets", "user", "pidfile", "conffile", "job_name",
	    "peer_id" } },
	{ "Pools and limits",
	    { "pool_mode", "session_state", "session_state_check",
	    "max_pinned", "pin_timeout", "listen_lost",
	    "max_client_conn", "default_pool_size",
	    "min_pool_size", "reserve_pool_size", "reserve_pool_timeout",
	    "max_db_connections", "max_db_client_connections",
	    "max_user_connections", "max_user_client_connections",
	    "server_round_robin", "max_prepared_statements",
	    "memory_limit", "max_prepared_statement_memory",
	    "cache_unnamed_statements",
	    "server_login_concurrency", "server_handover_delay",
	    "worker_handover_delay" } },
	{ "Authentication",
	    { "auth_type", "auth_file", "auth_mock_secret_file",
	    "auth_hba_file", "auth_ident_file", "auth_hba_unknown",
	    "auth_user", "auth_query", "auth_dbname", "auth_query_cache",
	    "auth_query_cache_stale", "auth_ldap_options",
	    "krb_server_keyfile", "krb_caseins_users", "client_gssencmode",
	    "server_gss", "krb_client_keyfile", "krb_client_principal",
	    "krbsrvname",
	    "scram_iterations", "auth_threads", "auth_queue",
	    "max_unauthenticated", "max_unauthenticated_per_address",
	    "login_memory", "auth_failure_delay", "auth_failure_log_rate",
	    "server_require_auth", "server_require_peer", "password_timeout",
	    "strict_permissions" } },
	{ "Console",
	    { "admin_users", "stats_users", "max_console_conn",
	    "console_locked_settings",
	    "stats_period", "console_version" } },
	{ "Health and metrics",
	    { "http_listen_port", "http_listen_addr",
	    "http_pgbouncer_names", "http_max_series", "http_log_lines",
	    "http_auth_token_file", "http_tls_cert_file",
	    "http_tls_key_file" } },
	{ "Clients",
	    { "ignore_startup_parameters", "startup_parameters",
	    "track_extra_parameters",
	    "application_name_add_host", "disable_pqexec",
	    "login_notify_message", "query_wait_notify" } },
	{ "Log",
	    { "logfile", "syslog", "syslog_ident", "syslog_facility",
	    "log_connections", "log_disconnections", "log_pooler_errors",
	    "log_stats", "verbose", "log_format", "log_min_duration",
	    "log_query_text",
	    "slow_turn" } },
	{ "Health of servers",
	    { "server_reset_query", "server_reset_query_always",
	    "server_check_query", "server_check_delay", "server_fast_close",
	    "server_rollback_on_disconnect",
	    "server_lifetime", "server_idle_timeout",
	    "server_connect_timeout", "server_login_retry",
	    "server_down_timeout" } },
	{ "Time limits",
	    { "client_login_timeout", "client_idle_timeout", "query_timeout",
	    "query_wait_timeout", "cancel_wait_timeout",
	    "idle_transaction_timeout", "transaction_timeout",
	    "autodb_idle_timeout", "pool_idle_timeout",
	    "suspend_timeout", "reload_file_timeout",
	    "shutdown_drain_timeout", "shutdown_grace" } },
	{ "DNS",
	    { "dns_max_ttl", "dns_nxdomain_ttl", "dns_zone_check_period",
	    "resolv_conf" } },
	{ "TLS with clients",
	    { "client_tls_sslmode", "client_tls_key_file",
	    "client_tls_cert_file", "client_tls_ca_file",
	    "client_tls_crl_file",
	    "client_tls_protocols", "client_tls_ciphers",
	    "client_tls13_ciphers", "client_tls_dheparams",
	    "client_tls_ecdhcurve", "client_tls_groups",
	    "client_channel_binding" } },
	{ "Certificates that change",
	    { "tls_reload" } },
	{ "TLS with servers",
	    { "server_tls_sslmode", "server_tls_ca_file",
	    "server_tls_crl_file",
	    "server_tls_key_file", "server_tls_cert_file",
	    "server_tls_protocols", "server_tls_ciphers",
	    "server_tls13_ciphers", "server_tls_negotiation",
	    "server_channel_binding" } },
	{ "Network",
	    { "tcp_defer_accept", "tcp_socket_buffer", "tcp_keepalive",
	    "tcp_keepcnt", "tcp_keepidle", "tcp_keepintvl",
	    "tcp_user_timeout", "max_packet_size", "pkt_buf",
	    "sbuf_loopcnt" } },
};

#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static const char *const type_words[] = {
	[OPT_T_INT] = "number",
	[OPT_T_BOOL] = "0 or 1",
	[OPT_T_BYTES] = "bytes",
	[OPT_T_TIME] = "seconds",
	[OPT_T_ENUM] = "word",
	[OPT_T_STR] = "text",
};

static const char *const effect_words[] = {
	[OPT_LIVE] = "",
	[OPT_NEW] = "Applies to new connections.",
	[OPT_START] = "Requires a restart.",
};

static const char sample_head[] =
    "; pgsluice.ini - a configuration to start from, see pgsluice.ini(5).\n"
    ";\n"
    "; Lines that begin with ; or # are comments; a comment can't follow a\n"
    "; value. After a change: pgsluice --check FILE, then RELOAD on the\n"
    "; console or SIGHUP.\n"
    "\n"
    "[databases]\n"
    "\n"
    "; name clients ask for = where it is\n"
    "postgres = host=127.0.0.1 port=5432 dbname=postgres\n"
    "\n"
    "; one server user for all clients, a pool of its own size\n"
    ";reports = host=db1,db2 user=reporter pool_size=5 pool_mode=session\n"
    "\n"
    "; every other name\n"
    ";* = host=127.0.0.1\n"
    "\n"
    "[users]\n"
    "\n"
    ";ann = pool_mode=session max_user_connections=10\n"
    "\n"
    "[peers]\n"
    "\n"
    "; other processes of the group that so_reuseport makes\n"
    ";2 = host=/run/pgsluice/2\n"
    "\n"
    "; Keep one [pgbouncer] section only: each header sets all to default.\n"
    "[pgbouncer]\n"
    "\n"
    "listen_addr = 127.0.0.1\n"
    "listen_port = 6432\n"
    "auth_type = scram-sha-256\n"
    "auth_file = /etc/pgsluice/userlist.txt\n"
    "pool_mode = transaction\n"
    "; What a client has set goes with it from server to server.\n"
    "session_state = keep\n"
    "max_client_conn = 1000\n"
    "default_pool_size = 20\n"
    "; 80 % of the memory that is there: then the largest clients go, not all.\n"
    "memory_limit = auto\n"
    "admin_users = postgres\n"
    "; Not to be changed from the console: who may log in, what is run on\n"
    "; servers, and which files are read and written.\n"
    "console_locked_settings = admin_users, stats_users, auth_*, *_tls*,"
    " *_channel_binding, *proxy*, server_require_*,"
    " krb*, *_gss*, strict_permissions, conffile, logfile, pidfile, resolv_conf,"
    " unix_socket_*, listen_*, http_listen_addr, http_listen_port,"
    " http_auth_token_file, user, server_check_query, server_reset_query,"
    " log_query_text\n"
    "\n"
    "; Every setting with its default follows.\n";

/* Words of s in lines of WIDTH, each after indent. */
static void print_wrapped(const char *s, const char *indent)
{
	size_t column = 0;

	while (*s != '\0') {
		const size_t n = strcspn(s, " ");

		if (column > 0 && column + 1 + n > WIDTH) {
			putchar('\n');
			column = 0;
		}
		if (column == 0)
			column = (size_t)printf("%s", indent);
		else
			column += (size_t)printf(" ");
		column += (size_t)printf("%.*s", (int)n, s);
		s += n;
		s += strspn(s, " ");
	}
	putchar('\n');
}

static void join_words(const struct option_row *o, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; o->words[i] != NULL && len < size; i++) {
		if (o->words[i][0] != '\0')
			len += (size_t)snprintf(buf + len, size - len, "%s%s",
			    i > 0 ? ", " : "", o->words[i]);
	}
}

static void sample_option(const struct option_row *o)
{
	char words[256];

	putchar('\n');
	print_wrapped(o->help, "; ");
	if (o->words != NULL) {
		join_words(o, words, sizeof(words));
		printf("; One of: %s.\n", words);
	}
	if (o->def == NULL)
		printf("; Unset by default.\n;%s =\n", o->name);
	else
		printf(";%s =%s%s\n", o->name, o->def[0] != '\0' ? " " : "",
		    o->def);
}

/* scdoc reads * and _ as bold and underlined. */
static void print_escaped(const char *s)
{
	for (; *s != '\0'; s++) {
		if (strchr("*_\\<", *s) != NULL)
			putchar('\\');
		putchar(*s);
	}
}

/* As above into buf, for text that is still to be wrapped. */
static void escape(const char *s, char *buf, size_t size)
{
	size_t len = 0;

	for (; *s != '\0' && len + 3 < size; s++) {
		if (strchr("*_\\<", *s) != NULL)
			buf[len++] = '\\';
		buf[len++] = *s;
	}
	buf[len] = '\0';
}

static void man_option(const struct option_row *o)
{
	char text[1024], words[256];

	printf("\n*%s* (%s, ", o->name, type_words[o->type]);
	if (o->def == NULL) {
		printf("unset");
	} else if (o->def[0] == '\0') {
		printf("empty");
	} else {
		printf("default ");
		print_escaped(o->def);
	}
	printf(")\n");
	escape(o->help, text, sizeof(text));
	print_wrapped(text, "\t");
	if (o->words != NULL) {
		join_words(o, words, sizeof(words));
		printf("\tOne of: %s.\n", words);
	}
	if (o->min <= o->max && o->max < INT32_MAX)
		printf("\tFrom %" PRId64 " to %" PRId64 ".\n", o->min, o->max);
	if (effect_words[o->effect][0] != '\0')
		printf("\t%s\n", effect_words[o->effect]);
}

/* Is every setting in one group, and every name of a group a setting? */
static int check_groups(void)
{
	size_t count, listed = 0;

	option_rows(&count);
	for (size_t g = 0; g < GROUPS; g++) {
		for (const char *const *n = groups[g].names; *n != NULL; n++) {
			if (option_find(*n) == NULL) {
				fprintf(stderr, "optdoc: no setting %s\n", *n);
				return -1;
			}
			listed++;
		}
	}
	if (listed == count)
		return 0;
	fprintf(stderr, "optdoc: %zu settings in groups, but there are %zu\n",
	    listed, count);
	return -1;
}

static void print_groups(const char *mark,
    void (*print)(const struct option_row *o))
{
	for (size_t g = 0; g < GROUPS; g++) {
		printf("\n%s %s\n", mark, groups[g].title);
		for (const char *const *n = groups[g].names; *n != NULL; n++)
			print(option_find(*n));
	}
}

int main(int argc, char **argv)
{
	const char *const what = argc == 2 ? argv[1] : "";

	if (check_groups() != 0)
		return 1;
	if (strcmp(what, "sample") == 0) {
		printf("%s", sample_head);
		print_groups(";;;", sample_option);
		return 0;
	}
	if (strcmp(what, "man") == 0) {
		print_groups("##", man_option);
		return 0;
	}
	fprintf(stderr, "usage: optdoc sample | man\n");
	return 1;
}
