/* convert_access.c - who may use what is converted: never more than before.
 * SPDX-License-Identifier: ISC
 *
 * There, each user of a database has a password, a server and a user there. Here,
 * the auth file is that of all databases, and a line of [databases] that of all its
 * users. So each login needs a rule, and whom the two do not fit gets none. */
#include <string.h>

#include "base/text.h"
#include "conf/userlist.h"
#include "ctl/convert_parts.h"

bool convert_is_user(const char *name)
{
	/* what begins with a slash is a regular expression in a rule */
	return name[0] != '\0' && name[0] != '/' && strcmp(name, "*") != 0 &&
	    strlen(name) < USERLIST_NAME_MAX;
}

bool convert_is_entry(const char *name)
{
	return convert_is_user(name) && strcmp(name, "pgbouncer") != 0;
}

static const struct fact *first_user(const struct convert *cv, const char *name,
    const char *users)
{
	for (size_t i = 0; i < cv->routes.count; i++) {
		const struct fact *const r = &cv->routes.at[i];

		if (strcmp(r->key, name) == 0 &&
		    facts_scope_fits(r->scope, users))
			return r;
	}
	return NULL;
}

bool convert_agrees(struct convert *cv, const struct fact *f, const char *name,
    const struct convert_same *same)
{
	const struct fact *const first = first_user(cv, name, same->users);
	char why[100];
	struct text t;

	for (size_t i = 0; first != NULL && same->keys[i].key != NULL; i++) {
		const char *const key = same->keys[i].key;
		const struct fact *const a = facts_get(&cv->in, first->scope,
		    key), *const b = facts_get(&cv->in, f->scope, key);

		if (a == NULL || b == NULL ? a == b || same->keys[i].may_lack :
		    strcmp(a->value, b->value) == 0)
			continue;
		text_init(&t, why, sizeof why);
		text_addf(&t, "not let in: %s is not that of line %u",
		    key, first->line);
		convert_remark(cv, f, why);
		return false;
	}
	return true;
}

static bool has_password(const struct convert *cv,
    const struct convert_rule_line *line)
{
	const struct fact *const known = facts_get(&cv->out, OUT_AUTH,
	    line->user);

	return known == NULL || (line->password != NULL &&
	    strcmp(known->value, line->password) == 0);
}

int convert_admit(struct convert *cv, const struct fact *f,
    const struct convert_rule_line *line)
{
	char scope[FACT_SCOPE_MAX];
	struct fact made = *f;
	struct text t;

	if (line->user[0] != '\0' && !convert_is_user(line->user)) {
		convert_remark(cv, f, "not let in: no rule has such a name");
		return 0;
	}
	made.value = line->method != NULL ? (char *)line->method : "reject";
	if (line->method != NULL && !has_password(cv, line)) {
		convert_remark(cv, f, "not let in: a user has one password for "
		    "all databases");
		made.value = "reject";
	}
	text_init(&t, scope, sizeof scope);
	text_addf(&t, OUT_RULE "%s" FACT_SEP "%s", line->database, line->user);
	return convert_say(cv, scope, OUT_METHOD, &made);
}

/* The file's password, which is that of another database, opens nothing else. */
static int except_all(struct convert *cv, const struct fact *rule)
{
	char scope[FACT_SCOPE_MAX], database[256];
	struct fact made = { .value = "reject", .line = rule->line };

	facts_word(rule->scope, 1, database, sizeof database);
	for (size_t i = 0; i < cv->out.count; i++) {
		struct text t;

		if (strcmp(cv->out.at[i].scope, OUT_AUTH) != 0)
			continue;
		text_init(&t, scope, sizeof scope);
		text_addf(&t, OUT_RULE "%s" FACT_SEP "%s", database,
		    cv->out.at[i].key);
		if (facts_get(&cv->out, scope, OUT_METHOD) != NULL)
			continue;
		made.key = "user";
		convert_remark(cv, &made, "users of the auth file are not let "
		    "in here: a user has one password for all databases");
		if (convert_say(cv, scope, OUT_METHOD, &made) < 0)
			return -1;
	}
	return 0;
}

int convert_except_listed(struct convert *cv)
{
	const size_t n = cv->out.count;
	char user[256];

	for (size_t i = 0; i < n; i++) {
		/* the list moves when it grows */
		const struct fact rule = cv->out.at[i];

		if (strncmp(rule.scope, OUT_RULE, strlen(OUT_RULE)) != 0 ||
		    facts_word(rule.scope, 2, user, sizeof user)[0] != '\0' ||
		    strcmp(rule.value, "reject") == 0 ||
		    strcmp(rule.value, "cert") == 0)
			continue;
		if (except_all(cv, &rule) < 0)
			return -1;
	}
	return 0;
}
