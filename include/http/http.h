/* http.h - the pooler by HTTP: its health, its numbers.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>

#include "base/time.h"

struct admin;
struct http;

/* Nothing is open before http_apply(). NULL: no memory. */
struct http *http_new(const struct admin *a);
/* In a hold, as http_apply(). */
void http_free(struct http **h);

/*
 * The settings may have changed: listen where they say. What can't be had is
 * logged, and tried again: clients of the pooler are not to suffer from it.
 */
void http_apply(struct http *h);
/* From time to time. */
void http_tick(struct http *h, usec_t now);
/* Behind that, again and again while it returns true. */
bool http_go_on(struct http *h, usec_t now);

#endif
