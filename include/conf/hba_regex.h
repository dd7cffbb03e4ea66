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
 * reads in another way is an error. NULL with e (53200: no memory).
 * Source: PostgreSQL docs, POSIX Regular Expressions, Regular Expression
 *         Details; bytes are characters, as before a database is chosen.
 */
struct hba_regex *hba_regex_new(const char *pattern, size_t len,
    struct err *e);
void hba_regex_free(struct hba_regex **r);

enum hba_fit hba_regex_fits(const struct hba_regex *r, const char *s);

/* Has the pattern a group in parentheses? */
bool hba_regex_has_group(const struct hba_regex *r);
/*
 * As hba_regex_fits(), and what the first group has matched: *at is NULL when
 * it took no part.
 */
enum hba_fit hba_regex_group(const struct hba_regex *r, const char *s,
    const char **at, size_t *len);

#endif
