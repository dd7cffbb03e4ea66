/* hba_regex.h - PostgreSQL's regular expressions, as far as names need them.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_HBA_REGEX_H
#define CONF_HBA_REGEX_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct hba_regex;

/* Does something fit? In uncertain a rule that rejects does, and no other. */
enum hba_fit { HBA_DIFFERS, HBA_FITS, HBA_DOUBT };

/*
 * Compile a pattern, which is not anchored. What PostgreSQL has and the C
 * library has not (lookahead, back-references, non-greedy quantifiers) or
 * reads in another way is an error, which quotes the place. NULL with e (53200:
 * no memory).
 * Source: PostgreSQL docs, POSIX Regular Expressions, Regular Expression
 *         Details; bytes are characters, as before a database is chosen.
 */
struct hba_regex *hba_regex_new(const char *pattern, size_t len,
    struct err *e);
void hba_regex_free(struct hba_regex **r);

enum hba_fit hba_regex_fits(const struct hba_regex *r, const char *s);

/*
 * Has the pattern a group in parentheses, of which it is certain what it takes?
 * Not if it is repeated or stands in one branch of several; nor if it has branches
 * itself, unless ^ and $ are around it and all else takes one text; nor if any
 * group with quantifiers in it is repeated.
 */
bool hba_regex_has_group(const struct hba_regex *r);
/*
 * As hba_regex_fits(), and if it fits what the first group has matched. Only for a
 * pattern that has one, see above.
 */
enum hba_fit hba_regex_group(const struct hba_regex *r, const char *s,
    const char **at, size_t *len);

#endif
