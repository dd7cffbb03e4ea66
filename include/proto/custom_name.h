/* custom_name.h - one name of a custom parameter, in whatever encoding.
 *
 * Kept it is a string: a plain name as it is, in lower case; any other one as
 * ENCODING:HEXADECIMAL, since it means the same in that encoding alone.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_CUSTOM_NAME_H
#define PROTO_CUSTOM_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/custom.h"

struct writer;

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
