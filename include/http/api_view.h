/* api_view.h - a view of the console as an array of JSON objects.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_API_VIEW_H
#define HTTP_API_VIEW_H

#include <stdint.h>

struct admin;
struct api_view;
struct httpd_source;
struct request;
struct view;

/* The view of that topic, if it may be shown by HTTP; or NULL. */
const struct view *api_view_find(const char *topic);

/*
 * v as r asks for it: column=value chooses rows, limit=N so many of them.
 * Returns NULL, and *why says why (NULL: no memory).
 */
struct api_view *api_view_new(const struct admin *a, const struct view *v,
    const struct request *r, const char **why);
const struct httpd_source *api_view_source(void);

#endif
