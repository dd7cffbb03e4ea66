/* page.h - the status page: one file, its style and script inside.
 *
 * Nothing of this pooler is in it: what it shows, its script asks of /api/.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_PAGE_H
#define HTTP_PAGE_H

#include <stdbool.h>
#include <stddef.h>

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

/* The files of src/http/page, as embed.sh puts them into C. */

/* In the order in which Makefile.am names them. */
enum page_file { PAGE_HTML, PAGE_CSS, PAGE_JS };

struct page_data {
	const char *at;
	size_t len;
};

struct page_data page_data(enum page_file file);

#endif
