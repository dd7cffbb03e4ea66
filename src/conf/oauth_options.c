/* oauth_options.c - what a rule of the HBA file wants of a client's token.
 * SPDX-License-Identifier: ISC */
#include "conf/oauth_options.h"

#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "base/jwt.h"
#include "base/mem.h"
#include "conf/hba_source.h"

struct oauth_options *oauth_options_new(void)
{
	struct oauth_options *const o = mem_zalloc(sizeof(*o));

	if (o != NULL)
		o->refs = 1;
	return o;
}

struct oauth_options *oauth_options_ref(const struct oauth_options *o)
{
	struct oauth_options *const counted = (struct oauth_options *)o;

	counted->refs++;
	return counted;
}

void oauth_options_unref(struct oauth_options **op)
{
	struct oauth_options *const o = *op;

	*op = NULL;
	if (o == NULL || --o->refs > 0)
		return;
	mem_free(o->issuer);
	mem_free(o->audience);
	mem_free(o->scope);
	mem_free(o->claim);
	mem_free(o->cleartext);
	jwks_file_unref(&o->keys);
	mem_free(o);
}

/* --- values --- */

/* What JSON takes as it is, without blanks. */
static bool is_url(const char *s)
{
	const bool known = strncmp(s, "https://", 8) == 0 ||
	    strncmp(s, "http://", 7) == 0;

	for (; *s != '\0'; s++) {
		if (*s <= ' ' || *s > '~' || *s == '"' || *s == '\\')
			return false;
	}
	return known;
}

/* RFC 6749 section 3.3: words, one blank between two. */
static bool is_scope(const char *s)
{
	for (const char *at = s; *at != '\0'; at++) {
		if (*at == ' ' && (at == s || at[1] == ' ' || at[1] == '\0'))
			return false;
		if (*at < ' ' || *at > '~' || *at == '"' || *at == '\\')
			return false;
	}
	return *s != '\0';
}

static bool is_text(const char *s)
{
	for (const char *at = s; *at != '\0'; at++) {
		if ((unsigned char)*at < ' ' || *at == '\x7f')
			return false;
	}
	return *s != '\0';
}

static bool is_flag(const char *s)
{
	return strcmp(s, "0") == 0 || strcmp(s, "1") == 0;
}

static const struct key {
	const char *name;	/* with its "=" */
	size_t offset;		/* of a string */
	bool (*is)(const char *value);
	const char *wanted;
} keys[] = {
	{ "issuer=", offsetof(struct oauth_options, issuer), is_url,
	    "a URL" },
	{ "audience=", offsetof(struct oauth_options, audience), is_text,
	    "a text" },
	{ "scope=", offsetof(struct oauth_options, scope), is_scope,
	    "words with one blank between two" },
	{ "user_claim=", offsetof(struct oauth_options, claim), is_text,
	    "the name of a claim" },
	{ "cleartext=", offsetof(struct oauth_options, cleartext), is_flag,
	    "0 or 1" },
};

static int twice(const char *name, struct err *e)
{
	return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "\"%s\" is given twice",
	    name);
}

/* value: owned, taken. */
static int put(struct oauth_options *o, const struct key *k, char *value,
    struct err *e)
{
	char **const slot = (char **)((char *)o + k->offset);

	if (value == NULL)
		return err_nomem(e);
	if (*slot == NULL && k->is(value)) {
		*slot = value;
		return 1;
	}
	mem_free(value);
	return *slot != NULL ? twice(k->name, e) :
	    err_set(e, ERRCODE_CONFIG_FILE_ERROR, "\"%s\" wants %s", k->name,
	    k->wanted);
}

static bool begins(const struct hba_word *w, const char *name)
{
	const size_t len = strlen(name);

	return w->len >= len && memcmp(w->at, name, len) == 0;
}

static int put_file(struct oauth_options *o, const struct hba_word *w,
    const struct hba_place *at, struct err *e)
{
	char path[HBA_PATH_MAX];

	if (o->keys != NULL)
		return twice("jwks=", e);
	if (hba_path(at, w, strlen("jwks="), path) != 0)
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "\"jwks=\" wants the name of a file");
	o->keys = jwks_file_new(path);
	return o->keys != NULL ? 1 : err_nomem(e);
}

int oauth_options_take(struct oauth_options *o, const struct hba_word *w,
    const struct hba_place *at, struct err *e)
{
	if (begins(w, "jwks="))
		return put_file(o, w, at, e);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const size_t len = strlen(keys[i].name);

		if (begins(w, keys[i].name))
			return put(o, &keys[i], mem_strndup(w->at + len,
			    w->len - len), e);
	}
	return 0;
}

/* NULL: none. */
static const char *missing(const struct oauth_options *o)
{
	if (o->issuer == NULL)
		return "issuer";
	if (o->audience == NULL)
		return "audience";
	if (o->scope == NULL)
		return "scope";
	return o->keys == NULL ? "jwks" : NULL;
}

int oauth_options_complete(struct oauth_options *o, struct err *e)
{
	const char *const name = missing(o);

	if (name != NULL)
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "the method oauth needs %s=", name);
	if (o->claim == NULL)
		o->claim = mem_strdup("sub");
	if (o->cleartext == NULL)
		o->cleartext = mem_strdup("0");
	return o->claim != NULL && o->cleartext != NULL ? 0 : err_nomem(e);
}
