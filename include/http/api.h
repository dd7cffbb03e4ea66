/* api.h - /api/...: what the console shows, the history and the log as JSON.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_API_H
#define HTTP_API_H

#include <stdint.h>

struct admin;
struct api_view;
struct history;
struct holds;
struct httpd_conn;
struct httpd_source;
struct log_ring;
struct request;
struct view;

/* The objects that the API shows; all borrowed. */
struct api {
	struct holds *holds;
	const struct history *history;
	const struct log_ring *log;
	const char *nothing;	/* why this client is told nothing; or NULL */
	const char *no_log;	/* the same of the log */
};

/* r->path begins with API_PREFIX; the client has been let in. */
#define API_PREFIX "/api/"
void api_get(const struct api *api, struct httpd_conn *c,
    const struct request *r);

/* A view of the console as an array of JSON objects. */

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
