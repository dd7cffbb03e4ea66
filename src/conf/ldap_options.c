/* ldap_options.c - the text that says how to ask an LDAP directory.
 * SPDX-License-Identifier: ISC */
#include "conf/ldap_options.h"

#include <stddef.h>
#include <string.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#define BLANKS " \t\r\n"
#define PORT_MAX 65535

/* --- from text to key and value --- */

/* Cut the quoted text behind a quote at s. What follows it, or NULL. */
static char *ldap_options_cut_quoted(char *s)
{
	char *to = s;

	for (; *s != '\0'; s++) {
		if (*s == '"' && *++s != '"') {
			*to = '\0';
			return s;
		}
		*to++ = *s;
	}
	return NULL;
}

/* Cut a key at s; what follows its "=", or NULL. */
static char *cut_key(char **s)
{
	char *end;

	if (**s == '"') {
		end = ldap_options_cut_quoted(++*s);
		return end != NULL && *end == '=' ? end + 1 : NULL;
	}
	end = *s + strcspn(*s, BLANKS ",=\"");
	if (*end != '=' || end == *s)
		return NULL;
	*end = '\0';
	return end + 1;
}

static bool ends_item(char c)
{
	return c == '\0' || strchr(BLANKS ",", c) != NULL;
}

/* Cut a value at s; what follows it, or NULL. */
static char *cut_value(char **s)
{
	char *end;

	if (**s == '"') {
		end = ldap_options_cut_quoted(++*s);
		return end != NULL && ends_item(*end) ? end : NULL;
	}
	end = *s + strcspn(*s, BLANKS ",\"");
	if (end == *s || !ends_item(*end))
		return NULL;
	if (*end != '\0')
		*end++ = '\0';
	return end;
}

/* --- one function a kind of value: 0 or -1 with e --- */

struct key;

struct item {
	struct ldap_options *o;
	const struct key *key;
	const char *value;
};

struct key {
	const char *name;
	int (*set)(const struct item *it, struct err *e);
	size_t offset;		/* of a string */
};

static int ldap_options_put(char **slot, const char *value, struct err *e)
{
	char *copy = mem_strdup(value);

	if (copy == NULL)
		return err_nomem(e);
	secret_free(*slot);
	*slot = copy;
	return 0;
}

static int set_text(const struct item *it, struct err *e)
{
	return ldap_options_put((char **)((char *)it->o + it->key->offset),
	    it->value, e);
}

static int bad_value(const struct item *it, struct err *e)
{
	return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
	    "invalid value for %s: \"%s\"", it->key->name, it->value);
}

static int ldap_options_set_port(const struct item *it, struct err *e)
{
	uint32_t port;

	if (num_parse_u32(it->value, &port) < 0 || port == 0 ||
	    port > PORT_MAX)
		return bad_value(it, e);
	it->o->port = (uint16_t)port;
	return 0;
}

static int set_scheme(const struct item *it, struct err *e)
{
	it->o->ldaps = strcmp(it->value, "ldaps") == 0;
	return it->o->ldaps || strcmp(it->value, "ldap") == 0 ? 0 :
	    bad_value(it, e);
}

static int set_tls(const struct item *it, struct err *e)
{
	it->o->tls = strcmp(it->value, "1") == 0;
	return it->o->tls || strcmp(it->value, "0") == 0 ? 0 :
	    bad_value(it, e);
}

/* --- RFC 4516: a URL --- */

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undo %xx in place. Returns false for what is none, or a NUL. */
static bool decode(char *s)
{
	char *to = s;

	for (; *s != '\0'; s++) {
		if (*s != '%') {
			*to++ = *s;
			continue;
		}
		const int high = hex_value(s[1]);
		const int low = high < 0 ? -1 : hex_value(s[2]);

		if (low < 0 || high * 16 + low == 0)
			return false;
		*to++ = (char)(high * 16 + low);
		s += 2;
	}
	*to = '\0';
	return true;
}

/* Cut s at the first c; what follows it, or NULL. */
static char *cut(char *s, char c)
{
	char *end = s == NULL ? NULL : strchr(s, c);

	if (end == NULL)
		return NULL;
	*end = '\0';
	return end + 1;
}

static int set_scope(struct ldap_options *o, const char *word)
{
	static const struct {
		const char *word;
		enum ldap_scope scope;
	} scopes[] = {
		/* no scope means base, too: RFC 4516 section 2 */
		{ "", LDAP_OPT_BASE },
		{ "base", LDAP_OPT_BASE },
		{ "one", LDAP_OPT_ONE },
		{ "sub", LDAP_OPT_SUBTREE },
	};

	for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
		if (strcmp(word, scopes[i].word) == 0) {
			o->scope = scopes[i].scope;
			return 0;
		}
	}
	return -1;
}

/* The port behind a host; an address with colons stands in brackets. */
static char *cut_port(char *host)
{
	char *close = *host == '[' ? strchr(host, ']') : NULL;

	return cut(close != NULL ? close : host, ':');
}

static int put_part(char **slot, char *part, const struct item *it,
    struct err *e)
{
	if (part == NULL || *part == '\0')
		return 0;
	if (!decode(part))
		return bad_value(it, e);
	return ldap_options_put(slot, part, e);
}

