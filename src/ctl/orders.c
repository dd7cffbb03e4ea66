/* orders.c - what is told to the console in a word: pause, drain ...
 * SPDX-License-Identifier: ISC */
#include "ctl/orders.h"

#include <stdbool.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"

static bool is_word(const char *s)
{
	static const char plain[] = "0123456789_"
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return s[0] != '\0' && s[strspn(s, plain)] == '\0';
}

static void add_quoted(struct text *t, const char *s, char quote)
{
	text_addf(t, "%c", quote);
	for (; *s != '\0'; s++) {
		if (*s == quote)
			text_addf(t, "%c", quote);
		text_add_bytes(t, s, 1);
	}
	text_addf(t, "%c", quote);
}

static void add_word(struct text *t, const char *s)
{
	text_add(t, " ");
	if (is_word(s))
		text_add(t, s);
	else
		add_quoted(t, s, '"');
}

/* PAUSE "my db", DRAIN HOST 'db1.example.com', SHUTDOWN WAIT_FOR_CLIENTS */
static void add_words(struct text *t, int argc, char **argv)
{
	const bool host = argc == 2 && text_casecmp(argv[0], "host") == 0;

	if (host) {
		text_add(t, " HOST ");
		add_quoted(t, argv[1], '\'');
		return;
	}
	for (int i = 0; i < argc; i++)
		add_word(t, argv[i]);
}

/* SET PERSIST default_pool_size = '30': the value may hold anything. */
static void add_setting(struct text *t, int argc, char **argv)
{
	if (argc == 3)
		add_word(t, argv[0]);
	add_word(t, argv[argc - 2]);
	text_add(t, " = ");
	add_quoted(t, argv[argc - 1], '\'');
}

/* The command, or its text, as it was typed. */
static void add_text(struct text *t, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		text_addf(t, "%s%s", t->len > 0 ? " " : "", argv[i]);
}

/* Verbs whose arguments are not just words. */
static const struct form {
	const char *verb;
	void (*add)(struct text *t, int argc, char **argv);
} forms[] = {
	{ "set", add_setting },
	{ "log", add_text },
	{ "do", add_text },
};

static void add_arguments(struct text *t, const char *verb, int argc,
    char **argv)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (strcmp(forms[i].verb, verb) == 0) {
			forms[i].add(t, argc, argv);
			return;
		}
	}
	add_words(t, argc, argv);
}

/* kill-client: KILL_CLIENT */
static void add_verb(struct text *t, const char *verb)
{
	for (const char *s = verb; *s != '\0'; s++)
		text_addf(t, "%c", *s == '-' ? '_' : *s - 'a' + 'A');
}

/* A time, not the name of a database: s begins with a digit. */
static bool is_time(const char *s)
{
	usec_t time;

	return s[0] >= '0' && s[0] <= '9' && num_parse_usec(s, &time) == 0;
}

/* Does the command begin with this word? Returns what follows; or NULL. */
static const char *behind(const char *sql, const char *word)
{
	static const char ends[] = " \t\r\n;";
	char first[32];
	struct text t;

	sql += strspn(sql, ends);
	text_init(&t, first, sizeof(first));
	text_add_bytes(&t, sql, strcspn(sql, ends));
	return text_casecmp(first, word) == 0 ? sql + t.len : NULL;
}

static enum order_end end_of(const char *sql)
{
	const char *const how = behind(sql, "shutdown");

	if (how == NULL)
		return ORDER_GOES_ON;
	return behind(how, "wait_for_clients") != NULL ? ORDER_ENDS_ALONE :
	    ORDER_ENDS;
}

enum order_end orders_compose(const char *verb, int argc, char **argv,
    struct text *t)
{
	if (strcmp(verb, "drain") == 0 && (argc == 0 ||
	    (argc == 1 && is_time(argv[0])))) {
		text_addf(t, "SHUTDOWN DRAIN%s%s", argc > 0 ? " " : "",
		    argc > 0 ? argv[0] : "");
		return ORDER_ENDS;
	}
	if (strcmp(verb, "do") != 0)
		add_verb(t, verb);
	add_arguments(t, verb, argc, argv);
	return end_of(t->at);
}
