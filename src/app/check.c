/* check.c - --check: is a configuration file free of problems?
 * SPDX-License-Identifier: ISC */
#include "app/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/input.h"
#include "base/net.h"
#include "conf/config.h"
#include "conf/config_load.h"
#include "conf/config_state.h"
#include "conf/hba.h"
#include "conf/secret.h"
#include "upstream/tls_setup.h"

/* Does text only tell where the problem of the line before it is? */
static bool is_place(const char *text)
{
	static const char *const starts[] = {
		"could not parse hba config line",
		"error processing include file", "invalid section \"",
		"invalid value \"",
	};

	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		if (strncmp(text, starts[i], strlen(starts[i])) == 0)
			return true;
	}
	return false;
}

static void on_problem(void *arg, enum log_level level, const char *text)
{
	unsigned *const problems = arg;

	if (level >= LEVEL_INFO) {
		printf("note: %s\n", text);
		return;
	}
	if (*problems == 0 || !is_place(text))
		(*problems)++;
	printf("%s\n", text);
}

/* --- what works, but hardly as it was meant --- */

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("note: ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
}

/* "host:port", which is neither a name nor an address of IPv6? */
static bool has_port(const char *item, size_t len)
{
	char text[256];
	struct net_addr a;

	if (len >= sizeof text)
		return false;
	memcpy(text, item, len);
	text[len] = '\0';
	return text[0] != '/' && text[0] != '@' &&
	    strchr(text, ':') != NULL && net_parse_ip(text, 0, &a) < 0;
}

/* The first item of a comma list that has one; NULL: none. */
static const char *find_port(const char *list, size_t *len)
{
	for (const char *at = list; at != NULL && *at != '\0';) {
		at += strspn(at, ", \t");
		*len = strcspn(at, ", \t");
		if (has_port(at, *len))
			return at;
		at += *len;
	}
	return NULL;
}

static void note_hosts(const struct config *c)
{
	const struct config_db *db;
	size_t len;
	const char *at = find_port(c->set.listen_addr, &len);

	if (at != NULL)
		note("listen_addr: \"%.*s\" is not an address; listen_port sets "
		    "the port", (int)len, at);
	if (c->set.listen_addr[0] == '\0')
		note("listen_addr is empty: pgsluice listens on Unix sockets only");
	for (db = c->dbs; db != NULL; db = db->next) {
		at = find_port(db->host, &len);
		if (at != NULL)
			note("database \"%s\": \"%.*s\" is not a host; port= sets "
			    "the port", db->name, (int)len, at);
	}
}

static void note_http(const struct settings *set)
{
	const char *at = set->http_listen_addr;
	char item[256];
	struct net_addr a;

	while (set->http_listen_port != 0 && *(at += strspn(at, ", \t")) != '\0') {
		const size_t len = strcspn(at, ", \t");

		snprintf(item, sizeof item, "%.*s", (int)len, at);
		if (strcmp(item, "*") != 0 && net_parse_ip(item, 0, &a) < 0)
			note("http_listen_addr: \"%s\" is not an address, so HTTP "
			    "is not served there", item);
		at += len;
	}
}

/* Which users can log in? auth_query may find everybody. */
static void note_users(const struct config *c)
{
	const char *const why = config_nobody(c);

	if (why != NULL)
		note("nobody can log in: %s", why);
}

static void note_certificates(const struct tls_setup *tls)
{
	int64_t left;

	for (int i = 0; i < TLS_CERTS; i++) {
		const enum tls_certificate which = (enum tls_certificate)i;
		const char *const setting = tls_certificate_setting(which);

		if (!tls_setup_seconds_left(tls, which, &left))
			continue;
		if (left < 0)
			note("%s has expired", setting);
		else
			note("%s expires in %lld days", setting,
			    (long long)(left / 86400));
	}
}

static void note_sizes(const struct config *c)
{
	const int size = c->set.default_pool_size;

	if (size > 0 && c->set.min_pool_size > size)
		note("min_pool_size is above default_pool_size: pools keep %d "
		    "servers", size);
}

