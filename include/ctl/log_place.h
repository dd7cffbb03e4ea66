/* log_place.h - where the pooler writes its log.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_LOG_PLACE_H
#define CTL_LOG_PLACE_H

#include <stddef.h>

struct link;

#define LOG_PLACE_MAX 1024

/*
 * Ask the pooler at the other end of an open l: "/var/log/pgsluice.log",
 * "syslog as pgsluice", "standard error of process 17". 0, or -1: it does not
 * say.
 */
int log_place(struct link *l, char *buf, size_t size);

#endif
