/* hba_list.h - the database or user column of a rule; for hba*.c only.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_HBA_LIST_H
#define CONF_HBA_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct file_text;
struct hba_line;

enum hba_column { HBA_DATABASE, HBA_USER };

/* Keywords found in a column. */
enum {
	HBA_ALL = 1,
	HBA_SAMEUSER = 2,
	HBA_REPLICATION = 4,
};

struct hba_list {
	unsigned keywords;
	char **names;		/* owned, sorted */
	size_t count, size;
};

/* What reading lists may cost: shared by all of one hba_parse(). */
struct hba_budget {
	size_t names;		/* left */
	unsigned files;		/* left */
};

/* Where a list stands. */
struct hba_place {
	enum hba_column column;
	const char *path;	/* of the file */
	unsigned depth;		/* of @file */
	int (*read)(const char *path, struct file_text *f);
	struct hba_budget *budget;
};

/*
 * Take a comma list off the line into an all-zero list. 0, or -1 with e
 * (53200: no memory); fini the list all the same.
 */
int hba_list_take(struct hba_list *list, struct hba_line *l,
    const struct hba_place *at, struct err *e);
bool hba_list_has(const struct hba_list *list, const char *name);
void hba_list_fini(struct hba_list *list);

#endif
