/* custom.h - names of custom parameters, which no view of PostgreSQL lists.
 *
 * A value has to be asked for by its parameter's name. Sessions of several
 * threads
 * may learn in one table: a name that is known stays known, wherever a server
 * or
 * a client goes.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_CUSTOM_H
#define PROTO_CUSTOM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct writer;

#define CUSTOM_MAX 100

/* All zero at first. */
struct custom {
	_Atomic(char *) names[CUSTOM_MAX];	/* owned; up to the first NULL */
};

/* Nobody else has t any more. */
void custom_fini(struct custom *t);
/* A name, as it is kept, is known from now on. False: there is no room. */
bool custom_put(struct custom *t, const char *name);
bool custom_is_full(const struct custom *t);
/* The next known name, from *at = 0 on; NULL: no more names. */
const char *custom_next(const struct custom *t, unsigned *at);

/* What a text says of the names of what it may set. */
enum custom_found {
	CUSTOM_KNOWN,		/* all of them */
	CUSTOM_HIDDEN,		/* there may be one that is not seen here */
	CUSTOM_UNKNOWN,		/* there is one that nobody can know by the text,
				 * or for which there is no room */
};

struct custom_reader {
	/* A name, as it is kept. False: no room. */
	bool (*take)(void *arg, const char *name);
	void *arg;
	const char *encoding;	/* of the text; NULL: not known */
	uint32_t bound;		/* by bits: parameters that are names */
};

/*
 * Read n bytes of a text: names behind SET, or the first argument of
 * set_config(), in all their spellings. r->bound is set.
 */
enum custom_found custom_read(struct custom_reader *r, const char *sql,
    size_t n);
/* What custom_read() sets r->bound to. */
uint32_t custom_bound(const char *sql, size_t n);
/* The names that r->bound says are in a Bind, from its format codes on. */
enum custom_found custom_read_bind(struct custom_reader *r, const void *values,
    size_t n);

/*
 * One name of a custom parameter, in whatever encoding.
 *
 * Kept it is a string: a plain name as it is, in lower case; any other one as
 * ENCODING:HEXADECIMAL, since it means the same in that encoding alone.
 */

#define CUSTOM_NAME_MAX 255

struct custom_name {
	const char *encoding;	/* borrowed; NULL: not known */
	size_t len;
	bool failed;		/* too long */
	bool plain, accented, dotted;
	char text[CUSTOM_NAME_MAX];
};

void custom_name_init(struct custom_name *n, const char *encoding);
void custom_name_add(struct custom_name *n, char ch);
/*
 * What was added from before on is one identifier: PostgreSQL cuts it after max
 * bytes. False: it is cut inside of what is not ASCII.
 */
bool custom_name_cut(struct custom_name *n, size_t before, size_t max);
/* Is it the name of a custom parameter? */
bool custom_name_is_custom(const struct custom_name *n);
bool custom_name_equals(const struct custom_name *n, const char *word);
/* It goes to r->take(), as it is kept. */
enum custom_found custom_name_take(const struct custom_name *n,
    const struct custom_reader *r);

/* One that is kept: is it plain, and the same in any encoding? */
bool custom_name_is_plain(const char *kept);
/* The SQL for one that is not. */
void custom_name_write(const char *kept, struct writer *w);
/* May text in this encoding be read byte by byte? */
bool custom_encoding_is_safe(const char *encoding);

#endif
