/* cpu_list.c - CPUs in a text: "0-3,8".
 * SPDX-License-Identifier: ISC */
#include "base/cpu_list.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"

#define ITEM_BYTES 24

struct range {
	uint32_t first, last;
};

static bool is_cpu(const char *s, uint32_t *out)
{
	return num_parse_u32(s, out) == 0 && *out < CPU_LIST_END;
}

static bool read_range(char *item, struct range *r)
{
	char *const dash = strchr(item, '-');

	if (dash != NULL)
		*dash = '\0';
	return is_cpu(item, &r->first) &&
	    is_cpu(dash != NULL ? dash + 1 : item, &r->last) &&
	    r->first <= r->last;
}

/* The next item; item is its text. False: that is no range. */
static bool take(const char **at, char item[ITEM_BYTES], struct range *r)
{
	const size_t len = strcspn(*at, ",");
	char copy[ITEM_BYTES];
	struct text t;

	text_init(&t, item, ITEM_BYTES);
	text_add_bytes(&t, *at, len);
	*at += len;
	/* behind a comma there is something */
	if (**at == ',' && *++*at == '\0')
		return false;
	memcpy(copy, item, sizeof copy);
	return !t.cut && read_range(copy, r);
}

int cpu_list_check(const char *list, struct err *e)
{
	char item[ITEM_BYTES];
	struct range r;

	while (*list != '\0') {
		if (!take(&list, item, &r))
			return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
			    "worker_cpus must be CPUs such as 0-3,8, not "
			    "\"%s\"", item);
	}
	return 0;
}

static unsigned count(const char *list)
{
	char item[ITEM_BYTES];
	struct range r;
	unsigned n = 0;

	while (*list != '\0' && take(&list, item, &r))
		n += r.last - r.first + 1;
	return n;
}

int cpu_list_at(const char *list, unsigned n)
{
	const unsigned all = count(list);
	char item[ITEM_BYTES];
	struct range r;

	if (all == 0)
		return -1;
	n %= all;
	while (take(&list, item, &r)) {
		const unsigned these = r.last - r.first + 1;

		if (n < these)
			return (int)(r.first + n);
		n -= these;
	}
	return -1;
}
