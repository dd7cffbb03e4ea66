/* container.h - from a member that is embedded to the object around it.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_CONTAINER_H
#define BASE_CONTAINER_H

#include <stddef.h>

/*
 * The type whose member ptr points to. A ptr of any other type than the
 * member's is told by the compiler.
 */
#define container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr) - offsetof(type, member) + \
	    0 * sizeof((ptr) == &((type *)0)->member)))

#endif
