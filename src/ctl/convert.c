/* convert.c - pgsluicectl convert: the files of other poolers.
 * SPDX-License-Identifier: ISC */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/input.h"
#include "conf/file.h"
#include "ctl/command.h"
#include "ctl/convert_parts.h"

enum { INI, AUTH, HBA, FILES };

static const char *const names[FILES] = {
	[INI] = "pgsluice.ini", [AUTH] = "userlist.txt", [HBA] = "hba.conf",
};

struct made {
	char path[PATH_MAX + 32];
	FILE *file;		/* NULL: it is not made by us */
};

/* For its owner alone: there are passwords in it. */
static int make_file(struct made *m)
{
	const int fd = open(m->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    S_IRUSR | S_IWUSR);

	m->file = fd < 0 ? NULL : fdopen(fd, "w");
	return m->file != NULL ? CTL_OK : ctl_fail("could not make %s: %s",
	    m->path, strerror(errno));
}

static int make_files(struct made *made, const char *folder)
{
	for (int i = 0; i < FILES; i++) {
		snprintf(made[i].path, sizeof made[i].path, "%s/%s", folder,
		    names[i]);
		if (make_file(&made[i]) != CTL_OK)
			return CTL_FAILED;
	}
	return CTL_OK;
}

static int close_files(struct made *made)
{
	int rc = CTL_OK;

	for (int i = 0; i < FILES; i++) {
		if (made[i].file == NULL)
			continue;
		const bool failed = ferror(made[i].file) != 0;

		if (fclose(made[i].file) != 0 || failed)
			rc = ctl_fail("could not write %s", made[i].path);
	}
	return rc;
}

static int write_all(const struct convert *cv, const char *folder)
{
	struct made made[FILES] = { 0 };
	char real[PATH_MAX];

	if (realpath(folder, real) == NULL)
		return ctl_fail("could not find %s: %s", folder,
		    strerror(errno));
	int rc = make_files(made, real);

	if (rc == CTL_OK)
		convert_write(&cv->out, &(struct convert_files){
		    made[INI].file, made[AUTH].file, made[HBA].file },
		    made[AUTH].path, made[HBA].path);
	if (close_files(made) != CTL_OK)
		rc = CTL_FAILED;
	if (rc != CTL_OK) {
		for (int i = 0; i < FILES && made[i].file != NULL; i++)
			unlink(made[i].path);
		return rc;
	}
	printf("%s, userlist.txt and hba.conf are written, with %zu remarks.\n"
	    "Next: pgsluicectl check %s\n", made[INI].path,
	    cv->remarks.count, made[INI].path);
	return ctl_flush();
}

static int convert_text(struct convert *cv, const char *text)
{
	const int rc = convert_read(cv, text);

	convert_print_remarks(cv);
	if (rc < 0)
		return ctl_fail("%s: %s", cv->path, cv->e->text);
	return cv->routes.count > 0 ? CTL_OK :
	    ctl_fail("%s has no pool, and no database with a storage",
	    cv->path);
}

static int convert(const struct ctl_options *o, int argc, char **argv)
{
	struct file_text file = { .at = NULL };
	struct err e;
	struct convert cv = { .path = argv[0], .e = &e };

	(void)o;
	(void)argc;
	if (file_read(argv[0], &file) != 0)
		return ctl_fail("could not read %s: %s", argv[0],
		    input_why(errno));
	int rc = strlen(file.at) != file.len ?
	    ctl_fail("%s has a NUL byte in it", argv[0]) :
	    convert_text(&cv, file.at);

	if (rc == CTL_OK)
		rc = write_all(&cv, argv[1]);
	facts_fini(&cv.remarks);
	facts_fini(&cv.in);
	facts_fini(&cv.out);
	facts_fini(&cv.routes);
	file_text_fini(&file);
	return rc;
}

const struct ctl_command *convert_commands(void)
{
	static const struct ctl_command commands[] = {
		{ "convert", NULL, "FILE FOLDER",
		    "write the configuration of PgCat or Odyssey anew",
		    2, 2, convert, 0 },
		{ .group = NULL },
	};

	return commands;
}
