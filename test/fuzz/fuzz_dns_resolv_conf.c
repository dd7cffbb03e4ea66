/* fuzz_dns_resolv_conf.c - any bytes as a line of a resolver configuration.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "io/dns_channel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *const line = malloc(size + 1);
	char buf[256];
	struct text list;

	if (line == NULL)
		return 0;
	memcpy(line, data, size);
	line[size] = '\0';
	text_init(&list, buf, sizeof buf);
	if (resolv_conf_line(line, &list))
		assert(list.len > 0 && !list.cut);
	free(line);
	return 0;
}
