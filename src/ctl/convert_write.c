/* convert_write.c - what convert has made, as files.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "ctl/convert_parts.h"

/* In double quotes; in an ini file, where it would be mistaken otherwise. */
static void put_quoted(FILE *f, const char *s, char quote)
{
	fputc(quote, f);
	for (; *s != '\0'; s++) {
		if (*s == quote)
			fputc(quote, f);
		fputc(*s, f);
	}
	fputc(quote, f);
}

static bool is_plain(const char *s)
{
	return *s != '\0' && s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:/*-")] == '\0';
}

static void put_line(FILE *f, const struct facts *out, const char *scope)
{
	char name[256];

	facts_word(scope, 1, name, sizeof name);
	if (strcmp(name, "*") == 0 || (is_plain(name) &&
	    strpbrk(name, "*.,:/") == NULL))
		fputs(name, f);
	else
		put_quoted(f, name, '"');
	fputs(" =", f);
	for (size_t i = 0; i < out->count; i++) {
		const struct fact *const one = &out->at[i];

		if (strcmp(one->scope, scope) != 0)
			continue;
		fprintf(f, " %s=", one->key);
		if (is_plain(one->value))
			fputs(one->value, f);
		else
			put_quoted(f, one->value, '\'');
	}
	fputc('\n', f);
}

static bool is_seen(const struct facts *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(out->at[i].scope, out->at[n].scope) == 0)
			return true;
	}
	return false;
}

static void put_section(FILE *f, const struct facts *out, const char *name)
{
	const size_t len = strlen(name);
	bool begun = false;

	for (size_t i = 0; i < out->count; i++) {
		const char *const scope = out->at[i].scope;

		if (strncmp(scope, name, len) != 0 ||
		    scope[len] != FACT_SEP[0] || is_seen(out, i))
			continue;
		if (!begun)
			fprintf(f, "[%s]\n", name);
		begun = true;
		put_line(f, out, scope);
	}
	if (begun)
		fputc('\n', f);
}

static void put_ini(FILE *f, const struct facts *out, const char *auth_path,
    const char *hba_path)
{
	put_section(f, out, "databases");
	put_section(f, out, "users");
	fputs("[pgbouncer]\n", f);
	fprintf(f, "auth_type = hba\nauth_hba_file = %s\nauth_file = %s\n",
	    hba_path, auth_path);
	for (size_t i = 0; i < out->count; i++) {
		if (out->at[i].scope[0] == '\0')
			fprintf(f, "%s = %s\n", out->at[i].key,
			    out->at[i].value);
	}
}

static void put_auth(FILE *f, const struct facts *out)
{
	fputs("; user and password\n", f);
	for (size_t i = 0; i < out->count; i++) {
		if (strcmp(out->at[i].scope, OUT_AUTH) != 0)
			continue;
		put_quoted(f, out->at[i].key, '"');
		fputc(' ', f);
		put_quoted(f, out->at[i].value, '"');
		fputc('\n', f);
	}
}

/* --- rules --- */

/* A word of its own, which no keyword is mistaken for; "": all. */
static void put_word(FILE *f, const char *name)
{
	fputc(' ', f);
	if (name[0] == '\0')
		fputs("all", f);
	else
		put_quoted(f, name, '"');
}

static void put_rule(FILE *f, const struct facts *out, const struct fact *rule)
{
	char word[256];

	/* a certificate is shown over TLS, which no Unix socket has */
	const bool local = strcmp(rule->value, "cert") != 0 &&
	    facts_get(out, OUT_SETTINGS, "unix_socket_dir") != NULL;

	for (int i = local ? 0 : 1; i < 2; i++) {
		fputs(i == 0 ? "local" : "host", f);
		put_word(f, facts_word(rule->scope, 1, word, sizeof word));
		put_word(f, facts_word(rule->scope, 2, word, sizeof word));
		fprintf(f, "%s %s\n", i == 0 ? "" : " all", rule->value);
	}
}

static bool is_rule(const struct fact *f)
{
	return strncmp(f->scope, OUT_RULE, strlen(OUT_RULE)) == 0;
}

/* The rules of one database: those of all users come behind those of one. */
static void put_database(FILE *f, const struct facts *out, const char *name)
{
	char word[256];
	bool open = false;

	for (int all = 0; all < 2; all++) {
		for (size_t i = 0; i < out->count; i++) {
			const struct fact *const one = &out->at[i];

			if (!is_rule(one) || strcmp(name, facts_word(one->scope,
			    1, word, sizeof word)) != 0)
				continue;
			facts_word(one->scope, 2, word, sizeof word);
			if ((word[0] == '\0') != (all == 1))
				continue;
			put_rule(f, out, one);
			open |= all == 1;
		}
	}
	if (!open) {
		char scope[FACT_SCOPE_MAX];

		snprintf(scope, sizeof scope, OUT_RULE "%s" FACT_SEP, name);
		put_rule(f, out, &(struct fact){ scope, NULL, "reject", 0 });
	}
}

static bool is_new_database(const struct facts *out, size_t n, const char *name)
{
	char word[256];

	for (size_t i = 0; i < n; i++) {
		if (is_rule(&out->at[i]) && strcmp(name, facts_word(
		    out->at[i].scope, 1, word, sizeof word)) == 0)
			return false;
	}
	return true;
}

/* The first rule that fits counts: those of all databases come last. */
static void put_hba(FILE *f, const struct facts *out)
{
	char name[256];

	fputs("# who may log in to which database, and how\n", f);
	put_database(f, out, "pgbouncer");
	for (size_t i = 0; i < out->count; i++) {
		if (!is_rule(&out->at[i]))
			continue;
		facts_word(out->at[i].scope, 1, name, sizeof name);
		if (name[0] != '\0' && strcmp(name, "pgbouncer") != 0 &&
		    is_new_database(out, i, name))
			put_database(f, out, name);
	}
	put_database(f, out, "");
}

void convert_write(const struct facts *out, const struct convert_files *to,
    const char *auth_path, const char *hba_path)
{
	put_ini(to->ini, out, auth_path, hba_path);
	put_auth(to->auth, out);
	put_hba(to->hba, out);
}
