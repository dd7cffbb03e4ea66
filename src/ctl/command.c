/* command.c - what the commands of pgsluicectl have to say.
 * SPDX-License-Identifier: ISC */
#include "ctl/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "ctl/terminal.h"

static void say(const char *fmt, va_list ap)
    __attribute__((format(printf, 1, 0)));

static void say(const char *fmt, va_list ap)
{
	char buf[2048];
	struct text t;

	text_init(&t, buf, sizeof(buf));
	text_vaddf(&t, fmt, ap);
	fputs("pgsluicectl: ", stderr);
	printable_lines(stderr, buf);
	fputc('\n', stderr);
}

int ctl_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return CTL_FAILED;
}

int ctl_unreachable(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return CTL_UNREACHABLE;
}

int ctl_flush(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return CTL_OK;
	/* the reader who closed stdout knows */
	return errno == EPIPE ? CTL_FAILED :
	    ctl_fail("could not write: %s", strerror(errno));
}
