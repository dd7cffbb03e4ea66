/* args.c - the command line.
 * SPDX-License-Identifier: ISC */
#include "app/args.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

#include "app/app.h"
#include "app/notify.h"
#include "base/err.h"
#include "conf/config.h"
#include "console/version.h"
#include "io/library.h"
#include "io/poller.h"

#define ARG_CHECK 256		/* no short form */

static const struct option options[] = {
	{ "check", no_argument, NULL, ARG_CHECK },
	{ "daemon", no_argument, NULL, 'd' },
	{ "help", no_argument, NULL, 'h' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "reboot", no_argument, NULL, 'R' },
	{ "user", required_argument, NULL, 'u' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static void usage(const char *argv0)
{
	printf("Usage: %s [OPTION]... FILE\n"
	    "Pools PostgreSQL connections as FILE says.\n\n"
	    "  -d, --daemon         run in the background\n"
	    "  -q, --quiet          write no log to stderr\n"
	    "  -R, --reboot         take over from the process that runs\n"
	    "  -u, --user=NAME      run as this user of the system\n"
	    "  -v, --verbose        log more; may be repeated\n"
	    "      --check          check FILE, print every problem, and exit\n"
	    "  -V, --version        print the version, and exit\n"
	    "  -h, --help           print this, and exit\n", argv0);
}

static void on_problem(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	(void)text;
}

/* Which release is announced where path is used; NULL: nobody knows. */
static enum console_version announced(const char *path)
{
	struct err e;
	struct config *seed = config_seed(0);
	struct config *c = path == NULL || seed == NULL ? NULL :
	    config_load(path, seed, on_problem, NULL, &e);
	const struct config *const from = c != NULL ? c : seed;
	const enum console_version v = from == NULL ? CONSOLE_1_25 :
	    (enum console_version)from->set.console_version;

	config_unref(&c);
	config_unref(&seed);
	return v;
}

static void print_version(const char *path)
{
	printf("%s\nlibevent %s\nadns: %s\ntls: %s\n",
	    version_of(announced(path))->text, library_libevent(),
	    library_dns(), library_tls());
	if (notify_is_built())
		printf("systemd: yes\n");
	printf("poller: %s\n", poller_name());
}

static enum args_verdict wrong(const char *argv0, const char *why)
{
	if (why != NULL)
		fprintf(stderr, "%s: %s\n", argv0, why);
	fprintf(stderr, "Try \"%s --help\" for more information.\n", argv0);
	return ARGS_WRONG;
}

enum args_verdict args_parse(int argc, char **argv, struct app_args *out)
{
	enum args_verdict verdict = ARGS_RUN;
	bool version = false;
	int c;

	*out = (struct app_args){ .path = NULL };
	while ((c = getopt_long(argc, argv, "dhqRu:vV", options,
	    NULL)) != -1) {
		switch (c) {
		case ARG_CHECK: verdict = ARGS_CHECK; break;
		case 'd': out->daemon = true; break;
		case 'q': out->quiet = true; break;
		case 'R': out->reboot = true; break;
		case 'u': out->user = optarg; break;
		case 'v': out->verbose++; break;
		case 'h': usage(argv[0]); return ARGS_DONE;
		case 'V': version = true; break;
		default: return wrong(argv[0], NULL);
		}
	}
	if (version) {
		print_version(argv[optind]);
		return ARGS_DONE;
	}
	if (optind != argc - 1)
		return wrong(argv[0], "no configuration file specified "
		    "(as in \"pgsluice pgsluice.ini\"; one, and last)");
	out->path = argv[optind];
	return verdict;
}
