/* probe.h - marks for perf, bpftrace and gdb in the running program (USDT).
 *
 * A probe is one nop and a note in the file that says where its arguments are:
 * nobody listens, nothing happens. So an argument is what is known anyway: an
 * expression that calls something is none. Without <sys/sdt.h> there are none.
 * doc/where-does-the-time-go.md has the table of them; lint compares.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_PROBE_H
#define BASE_PROBE_H

#ifdef HAVE_SYS_SDT_H
#define SDT_USE_VARIADIC
#include <sys/sdt.h>

/* PROBE(query__start, id, name): at most 12 arguments, numbers and pointers. */
#define PROBE(name, ...) STAP_PROBEV(pgsluice, name, __VA_ARGS__)

#else

/* Whatever is an argument counts as used. */
static inline void probe_none(int n, ...)
{
	(void)n;
}

#define PROBE(name, ...) do {			\
	if (0)					\
		probe_none(0, __VA_ARGS__);	\
} while (0)

#endif
#endif