/* MIT Kerberos, "The Kerberos keytab file format": it begins with these. */
#define KEYTAB_MAGIC "\5\2"

/* Why the keytab cannot be used; NULL: it can, or is no file, or none is set. */
static const char *keytab_problem(const char *name)
{
	if (name == NULL || name[0] == '\0')
		return NULL;
	static const char prefix[] = "FILE:";
	const bool prefixed = strncmp(name, prefix, strlen(prefix)) == 0;
	char start[sizeof KEYTAB_MAGIC - 1];

	if (prefixed)
		name += strlen(prefix);
	else if (name[0] != '/' && strchr(name, ':') != NULL)
		return NULL;
	FILE *const f = input_check(name) < 0 ? NULL : fopen(name, "re");

	if (f == NULL)
		return input_why(errno);
	errno = 0;
	const size_t n = fread(start, 1, sizeof start, f);
	const int why = errno;

	fclose(f);
	if (n == sizeof start && memcmp(start, KEYTAB_MAGIC, n) == 0)
		return NULL;
	return why != 0 ? strerror(why) : "it is no keytab";
}

static bool asks_for_ticket(const struct hba_rule *r)
{
	return r->method == AUTH_GSS;
}

static void check_keytab(const struct config *c, unsigned *problems)
{
	const char *const name = c->set.krb_server_keyfile;
	const char *const why = keytab_problem(name);
	const struct hba_rule *const rule = hba_find_like(c->hba,
	    asks_for_ticket);
	struct err e;

	if (why == NULL)
		return;
	if (rule != NULL)
		err_set(&e, ERRCODE_CONFIG_FILE_ERROR, "%s:%u: the method gss "
		    "cannot use krb_server_keyfile \"%s\": %s",
		    c->set.auth_hba_file, rule->line, name, why);
	else
		err_set(&e, ERRCODE_CONFIG_FILE_ERROR, "krb_server_keyfile "
		    "\"%s\" cannot be used: %s", name, why);
	on_problem(problems, LEVEL_ERROR, e.text);
}

static void check_client_keytab(const struct config *c, unsigned *problems)
{
	const char *const name = c->set.krb_client_keyfile;
	const char *const why = keytab_problem(name);
	struct err e;

	if (why == NULL)
		return;
	err_set(&e, ERRCODE_CONFIG_FILE_ERROR, "krb_client_keyfile \"%s\" "
	    "cannot be used: %s", name, why);
	on_problem(problems, LEVEL_ERROR, e.text);
}

static void on_secret(void *arg, const char *line)
{
	on_problem(arg, LEVEL_ERROR, line);
}

/* What is no mistake of one line, but keeps the start from working. */
static void check_whole(struct config *c, unsigned *problems)
{
	struct err e;
	struct tls_setup *tls = tls_setup_new(c, &e);

	if (tls == NULL)
		on_problem(problems, LEVEL_ERROR, e.text);
	else
		note_certificates(tls);
	tls_setup_free(&tls);
	secret_check_all(c, on_secret, problems);
	check_keytab(c, problems);
	check_client_keytab(c, problems);
	if (c->set.listen_addr[0] == '\0' && c->set.unix_socket_dir[0] == '\0')
		on_problem(problems, LEVEL_ERROR, "nowhere to listen on");
}

int check_run(const char *path)
{
	unsigned problems = 0;
	struct err e;
	struct config *seed = config_seed(0);
	struct config *c = seed == NULL ? NULL :
	    config_load_with(&(struct config_order){ .path = path,
		.prev = seed, .report = on_problem, .arg = &problems,
		.only_check = true }, &e);

	if (c != NULL) {
		check_whole(c, &problems);
		note_hosts(c);
		note_http(&c->set);
		note_users(c);
		note_sizes(c);
	} else if (problems == 0) {
		on_problem(&problems, LEVEL_ERROR, "out of memory");
	}
	config_unref(&c);
	config_unref(&seed);
	if (problems == 0)
		printf("%s: no problems found\n", path);
	else
		printf("%s: %u problem%s\n", path, problems,
		    problems == 1 ? "" : "s");
	return problems == 0 ? 0 : 1;
}
