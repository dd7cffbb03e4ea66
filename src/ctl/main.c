/* main.c - pgsluicectl, the companion command.
 * SPDX-License-Identifier: ISC */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "ctl/command.h"
#include "proto/scram_verifier.h"

#define ITERATIONS 4096		/* as PostgreSQL, and scram_iterations */

int ctl_fail(const char *fmt, ...)
{
	va_list ap;

	fputs("pgsluicectl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return CTL_FAILED;
}

static int wrong(const struct ctl_options *o, const char *why)
{
	fprintf(stderr, "%s: %s\nTry \"%s --help\" for more information.\n",
	    o->program, why, o->program);
	return CTL_USAGE;
}

static int usage(const struct ctl_options *o)
{
	const struct ctl_command *c;

	printf("Usage: %s [OPTION]... COMMAND ARGUMENT...\n"
	    "Looks after what pgsluice needs.\n\nCommands:\n", o->program);
	for (c = userlist_commands(); c->group != NULL; c++)
		printf("  %s %s %s\n      %s\n", c->group, c->name, c->args,
		    c->help);
	printf("\nOptions:\n"
	    "  -i, --iterations=N  cost of new SCRAM secrets (%d)\n"
	    "  -n, --no-password   add: the user gets no secret, which is for "
	    "trust,\n"
	    "                      cert and peer\n"
	    "  -V, --version       print the version, and exit\n"
	    "  -h, --help          print this, and exit\n\n"
	    "A password is asked for, or read from standard input when that "
	    "is no terminal.\n"
	    "Exit codes: 0 done, 1 failed and nothing changed, 2 wrong "
	    "usage.\n", ITERATIONS);
	return CTL_OK;
}

static const struct ctl_command *find(const char *group, const char *name)
{
	const struct ctl_command *c = userlist_commands();

	while (c->group != NULL && (strcmp(c->group, group) != 0 ||
	    strcmp(c->name, name) != 0))
		c++;
	return c->group != NULL ? c : NULL;
}

static int run(const struct ctl_options *o, int argc, char **argv)
{
	const struct ctl_command *const c = argc < 2 ? NULL :
	    find(argv[0], argv[1]);

	if (argc < 2)
		return wrong(o, "no command specified");
	if (c == NULL)
		return wrong(o, "unknown command");
	argc -= 2;
	argv += 2;
	if (argc < c->min_args)
		return wrong(o, "an argument is missing");
	if (c->max_args >= 0 && argc > c->max_args)
		return wrong(o, "too many arguments");
	return c->run(o, argc, argv);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "iterations", required_argument, NULL, 'i' },
		{ "no-password", no_argument, NULL, 'n' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	struct ctl_options o = {
		.program = argc > 0 ? argv[0] : "pgsluicectl",
		.iterations = ITERATIONS,
	};
	uint32_t n;
	int c;

	while ((c = getopt_long(argc, argv, "hi:nV", options, NULL)) != -1) {
		switch (c) {
		case 'i':
			if (num_parse_u32(optarg, &n) != 0 || n < 1 ||
			    n > SCRAM_ITERATIONS_MAX)
				return wrong(&o, "bad number of iterations");
			o.iterations = (int)n;
			break;
		case 'n': o.no_password = 1; break;
		case 'h': return usage(&o);
		case 'V': puts("pgsluicectl " PACKAGE_VERSION); return CTL_OK;
		default: return wrong(&o, "wrong options");
		}
	}
	return run(&o, argc - optind, argv + optind);
}
