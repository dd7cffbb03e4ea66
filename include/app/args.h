/* args.h - the command line.
 * SPDX-License-Identifier: ISC */
#ifndef APP_ARGS_H
#define APP_ARGS_H

struct app_args;

enum args_verdict {
	ARGS_RUN,
	ARGS_CHECK,	/* --check: look at the configuration only */
	ARGS_DONE,	/* -h, -V: answered */
	ARGS_WRONG,	/* told on stderr */
};

/* (spec/config-files.md section 14) Strings in out are borrowed from argv. */
enum args_verdict args_parse(int argc, char **argv, struct app_args *out);

#endif
