/* facts.c - a configuration as a list: where, what, and from which line.
 * SPDX-License-Identifier: ISC */
#include "ctl/facts.h"

#include <string.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

/* but: one that may be there, or NUL */
static bool has_control(const char *s, char but)
{
	for (; *s != '\0'; s++) {
		if (*s != but && text_control(s, 1) != 0)
			return true;
	}
	return false;
}

static void fact_fini(struct fact *f)
{
	if (f->value != NULL)
		secret_wipe(f->value, strlen(f->value));
	mem_free(f->scope);
	mem_free(f->key);
	mem_free(f->value);
}

int facts_add(struct facts *f, const struct fact *fact, struct err *e)
{
	if (has_control(fact->scope, FACT_SEP[0]) ||
	    has_control(fact->key, '\0') || has_control(fact->value, '\0'))
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "line %u: a control character", fact->line);
	struct fact *const more = mem_resize(f->at,
	    (f->count + 1) * sizeof *more);
	if (more == NULL)
		return err_nomem(e);
	f->at = more;

	struct fact *const n = &more[f->count];
	*n = (struct fact){
		.scope = mem_strdup(fact->scope),
		.key = mem_strdup(fact->key),
		.value = mem_strdup(fact->value),
		.line = fact->line,
	};
	if (n->scope == NULL || n->key == NULL || n->value == NULL) {
		fact_fini(n);
		return err_nomem(e);
	}
	f->count++;
	return 0;
}

const struct fact *facts_get(const struct facts *f, const char *scope,
    const char *key)
{
	for (size_t i = 0; i < f->count; i++) {
		if (strcmp(f->at[i].scope, scope) == 0 &&
		    strcmp(f->at[i].key, key) == 0)
			return &f->at[i];
	}
	return NULL;
}

bool facts_scope_fits(const char *scope, const char *pattern)
{
	while (*pattern != '\0') {
		const size_t have = strcspn(scope, FACT_SEP);
		const size_t want = strcspn(pattern, FACT_SEP);

		if (*scope == '\0' || (strncmp(pattern, "*", want) != 0 &&
		    (have != want || strncmp(scope, pattern, want) != 0)))
			return false;
		scope += have + (scope[have] != '\0');
		pattern += want + (pattern[want] != '\0');
	}
	return *scope == '\0';
}

const char *facts_word(const char *scope, unsigned nth, char *buf,
    size_t size)
{
	struct text t;

	for (; nth > 0 && *scope != '\0'; nth--) {
		scope += strcspn(scope, FACT_SEP);
		scope += *scope != '\0';
	}
	text_init(&t, buf, size);
	text_add_bytes(&t, scope, strcspn(scope, FACT_SEP));
	return buf;
}

void facts_fini(struct facts *f)
{
	for (size_t i = 0; i < f->count; i++)
		fact_fini(&f->at[i]);
	mem_free(f->at);
	*f = (struct facts){ .at = NULL };
}
