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

/* PAUSE "my db", DRAIN HOST 'db1.example.com', SHUTDOWN WAIT_FOR_CLIENTS */
static void add_words(struct text *t, int argc, char **argv)
{
	const bool host = argc == 2 && text_casecmp(argv[0], "host") == 0;

	if (host) {
		text_add(t, " HOST ");
		add_quoted(t, argv[1], '\'');
		return;
	}
	for (int i = 0; i < argc; i++) {
		text_add(t, " ");
		if (is_word(argv[i]))
			text_add(t, argv[i]);
		else
			add_quoted(t, argv[i], '"');
	}
}

/* A time, not the name of a database: s begins with a digit. */
static bool is_time(const char *s)
{
	usec_t time;

	return s[0] >= '0' && s[0] <= '9' && num_parse_usec(s, &time) == 0;
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
	for (const char *s = verb; *s != '\0'; s++)
		text_addf(t, "%c", *s - 'a' + 'A');
	add_words(t, argc, argv);
	if (strcmp(verb, "shutdown") != 0)
		return ORDER_GOES_ON;
	return argc > 0 && text_casecmp(argv[0], "wait_for_clients") == 0 ?
	    ORDER_ENDS_ALONE : ORDER_ENDS;
}
