/* osuser.h - the users of the system.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_OSUSER_H
#define BASE_OSUSER_H

#include <sys/types.h>

/*
 * The user that text means: a name, or a number. May block: names may be kept
 * by a server far away. Returns 0, or -1 with errno: ENOMEM, or ENOENT (no such
 * user).
 */
int osuser_find(const char *text, uid_t *uid);

#endif
