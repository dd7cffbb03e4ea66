/* check.c - --check: is a configuration file free of problems?
 * SPDX-License-Identifier: ISC */
#include "app/check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "conf/config.h"
#include "session/tls_setup.h"

/* Does text only tell where the problem of the line before it is? */
static bool is_place(const char *text)
{
	static const char *const starts[] = {
		"could not parse hba config line",
		"error processing include file", "invalid section \"",
		"invalid value \"",
	};

	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		if (strncmp(text, starts[i], strlen(starts[i])) == 0)
			return true;
	}
	return false;
}

static void on_problem(void *arg, enum log_level level, const char *text)
{
	unsigned *const problems = arg;

	if (level >= LEVEL_INFO) {
		printf("note: %s\n", text);
		return;
	}
	if (*problems == 0 || !is_place(text))
		(*problems)++;
	printf("%s\n", text);
}

/* What is no mistake of one line, but keeps the start from working. */
static void check_whole(struct config *c, unsigned *problems)
{
	struct err e;
	struct tls_setup *tls = tls_setup_new(c, &e);

	if (tls == NULL)
		on_problem(problems, LEVEL_ERROR, e.text);
	tls_setup_free(&tls);
	if (c->set.listen_addr[0] == '\0' && c->set.unix_socket_dir[0] == '\0')
		on_problem(problems, LEVEL_ERROR, "nowhere to listen on");
}

int check_run(const char *path)
{
	unsigned problems = 0;
	struct err e;
	struct config *seed = config_seed(0);
	struct config *c = seed == NULL ? NULL :
	    config_load(path, seed, on_problem, &problems, &e);

	if (c != NULL)
		check_whole(c, &problems);
	else if (problems == 0)
		on_problem(&problems, LEVEL_ERROR, "out of memory");
	config_unref(&c);
	config_unref(&seed);
	if (problems == 0)
		printf("%s: no problems found\n", path);
	else
		printf("%s: %u problem%s\n", path, problems,
		    problems == 1 ? "" : "s");
	return problems == 0 ? 0 : 1;
}
