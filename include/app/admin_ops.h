/* admin_ops.h - the console's orders to the process, carried out.
 * SPDX-License-Identifier: ISC */
#ifndef APP_ADMIN_OPS_H
#define APP_ADMIN_OPS_H

struct admin_ops;

/* For struct admin; its app is a struct app. */
const struct admin_ops *admin_ops(void);

#endif
