/* page_data.h - the files of src/http/page, as embed.sh puts them into C.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_PAGE_DATA_H
#define HTTP_PAGE_DATA_H

#include <stddef.h>

/* In the order in which Makefile.am names them. */
enum page_file { PAGE_HTML, PAGE_CSS, PAGE_JS };

struct page_data {
	const char *at;
	size_t len;
};

struct page_data page_data(enum page_file file);

#endif
