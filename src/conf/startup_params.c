/* startup_params.c - parameters that the operator gives to each server connection.
 * SPDX-License-Identifier: ISC */
#include "conf/startup_params.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/config.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BLANKS " \t\r\n"

/* These are no settings, but what a start-up packet has besides. */
static bool is_reserved(const char *name)
{
	static const char *const names[] = { "user", "database", "replication",
		"options" };

	for (size_t i = 0; i < COUNT(names); i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return strncmp(name, "_pq_.", 5) == 0;
}

static bool is_name_char(char c, bool first)
{
	if ((c >= 'a' && c <= 'z') || c == '_')
		return true;
	return !first && ((c >= '0' && c <= '9') || c == '.' || c == '$');
}

static int bad(struct err *e, const char *why, const char *what)
{
	return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
	    "startup_parameters: %s: %.60s", why, what);
}

/* *at: behind the name from here on, which is in lower case. */
static int take_name(char **at, struct startup_param *p, struct err *e)
{
	char *const name = *at;
	char *s = name;

	for (; *s >= 'A' && *s <= 'Z' ? (*s += 'a' - 'A', true) :
	    is_name_char(*s, s == name); s++)
		;
	char *const end = s;

	p->forced = *s == '!';
	s += p->forced;
	s += strspn(s, BLANKS);
	if (end == name || *s != '=')
		return bad(e, "name=value expected at", name);
	*at = s + 1;
	*end = '\0';
	p->name = name;
	return is_reserved(name) ?
	    bad(e, "not a setting of a session", name) : 0;
}

/* What follows the closing quote of the one at s; NULL: there is none. */
static char *behind_quoted(char *s)
{
	for (s++; *s != '\0'; s++) {
		if (*s == '\'' && *++s != '\'')
			return s;
	}
	return NULL;
}

/* In apostrophes, of which one is written as two; cut in place. */
static int take_quoted(char **at, struct startup_param *p, struct err *e)
{
	char *const end = behind_quoted(*at), *to = *at + 1;

	if (end == NULL)
		return bad(e, "closing quote missing", *at);
	if (*end != '\0' && strchr(BLANKS, *end) == NULL)
		return bad(e, "blank expected after a quote, not", end);
	p->value = to;
	for (const char *s = to; s < end - 1; s++) {
		s += *s == '\'';
		*to++ = *s;
	}
	*to = '\0';
	*at = end;
	return 0;
}

static int take_value(char **at, struct startup_param *p, struct err *e)
{
	*at += strspn(*at, BLANKS);
	if (**at == '\'')
		return take_quoted(at, p, e);
	p->value = *at;
	*at += strcspn(*at, BLANKS);
	if (p->value == *at)
		return bad(e, "no value for", p->name);
	if (**at != '\0')
		*(*at)++ = '\0';
	return 0;
}

static struct startup_param *find(struct startup_params *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++) {
		if (text_casecmp(p->at[i].name, name) == 0)
			return &p->at[i];
	}
	return NULL;
}

static void put(struct startup_params *p, const struct startup_param *pair)
{
	struct startup_param *const known = find(p, pair->name);

	if (known != NULL)
		*known = *pair;
	else
		p->at[p->count++] = *pair;
}

static int take_pair(struct startup_params *p, char **at, unsigned *n,
    struct err *e)
{
	struct startup_param pair = { .key = false };

	if (take_name(at, &pair, e) < 0 || take_value(at, &pair, e) < 0)
		return -1;
	if (++*n > STARTUP_PARAMS_MAX)
		return bad(e, "too many names, from here on", pair.name);
	put(p, &pair);
	return 0;
}

/* All of it may stand in apostrophes, as in [databases]. */
static int unquote(char **at, struct err *e)
{
	struct startup_param whole;
	char *s = *at;

	if (*s != '\'')
		return 0;
	if (take_quoted(&s, &whole, e) < 0)
		return -1;
	if (s[strspn(s, BLANKS)] != '\0')
		return bad(e, "nothing expected after a quote, but", s);
	*at += 1;
	return 0;
}

int startup_params_add(struct startup_params *p, const char *text,
    struct err *e)
{
	unsigned n = 0;

	if (text == NULL || text[0] == '\0')
		return 0;
	if (strlen(text) > STARTUP_PARAMS_BYTES)
		return bad(e, "too long", "more than 3000 bytes");
	char *at = mem_strdup(text);

	if (at == NULL)
		return err_nomem(e);
	p->texts[p->levels++] = at;
	at += strspn(at, BLANKS);
	if (unquote(&at, e) < 0)
		return -1;
	for (at += strspn(at, BLANKS); *at != '\0'; at += strspn(at, BLANKS)) {
		if (take_pair(p, &at, &n, e) < 0)
			return -1;
	}
	return 0;
}

void startup_params_fini(struct startup_params *p)
{
	for (size_t i = 0; i < p->levels; i++)
		mem_free(p->texts[i]);
	p->levels = p->count = 0;
}

int startup_params_check(const char *text, struct err *e)
{
	struct startup_params p = { .count = 0 };
	const int rc = startup_params_add(&p, text, e);

	startup_params_fini(&p);
	return rc;
}

/* Keys of their own of the database. */
static void add_keys(struct startup_params *p, const struct config_db *db)
{
	const struct startup_param keys[] = {
		{ .name = "client_encoding", .value = db->client_encoding,
		    .key = true },
		{ .name = "datestyle", .value = db->datestyle,
		    .key = true },
		{ .name = "timezone", .value = db->timezone,
		    .key = true },
		{ .name = "application_name", .value = db->application_name,
		    .key = true },
	};

	for (size_t i = 0; i < COUNT(keys); i++) {
		if (keys[i].value != NULL)
			put(p, &keys[i]);
	}
}

int startup_params_of(struct startup_params *p, const struct config *c,
    const struct config_db *db, const struct config_user *u)
{
	int rc;

	p->count = p->levels = 0;
	rc = startup_params_add(p, c->set.startup_parameters, NULL);
	if (rc == 0)
		rc = startup_params_add(p, db->startup_parameters, NULL);
	add_keys(p, db);
	if (rc == 0 && u != NULL)
		rc = startup_params_add(p, u->startup_parameters, NULL);
	if (rc < 0)
		startup_params_fini(p);
	return rc;
}

/* FNV-1a */
static void mix(uint64_t *mark, const char *s)
{
	do {
		*mark = (*mark ^ (uint8_t)*s) * 0x100000001b3;
	} while (*s++ != '\0');
}

uint64_t startup_params_mark(const struct startup_params *p)
{
	uint64_t mark = 0xcbf29ce484222325;

	for (size_t i = 0; i < p->count; i++) {
		if (p->at[i].key)
			continue;
		mix(&mark, p->at[i].name);
		mix(&mark, p->at[i].value);
	}
	return mark;
}

bool startup_params_force(const struct startup_params *p, const char *name)
{
	const struct startup_param *const known =
	    find((struct startup_params *)p, name);

	return known != NULL && known->forced;
}

/* A value may have the sign, too: then somebody is looked at more closely. */
static bool may_force(const char *text)
{
	return text != NULL && strchr(text, '!') != NULL;
}

bool config_forces_startup(const struct config *c)
{
	bool forces = may_force(c->set.startup_parameters) ||
	    may_force(c->auto_db);

	for (const struct config_db *db = c->dbs; db != NULL && !forces;
	    db = db->next)
		forces = may_force(db->startup_parameters);
	for (const struct config_user *u = c->users; u != NULL && !forces;
	    u = u->next)
		forces = may_force(u->startup_parameters);
	return forces;
}
