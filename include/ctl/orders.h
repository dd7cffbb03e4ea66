/* orders.h - what is told to the console in a word: pause, drain ...
 * SPDX-License-Identifier: ISC */
#ifndef CTL_ORDERS_H
#define CTL_ORDERS_H

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

#endif
