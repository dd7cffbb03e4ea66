/* resolv_conf.h - name servers of a resolver configuration that have a port.
 * SPDX-License-Identifier: ISC */
#ifndef IO_RESOLV_CONF_H
#define IO_RESOLV_CONF_H

#include <stdbool.h>

struct text;

/*
 * Append the server of a line "nameserver ADDRESS[:PORT]" to list, which is
 * for dns_channel_set_servers(); IPv6 with a port stands in brackets. Other
 * lines add nothing.
 * Returns: does it name a port? resolv.conf(5) knows none, nor does c-ares.
 */
bool resolv_conf_line(const char *line, struct text *list);

#endif
