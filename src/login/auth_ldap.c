/* auth_ldap.c - a password that an LDAP directory checks; runs on a thread.
 * SPDX-License-Identifier: ISC */
#include <ldap.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/time.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/ldap_options.h"
#include "login/auth_ask.h"

#define CONNECT_SECONDS 3	/* spec/authentication.md section 3.7 */
#define ANSWER_SECONDS 30	/* no thread waits longer for one answer */
#define ATTRIBUTE "uid"
#define USERNAME "$username"
#define FILTER_MAX 4096
#define URIS_MAX 4096

struct session {
	struct auth_ask *ask;
	struct ldap_options o;
	LDAP *ld;		/* owned; NULL: not connected */
};

/* Why the login is refused; only the first reason counts. */
static bool auth_ldap_fail(struct session *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static bool auth_ldap_fail(struct session *s, const char *fmt, ...)
{
	struct text t;
	va_list ap;

	text_init(&t, s->ask->detail, sizeof s->ask->detail);
	text_add(&t, "LDAP: ");
	va_start(ap, fmt);
	text_vaddf(&t, fmt, ap);
	va_end(ap);
	return false;
}

/* The same with what the library says. */
static bool fail_by(struct session *s, int rc, const char *what)
{
	s->ask->no_memory = rc == LDAP_NO_MEMORY;
	return auth_ldap_fail(s, "%s: %s", what, ldap_err2string(rc));
}

/* --- where to --- */

static const char *scheme(const struct session *s)
{
	return s->o.ldaps ? "ldaps" : "ldap";
}

/* RFC 2782: the servers of the domain that basedn names. Owned by LDAP. */
static char *find_servers(struct session *s)
{
	char *domain = NULL, *hosts = NULL;

	if (ldap_dn2domain(s->o.basedn, &domain) != LDAP_SUCCESS ||
	    domain == NULL) {
		auth_ldap_fail(s, "no domain in ldapbasedn \"%s\"",
		    s->o.basedn);
		return NULL;
	}
	if (ldap_domain2hostlist(domain, &hosts) != LDAP_SUCCESS) {
		auth_ldap_fail(s, "no LDAP servers of domain \"%s\" in DNS",
		    domain);
		hosts = NULL;
	}
	ldap_memfree(domain);
	return hosts;
}

/* An entry of DNS has a port already. */
static void add_uri(const struct session *s, struct text *t,
    const char *host, int len)
{
	const char *blank = t->len > 0 ? " " : "";

	if (s->o.server == NULL)
		text_addf(t, "%s%s://%.*s", blank, scheme(s), len, host);
	else
		text_addf(t, "%s%s://%.*s:%u", blank, scheme(s), len, host,
		    (unsigned)ldap_options_port(&s->o));
}

static bool list_uris(struct session *s, char *buf, size_t size)
{
	char *found = s->o.server != NULL ? NULL : find_servers(s);
	const char *at = s->o.server != NULL ? s->o.server : found;
	struct text t;

	if (at == NULL)
		return false;
	text_init(&t, buf, size);
	while (*(at += strspn(at, " \t")) != '\0') {
		const size_t len = strcspn(at, " \t");

		add_uri(s, &t, at, (int)len);
		at += len;
	}
	if (found != NULL)
		ldap_memfree(found);
	if (t.len == 0 || t.cut)
		return auth_ldap_fail(s, "no usable ldapserver");
	return true;
}

/* --- the connection --- */

static void disconnect(struct session *s)
{
	if (s->ld != NULL)
		ldap_unbind_ext(s->ld, NULL, NULL);
	s->ld = NULL;
}

static bool set_options(struct session *s)
{
	static const int version = LDAP_VERSION3;
	static const struct timeval connect = { .tv_sec = CONNECT_SECONDS };
	static const struct timeval answer = { .tv_sec = ANSWER_SECONDS };
	static const struct {
		int option;
		const void *value;
	} rows[] = {
		{ LDAP_OPT_PROTOCOL_VERSION, &version },
		{ LDAP_OPT_NETWORK_TIMEOUT, &connect },
		{ LDAP_OPT_TIMEOUT, &answer },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (ldap_set_option(s->ld, rows[i].option, rows[i].value) !=
		    LDAP_OPT_SUCCESS)
			return auth_ldap_fail(s, "could not set an option");
	}
	return true;
}

static bool connect_to(struct session *s)
{
	char uris[URIS_MAX];
	int rc;

	if (!list_uris(s, uris, sizeof uris))
		return false;
	rc = ldap_initialize(&s->ld, uris);
	if (rc != LDAP_SUCCESS)
		return fail_by(s, rc, uris);
	if (!set_options(s))
		return false;
	rc = s->o.tls ? ldap_start_tls_s(s->ld, NULL, NULL) : LDAP_SUCCESS;
	if (rc != LDAP_SUCCESS)
		return fail_by(s, rc, "could not start TLS");
	return true;
}

static bool bind_as(struct session *s, const char *dn, const char *password)
{
	struct berval secret = {
		.bv_val = (char *)password, .bv_len = strlen(password),
	};
	const int rc = ldap_sasl_bind_s(s->ld, dn, LDAP_SASL_SIMPLE, &secret,
	    NULL, NULL, NULL);

	s->ask->no_memory = rc == LDAP_NO_MEMORY;
	return rc == LDAP_SUCCESS ||
	    auth_ldap_fail(s, "could not bind as \"%s\": %s", dn,
		ldap_err2string(rc));
}

/* --- search + bind --- */

/* s->o.filter with the name put in, or attribute=name. */
static bool make_filter(struct session *s, char *buf, size_t size)
{
	const char *user = s->ask->user, *at = s->o.filter, *next;
	struct text t;

	text_init(&t, buf, size);
	if (at == NULL)
		text_addf(&t, "(%s=%s)", s->o.attribute != NULL ?
		    s->o.attribute : ATTRIBUTE, user);
	while (at != NULL && (next = strstr(at, USERNAME)) != NULL) {
		text_add_bytes(&t, at, (size_t)(next - at));
		text_add(&t, user);
		at = next + strlen(USERNAME);
	}
	if (at != NULL)
		text_add(&t, at);
	return !t.cut || auth_ldap_fail(s, "the search filter gets too long");
}

static int auth_ldap_search(struct session *s, const char *filter,
    LDAPMessage **found)
{
	static const int scopes[] = {
		[LDAP_OPT_SUBTREE] = LDAP_SCOPE_SUBTREE,
		[LDAP_OPT_ONE] = LDAP_SCOPE_ONELEVEL,
		[LDAP_OPT_BASE] = LDAP_SCOPE_BASE,
	};
	char none[] = LDAP_NO_ATTRS;
	char *attributes[] = { none, NULL };

	/* a second entry is one too many, a third tells nothing new */
	return ldap_search_ext_s(s->ld, s->o.basedn, scopes[s->o.scope],
	    filter, attributes, 0, NULL, NULL, NULL, 2, found);
}

/* The DN of the one entry there must be. NULL: s failed. Owned by LDAP. */
static char *take_dn(struct session *s, LDAPMessage *found,
    const char *filter)
{
	const int n = ldap_count_entries(s->ld, found);
	char *dn = n == 1 ?
	    ldap_get_dn(s->ld, ldap_first_entry(s->ld, found)) : NULL;

	if (dn != NULL && dn[0] != '\0')
		return dn;
	ldap_memfree(dn);
	auth_ldap_fail(s, "%s entry found for %s",
	    n > 1 ? "more than one" : "no", filter);
	return NULL;
}

static char *find_dn(struct session *s)
{
	char filter[FILTER_MAX];
	LDAPMessage *found = NULL;
	char *dn = NULL;

	if (!make_filter(s, filter, sizeof filter))
		return NULL;
	const int rc = auth_ldap_search(s, filter, &found);

	s->ask->no_memory = rc == LDAP_NO_MEMORY;
	if (rc == LDAP_SUCCESS || rc == LDAP_SIZELIMIT_EXCEEDED)
		dn = take_dn(s, found, filter);
	else
		auth_ldap_fail(s, "could not search for %s: %s", filter,
		    ldap_err2string(rc));
	ldap_msgfree(found);
	return dn;
}

static bool search_and_bind(struct session *s)
{
	/* RFC 4515 section 3: these would change what the filter means */
	if (strpbrk(s->ask->user, "*()\\/") != NULL)
		return auth_ldap_fail(s,
		    "the user name has a character that is not "
		    "allowed in a search");
	if (!connect_to(s) || !bind_as(s, s->o.binddn != NULL ?
	    s->o.binddn : "", s->o.bindpasswd != NULL ?
	    s->o.bindpasswd : ""))
		return false;
	char *dn = find_dn(s);

	disconnect(s);
	const bool ok = dn != NULL && connect_to(s) &&
	    bind_as(s, dn, s->ask->password);

	ldap_memfree(dn);
	return ok;
}

/* --- simple bind --- */

static bool simple_bind(struct session *s)
{
	const char *prefix = s->o.prefix != NULL ? s->o.prefix : "";
	const char *suffix = s->o.suffix != NULL ? s->o.suffix : "";
	char dn[LDAP_OPTIONS_MAX + 256];
	struct text t;

	text_init(&t, dn, sizeof dn);
	text_addf(&t, "%s%s%s", prefix, s->ask->user, suffix);
	if (t.cut)
		return auth_ldap_fail(s, "the DN gets too long");
	return connect_to(s) && bind_as(s, dn, s->ask->password);
}

/* Asked for an option of all connections, the library reads its files. */
static void init_library(void)
{
	int version;

	(void)ldap_get_option(NULL, LDAP_OPT_PROTOCOL_VERSION, &version);
}

void ask_ldap(struct auth_ask *q)
{
	/* two threads that use it first at the same time would race */
	static pthread_once_t ready = PTHREAD_ONCE_INIT;
	struct session s = { .ask = q };
	struct err e;

	pthread_once(&ready, init_library);

	/* RFC 4513 section 5.1.2: that would be no authentication at all */
	if (q->password[0] == '\0') {
		auth_ldap_fail(&s, "empty password");
		return;
	}
	if (ldap_options_parse(&s.o, q->options, &e) < 0) {
		auth_ldap_fail(&s, "%s", e.text);
		q->no_memory = err_is_nomem(&e);
		return;
	}
	q->allowed = ldap_options_search(&s.o) ? search_and_bind(&s) :
	    simple_bind(&s);
	disconnect(&s);
	ldap_options_fini(&s.o);
}
