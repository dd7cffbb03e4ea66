/* fuzz_hba.c - any bytes as an HBA file, and as the files it names.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/net.h"
#include "conf/file.h"
#include "conf/hba.h"
#include "conf/ident.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What every @file holds. */
static const uint8_t *bytes;
static size_t count;

static int read_file(const char *path, struct file_text *f)
{
	assert(path[0] != '\0');
	errno = ENOENT;
	if (count > 200)
		return -1;
	f->at = mem_zalloc(count + 1);
	if (f->at == NULL)
		return -1;
	memcpy(f->at, bytes, count);
	f->len = count;
	return 0;
}

static void on_report(void *arg, const char *text)
{
	(void)arg;
	assert(text[0] != '\0');
}

static void look_up(const struct hba *h, const struct net_addr *a, bool flag)
{
	const struct hba_login l = {
		.addr = a, .tls = flag, .physical = flag, .database = "db",
		.user = "ann",
	};
	const struct hba_rule *const r = hba_find(h, &l);

	if (r == NULL)
		return;
	assert(r->options != NULL && r->line > 0);
	assert(r->map == NULL || ident_map_name(r->map)[0] == 'm');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char map_text[] = "m ann ann\n";
	const struct hba_source src = {
		.text = (const char *)data, .len = size, .path = "d/f",
		.read = read_file, .report = on_report,
	};
	struct net_addr a[3] = { { .family = NET_UNIX } };

	bytes = data;
	count = size;
	net_parse_ip("10.0.0.1", 1, &a[1]);
	net_parse_ip("::1", 1, &a[2]);
	struct hba *h = hba_parse(&src, ident_parse(map_text,
	    strlen(map_text), NULL, NULL));
	for (int i = 0; h != NULL && i < 6; i++)
		look_up(h, &a[i / 2], i % 2 != 0);
	hba_unref(&h);
	return 0;
}
