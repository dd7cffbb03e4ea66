/* page.h - the status page: one file, its style and script inside.
 *
 * Nothing of this pooler is in it: what it shows, its script asks of /api/.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_PAGE_H
#define HTTP_PAGE_H

#include <stdbool.h>

struct httpd_conn;
struct page;

/* Facts that the script would else have to find out by an error. */
struct page_facts {
	bool token;		/* /api/ asks for one */
	bool log;		/* there is /api/log for this client */
};

/* NULL: no memory. */
struct page *page_new(void);
void page_free(struct page **p);
void page_reply(struct page *p, struct httpd_conn *c,
    const struct page_facts *facts);

#endif
