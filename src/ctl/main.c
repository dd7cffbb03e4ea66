/* main.c - pgsluicectl, the companion command.
 * SPDX-License-Identifier: ISC */
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "conf/words.h"
#include "ctl/command.h"
#include "ctl/terminal.h"
#include "proto/scram_verifier.h"

#define ITERATIONS 4096		/* as PostgreSQL, and scram_iterations */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* In the order of --help. */
static const struct ctl_command *(*const groups[])(void) = {
	status_commands,
	top_commands,
	show_commands,
	order_commands,
	wait_ready_commands,
	check_commands,
	program_commands,
	userlist_commands,
};

static int wrong(const struct ctl_options *o, const char *why)
{
	fprintf(stderr, "%s: %s\nTry \"%s --help\" for more information.\n",
	    o->program, why, o->program);
	return CTL_USAGE;
}

static void usage_commands(void)
{
	for (size_t g = 0; g < COUNT(groups); g++) {
		for (const struct ctl_command *c = groups[g]();
		    c->group != NULL; c++)
			printf("  %s%s%s%s%s\n      %s\n", c->group,
			    c->name != NULL ? " " : "",
			    c->name != NULL ? c->name : "",
			    c->args[0] != '\0' ? " " : "", c->args, c->help);
	}
}

static int usage(const struct ctl_options *o)
{
	printf("Usage: %s [OPTION]... COMMAND [ARGUMENT]...\n"
	    "Control and monitor pgsluice.\n\nCommands:\n", o->program);
	usage_commands();
	printf("\nOptions of commands that use the console:\n"
	    "  -c, --config=FILE    the ini file of the pooler\n"
	    "  -d, --dbname=CONNINFO  the console, in the form of psql\n"
	    "  -U, --username=NAME  the user to log in as\n"
	    "      --json, --csv    show: the format of the answer\n"
	    "  -w, --watch=SECONDS  show, top: repeat after this time\n"
	    "  -t, --timeout=SECONDS  wait-ready: give up after this time (60)\n"
	    "\nOptions of profile:\n"
	    "  -s, --seconds=N      how long (10)\n"
	    "  -p, --pid=PID        of this process; else of --config's "
	    "pidfile, else\n"
	    "      --pattern=TEXT   of the one with this in its command line\n"
	    "      --off-cpu        what it waited for, not what it did\n"
	    "  -o, --output=DIR     write stacks and a flame graph there\n"
	    "\nOptions of userlist add:\n"
	    "  -i, --iterations=N   cost of new SCRAM secrets (%d)\n"
	    "  -n, --no-password    the user gets no secret, which is for "
	    "trust,\n"
	    "                       cert and peer\n"
	    "\n"
	    "  -V, --version        print the version, and exit\n"
	    "  -h, --help           print this, and exit\n\n"
	    "Without --config, PG* variables tell where the console is, else\n"
	    "/etc/pgsluice/pgsluice.ini. A password is asked for on a "
	    "terminal.\n"
	    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 the console "
	    "cannot be\nreached, 4 it answers, but is not well or ready.\n",
	    ITERATIONS);
	return ctl_flush();
}

/* --- the command line --- */

static bool is_meant(const struct ctl_command *c, int argc, char **argv)
{
	return strcmp(c->group, argv[0]) == 0 && (c->name == NULL ||
	    (argc > 1 && strcmp(c->name, argv[1]) == 0));
}

static const struct ctl_command *find(int argc, char **argv)
{
	for (size_t g = 0; g < COUNT(groups); g++) {
		for (const struct ctl_command *c = groups[g]();
		    c->group != NULL; c++) {
			if (is_meant(c, argc, argv))
				return c;
		}
	}
	return NULL;
}

/* Of a group of its own, or of this one: what argv may have meant. */
static const char *nearest_command(char **argv, bool inside)
{
	struct nearest n;

	nearest_init(&n, argv[inside ? 1 : 0]);
	for (size_t g = 0; g < COUNT(groups); g++) {
		for (const struct ctl_command *c = groups[g]();
		    c->group != NULL; c++) {
			if (!inside)
				nearest_offer(&n, c->group);
			else if (strcmp(c->group, argv[0]) == 0)
				nearest_offer(&n, c->name);
		}
	}
	return n.best;
}

static int unknown(const struct ctl_options *o, char **argv)
{
	const bool inside = strcmp(argv[0], "userlist") == 0;
	const char *const best = nearest_command(argv, inside);
	char why[256];
	struct text t;

	text_init(&t, why, sizeof why);
	text_add(&t, "unknown command \"");
	printable_add(&t, argv[inside ? 1 : 0], 40);
	text_add(&t, "\"");
	if (best != NULL)
		text_addf(&t, ", did you mean \"%s\"?", best);
	return wrong(o, why);
}

static const struct option options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "csv", no_argument, NULL, 'v' },
	{ "dbname", required_argument, NULL, 'd' },
	{ "help", no_argument, NULL, 'h' },
	{ "iterations", required_argument, NULL, 'i' },
	{ "json", no_argument, NULL, 'j' },
	{ "no-password", no_argument, NULL, 'n' },
	{ "off-cpu", no_argument, NULL, 'O' },
	{ "output", required_argument, NULL, 'o' },
	{ "pattern", required_argument, NULL, 'P' },
	{ "pid", required_argument, NULL, 'p' },
	{ "seconds", required_argument, NULL, 's' },
	{ "timeout", required_argument, NULL, 't' },
	{ "username", required_argument, NULL, 'U' },
	{ "version", no_argument, NULL, 'V' },
	{ "watch", required_argument, NULL, 'w' },
	{ NULL, 0, NULL, 0 },
};

