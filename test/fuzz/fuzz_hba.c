/* fuzz_hba.c - any bytes as an HBA file, and as the files it names.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/net.h"
#include "conf/file.h"
#include "conf/hba.h"
#include "conf/hba_source.h"
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

static int list_files(const char *path, struct file_names *n)
{
	assert(path[0] != '\0');
	errno = ENOENT;
	if (strcmp(path, "d/d") != 0)
		return -1;
	errno = ENOMEM;
	n->at = mem_alloc(sizeof(*n->at));
	if (n->at == NULL)
		return -1;
	n->at[0] = mem_strdup("d/d/x.conf");
	n->count = n->at[0] != NULL;
	return n->at[0] != NULL ? 0 : -1;
}

static void on_report(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	assert(text[0] != '\0');
}

static enum hba_fit near(const struct net_addr *a, bool net)
{
	return net && a->ip[0] == 10 ? HBA_FITS : HBA_DIFFERS;
}

static void look_up(const struct hba *h, const struct net_addr *a, bool flag)
{
	const struct hba_login l = {
		.addr = a, .tls = flag, .physical = flag, .database = "db",
		.user = "ann", .near = near, .host = "a.example.com",
		.host_state = flag ? HBA_HOST_KNOWN : HBA_HOST_UNKNOWN,
	};
	(void)hba_asks_host(h, &l);
	const struct hba_rule *const r = hba_find(h, &l);

	if (r == NULL)
		return;
	assert(r->options != NULL && r->line > 0);
	assert(r->map == NULL || ident_map_name(r->map)[0] == 'm');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char map_text[] = "m ann ann\n";
	struct hba_source src = {
		.text = (const char *)data, .len = size, .path = "d/f",
		.read = read_file, .list = list_files, .report = on_report,
	};
	const struct hba_source maps = {
		.text = map_text, .len = strlen(map_text), .path = "m",
	};
	struct net_addr a[3] = { { .family = NET_UNIX } };
	struct err e;

	bytes = data;
	count = size;
	net_parse_ip("10.0.0.1", 1, &a[1]);
	net_parse_ip("::1", 1, &a[2]);
	struct hba *strict = hba_parse(&src, ident_parse(&maps, &e), &e);
	src.skip_unknown = true;
	struct hba *h = hba_parse(&src, ident_parse(&maps, &e), &e);
	/* what is skipped is an error otherwise */
	assert(strict == NULL || hba_count(strict) == hba_count(h));
	for (int i = 0; h != NULL && i < 6; i++)
		look_up(h, &a[i / 2], i % 2 != 0);
	hba_unref(&h);
	hba_unref(&strict);
	return 0;
}
