/* convert_rules.c - rows of a table, applied to a configuration.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "ctl/convert_parts.h"
#include "ctl/printable.h"

void convert_remark(struct convert *cv, const struct fact *f, const char *why)
{
	const struct fact made = { "", f->key, (char *)why, f->line };

	/* one setting may be that of several entries */
	for (size_t i = 0; i < cv->remarks.count; i++) {
		const struct fact *const old = &cv->remarks.at[i];

		if (old->line == f->line && strcmp(old->value, why) == 0)
			return;
	}
	if (facts_add(&cv->remarks, &made, NULL) < 0)
		cv->remarks_lost = true;
}

static int by_line(const void *a, const void *b)
{
	const struct fact *const one = a, *const other = b;

	return one->line != other->line ?
	    (one->line > other->line) - (one->line < other->line) :
	    strcmp(one->value, other->value);
}

void convert_print_remarks(struct convert *cv)
{
	if (cv->remarks.count > 0)
		qsort(cv->remarks.at, cv->remarks.count, sizeof(struct fact),
		    by_line);
	for (size_t i = 0; i < cv->remarks.count; i++) {
		const struct fact *const f = &cv->remarks.at[i];

		printable_put(stderr, cv->path);
		fprintf(stderr, ":%u: ", f->line);
		printable_put(stderr, f->key);
		fputs(": ", stderr);
		printable_put(stderr, f->value);
		fputc('\n', stderr);
	}
	if (cv->remarks_lost)
		fputs("out of memory: there is more that is not told\n",
		    stderr);
}

int convert_say(struct convert *cv, const char *scope, const char *key,
    const struct fact *f)
{
	const struct fact *const old = facts_get(&cv->out, scope, key);
	const struct fact made = { (char *)scope, (char *)key, f->value,
	    f->line };
	char why[64];
	struct text t;

	if (old == NULL)
		return facts_add(&cv->out, &made, cv->e);
	if (strcmp(old->value, f->value) == 0)
		return 0;
	text_init(&t, why, sizeof why);
	text_addf(&t, "line %u says another value, which counts", old->line);
	convert_remark(cv, f, why);
	return 0;
}

int convert_route(struct convert *cv, const struct fact *f, const char *name)
{
	struct fact copy = *f;

	copy.key = (char *)name;
	return facts_add(&cv->routes, &copy, cv->e);
}

static int put_value(struct convert *cv, const char *scope,
    const struct convert_rule *rule, const struct fact *f)
{
	char value[4200];
	struct text t;
	const bool number = f->value[0] != '\0' &&
	    f->value[strspn(f->value, "0123456789")] == '\0';

	text_init(&t, value, sizeof value);
	text_addf(&t, "%s%s", f->value, rule->unit != NULL && number &&
	    strcmp(f->value, "0") != 0 ? rule->unit : "");
	struct fact made = *f;

	made.value = value;
	return convert_say(cv, scope, rule->to, &made);
}

/* Every entry that came from f's scope, or from below it. */
static int put_entries(struct convert *cv, const struct convert_rule *rule,
    const struct fact *f)
{
	const size_t len = strlen(f->scope);

	for (size_t i = 0; i < cv->routes.count; i++) {
		const struct fact *const r = &cv->routes.at[i];
		char scope[FACT_SCOPE_MAX];
		struct text t;

		if (strncmp(r->scope, f->scope, len) != 0 ||
		    (r->scope[len] != '\0' && r->scope[len] != FACT_SEP[0]))
			continue;
		text_init(&t, scope, sizeof scope);
		text_addf(&t, OUT_ENTRY "%s", r->key);
		if (put_value(cv, scope, rule, f) < 0)
			return -1;
	}
	return 0;
}

static const struct convert_rule *find(const struct convert_rule *rules,
    const struct fact *f)
{
	for (; rules->scope != NULL; rules++) {
		if (strcmp(rules->key, f->key) == 0 &&
		    facts_scope_fits(f->scope, rules->scope))
			return rules;
	}
	return NULL;
}

static int apply(struct convert *cv, const struct convert_rule *rule,
    const struct fact *f)
{
	switch (rule->place) {
	case TO_SETTING:
		return put_value(cv, OUT_SETTINGS, rule, f);
	case TO_LIMIT:
		if (strcmp(f->value, "0") == 0) {
			convert_remark(cv, f, "0 is no limit there; here a "
			    "limit must be chosen, see default_pool_size");
			return 0;
		}
		/* fallthrough */
	case TO_ENTRY:
		return put_entries(cv, rule, f);
	case LEFT_OUT:
		convert_remark(cv, f, rule->to);
		return 0;
	case BY_CODE:
		break;
	}
	return 0;
}

int convert_by_rules(struct convert *cv, const struct convert_rule *rules)
{
	for (size_t i = 0; i < cv->in.count; i++) {
		const struct fact *const f = &cv->in.at[i];
		const struct convert_rule *const rule = find(rules, f);

		if (rule == NULL)
			convert_remark(cv, f, "not converted");
		else if (apply(cv, rule, f) < 0)
			return -1;
	}
	return 0;
}