static const char *set_iterations(struct ctl_options *o, const char *arg)
{
	uint32_t n;

	if (num_parse_u32(arg, &n) != 0 || n < 1 || n > SCRAM_ITERATIONS_MAX)
		return "bad number of iterations";
	o->iterations = (int)n;
	return NULL;
}

static const char *set_no_password(struct ctl_options *o, const char *arg)
{
	(void)arg;
	o->no_password = 1;
	return NULL;
}

static const char *set_config(struct ctl_options *o, const char *arg)
{
	o->config = arg;
	return NULL;
}

static const char *set_conninfo(struct ctl_options *o, const char *arg)
{
	o->conninfo = arg;
	return NULL;
}

static const char *set_user(struct ctl_options *o, const char *arg)
{
	o->user = arg;
	return NULL;
}

static const char *set_form(struct ctl_options *o, enum ctl_form form)
{
	if (o->form != FORM_TABLE && o->form != form)
		return "--json and --csv exclude each other";
	o->form = form;
	return NULL;
}

static const char *set_json(struct ctl_options *o, const char *arg)
{
	(void)arg;
	return set_form(o, FORM_JSON);
}

static const char *set_csv(struct ctl_options *o, const char *arg)
{
	(void)arg;
	return set_form(o, FORM_CSV);
}

static const char *set_time(usec_t *out, const char *arg)
{
	return num_parse_usec(arg, out) != 0 || *out < USEC / 10 ||
	    *out > 86400 * USEC ? "bad number of seconds" : NULL;
}

static const char *set_watch(struct ctl_options *o, const char *arg)
{
	return set_time(&o->watch, arg);
}

static const char *set_timeout(struct ctl_options *o, const char *arg)
{
	return set_time(&o->timeout, arg);
}

static const char *set_seconds(struct ctl_options *o, const char *arg)
{
	return set_time(&o->seconds, arg);
}

static const char *set_pid(struct ctl_options *o, const char *arg)
{
	uint32_t n;

	if (num_parse_u32(arg, &n) != 0 || n < 1 || n > INT_MAX)
		return "bad number of a process";
	o->pid = (pid_t)n;
	return NULL;
}

static const char *set_pattern(struct ctl_options *o, const char *arg)
{
	o->pattern = arg;
	return NULL;
}

static const char *set_off_cpu(struct ctl_options *o, const char *arg)
{
	(void)arg;
	o->off_cpu = true;
	return NULL;
}

static const char *set_output(struct ctl_options *o, const char *arg)
{
	o->output = arg;
	return NULL;
}

/* The effect of an option; set() returns the text of an error, or NULL. */
static const struct effect {
	int letter;
	unsigned takes;
	const char *(*set)(struct ctl_options *o, const char *arg);
} effects[] = {
	{ 'c', TAKES_CONFIG, set_config },
	{ 'd', TAKES_CONSOLE, set_conninfo },
	{ 'U', TAKES_CONSOLE, set_user },
	{ 'j', TAKES_FORM, set_json },
	{ 'v', TAKES_FORM, set_csv },
	{ 'w', TAKES_WATCH, set_watch },
	{ 't', TAKES_TIMEOUT, set_timeout },
	{ 'i', TAKES_SECRET, set_iterations },
	{ 'n', TAKES_SECRET, set_no_password },
	{ 's', TAKES_PROFILE, set_seconds },
	{ 'p', TAKES_PROFILE, set_pid },
	{ 'P', TAKES_PROFILE, set_pattern },
	{ 'O', TAKES_PROFILE, set_off_cpu },
	{ 'o', TAKES_PROFILE, set_output },
};

static const struct effect *effect_of(int letter)
{
	for (size_t i = 0; i < COUNT(effects); i++) {
		if (effects[i].letter == letter)
			return &effects[i];
	}
	return NULL;
}

static int run(const struct ctl_options *o, unsigned used, int argc,
    char **argv)
{
	const struct ctl_command *const c = argc < 1 ? NULL :
	    find(argc, argv);
	const int words = c != NULL && c->name != NULL ? 2 : 1;

	if (argc < 1 || (c == NULL && argc < 2 &&
	    strcmp(argv[0], "userlist") == 0))
		return wrong(o, "no command specified");
	if (c == NULL)
		return unknown(o, argv);
	argc -= words;
	argv += words;
	if (argc < c->min_args)
		return wrong(o, "an argument is missing");
	if (c->max_args >= 0 && argc > c->max_args)
		return wrong(o, "too many arguments");
	if ((used & ~c->takes) != 0)
		return wrong(o, "the command has no such option");
	struct ctl_options chosen = *o;

	chosen.verb = c->group;
	return c->run(&chosen, argc, argv);
}

int main(int argc, char **argv)
{
	struct ctl_options o = {
		.program = argc > 0 ? argv[0] : "pgsluicectl",
		.iterations = ITERATIONS,
	};
	unsigned used = 0;
	int c;

	terminal_locale();
	while ((c = getopt_long(argc, argv, "c:d:hi:no:p:s:t:U:Vw:", options,
	    NULL)) != -1) {
		const struct effect *const effect = effect_of(c);
		const char *why = "wrong options";

		if (c == 'h')
			return usage(&o);
		if (c == 'V') {
			puts("pgsluicectl " PACKAGE_VERSION);
			return ctl_flush();
		}
		if (effect != NULL) {
			used |= effect->takes;
			why = effect->set(&o, optarg);
		}
		if (why != NULL)
			return wrong(&o, why);
	}
	return run(&o, used, argc - optind, argv + optind);
}
