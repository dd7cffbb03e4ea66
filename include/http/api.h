/* api.h - /api/...: what the console shows, the history and the log as JSON.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_API_H
#define HTTP_API_H

struct history;
struct holds;
struct httpd_conn;
struct log_ring;
struct request;

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

#endif
