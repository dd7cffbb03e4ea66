/* hba_list.h - the database or user column of a rule; for hba*.c only.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_HBA_LIST_H
#define CONF_HBA_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/hba_regex.h"

struct err;
struct hba_line;
struct hba_place;

enum hba_column { HBA_DATABASE, HBA_USER };

/* Keywords found in a column. */
enum {
	HBA_ALL = 1,
	HBA_SAMEUSER = 2,
	HBA_REPLICATION = 4,
};

struct hba_list {
	enum hba_column column;
	unsigned keywords;
	char **names;		/* owned, sorted */
	size_t count, size;
	struct hba_regex **regexes;	/* owned, each too */
	size_t regex_count;
};

/*
 * Take a comma list off the line into a list that is all zero but for its
 * column. 0, or -1 with e (53200: no memory; HBA_UNKNOWN: the list asks for
 * members of roles); fini the list all the same.
 */
int hba_list_take(struct hba_list *list, struct hba_line *l,
    const struct hba_place *at, struct err *e);
/* Is name in the list, or does it fit one of the regular expressions? */
enum hba_fit hba_list_has(const struct hba_list *list, const char *name);
void hba_list_fini(struct hba_list *list);

#endif