/* rest: what follows the scheme; cut to pieces. */
static int read_url(const struct item *it, char *rest, struct err *e)
{
	struct ldap_options *o = it->o;
	char *dn = cut(rest, '/');
	char *attribute = cut(dn, '?'), *scope = cut(attribute, '?');
	char *filter = cut(scope, '?');
	char *port = cut_port(rest);
	const struct key port_key = { .name = it->key->name };
	const struct item port_item = { o, &port_key, port };

	(void)cut(filter, '?');		/* extensions: none is known */
	if (port != NULL && *port != '\0' &&
	    ldap_options_set_port(&port_item, e) < 0)
		return -1;
	if (dn != NULL && *dn != '\0' &&
	    set_scope(o, scope == NULL ? "" : scope) < 0)
		return bad_value(it, e);
	if (put_part(&o->server, rest, it, e) < 0 ||
	    put_part(&o->basedn, dn, it, e) < 0 ||
	    put_part(&o->attribute, attribute, it, e) < 0)
		return -1;
	return put_part(&o->filter, filter, it, e);
}

static int set_url(const struct item *it, struct err *e)
{
	static const char *const schemes[] = { "ldap://", "ldaps://" };

	for (size_t i = 0; i < 2; i++) {
		const size_t len = strlen(schemes[i]);

		if (strncmp(it->value, schemes[i], len) != 0)
			continue;
		char *rest = mem_strdup(it->value + len);

		if (rest == NULL)
			return err_nomem(e);
		it->o->ldaps = i == 1;
		const int rc = read_url(it, rest, e);

		mem_free(rest);
		return rc;
	}
	return bad_value(it, e);
}

/* --- the table --- */

#define TEXT(name, field) \
	{ name, set_text, offsetof(struct ldap_options, field) }

static const struct key keys[] = {
	{ "ldapport", ldap_options_set_port, 0 },
	{ "ldapscheme", set_scheme, 0 },
	{ "ldaptls", set_tls, 0 },
	{ "ldapurl", set_url, 0 },
	TEXT("ldapserver", server),
	TEXT("ldapprefix", prefix),
	TEXT("ldapsuffix", suffix),
	TEXT("ldapbasedn", basedn),
	TEXT("ldapbinddn", binddn),
	TEXT("ldapbindpasswd", bindpasswd),
	TEXT("ldapsearchattribute", attribute),
	TEXT("ldapsearchfilter", filter),
};

static int set(struct ldap_options *o, const char *name, const char *value,
    struct err *e)
{
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const struct item it = { o, &keys[i], value };

		if (strcmp(keys[i].name, name) == 0)
			return keys[i].set(&it, e);
	}
	return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
	    "unknown option \"%s\"", name);
}

static int read_items(struct ldap_options *o, char *at, struct err *e)
{
	for (;;) {
		at += strspn(at, BLANKS ",");
		if (*at == '\0')
			return 0;
		char *name = at, *value = cut_key(&name);

		at = value == NULL ? NULL : cut_value(&value);
		if (at == NULL)
			return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
			    "key=value expected");
		if (set(o, name, value, e) < 0)
			return -1;
	}
}

/* The mode must be clear: bind or search. */
static int ldap_options_check(const struct ldap_options *o, struct err *e)
{
	const bool simple = o->prefix != NULL || o->suffix != NULL;

	if (simple && (o->basedn != NULL || o->binddn != NULL ||
	    o->bindpasswd != NULL || o->attribute != NULL ||
	    o->filter != NULL))
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "ldapprefix and ldapsuffix cannot be mixed with "
		    "ldapbasedn, ldapbinddn, ldapbindpasswd, "
		    "ldapsearchattribute, ldapsearchfilter or ldapurl");
	if (!simple && o->basedn == NULL)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "ldapbasedn, ldapprefix or ldapsuffix must be set");
	if (o->attribute != NULL && o->filter != NULL)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "ldapsearchattribute and ldapsearchfilter cannot be used "
		    "together");
	if (o->tls && o->ldaps)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "ldaptls cannot be used with ldaps");
	if (o->server == NULL && o->basedn == NULL)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "ldapserver or ldapbasedn must be set");
	return 0;
}

int ldap_options_parse(struct ldap_options *o, const char *text,
    struct err *e)
{
	*o = (struct ldap_options){ 0 };
	if (strlen(text) > LDAP_OPTIONS_MAX)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "LDAP options are too long");
	const size_t size = strlen(text) + 1;
	char *copy = mem_dup(text, size);

	if (copy == NULL)
		return err_nomem(e);
	int rc = read_items(o, copy, e);

	if (rc == 0)
		rc = ldap_options_check(o, e);
	secret_wipe(copy, size);
	mem_free(copy);
	if (rc < 0)
		ldap_options_fini(o);
	return rc;
}

void ldap_options_fini(struct ldap_options *o)
{
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (keys[i].set == set_text)
			secret_free(*(char **)((char *)o + keys[i].offset));
	}
	*o = (struct ldap_options){ 0 };
}

/* Behind the value that begins at s. */
static const char *skip_value(const char *s)
{
	if (*s != '"')
		return s + strcspn(s, BLANKS ",");
	for (s++; *s != '\0'; s++) {
		if (*s == '"' && *++s != '"')
			return s;
	}
	return s;
}

const char *ldap_options_hide(const char *text, char *buf, size_t size)
{
	static const char name[] = "ldapbindpasswd";
	const char *found;
	struct text t;

	text_init(&t, buf, size);
	while ((found = strstr(text, name)) != NULL) {
		found += sizeof name - 1;
		found += strspn(found, "\"");
		text_add_bytes(&t, text, (size_t)(found - text));
		text_add(&t, "=****");
		/* an unknown option is not shown: it may be the password */
		text = *found == '=' ? skip_value(found + 1) :
		    found + strlen(found);
	}
	text_add(&t, text);
	return buf;
}
