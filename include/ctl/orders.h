/* orders.h - orders to the console: pause, drain, reload, kill, set.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_ORDERS_H
#define CTL_ORDERS_H

#include <stddef.h>

struct link;
struct text;

enum order_end {
	ORDER_GOES_ON,
	ORDER_ENDS,	/* the pooler ends by the command */
	ORDER_ENDS_ALONE,	/* ... when the last client has left: we, too */
};

/*
 * The console's command for a verb and what stands behind it, to an empty t.
 * "do" takes the command as it is.
 */
enum order_end orders_compose(const char *verb, int argc, char **argv,
    struct text *t);

/* Where the pooler writes its log. */

#define LOG_PLACE_MAX 1024

/*
 * Ask the pooler at the other end of an open l: "/var/log/pgsluice.log",
 * "syslog as pgsluice", "standard error of process 17". 0, or -1: it does not
 * say.
 */
int log_place(struct link *l, char *buf, size_t size);

#endif
