/* usual.h - which of the usual files tells where the console is.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_USUAL_H
#define CTL_USUAL_H

#include <stdbool.h>
#include <stddef.h>

struct settings;

/*
 * Of count paths the first whose pooler answers now; else the first that can be
 * read; else the first that is there. NULL: none is. address_answers() looks at
 * listen_addr, where there is no Unix socket.
 */
const char *usual_choose(const char *const *paths, size_t count,
    bool (*address_answers)(const struct settings *s));

#endif
