/* hosts.c - which address of a database the next connection goes to.
 * SPDX-License-Identifier: ISC */
#include "pool/hosts.h"

#include <string.h>

#include "base/text.h"
#include "pool/catalog.h"

/* Copy item n (counted modulo their number) of a comma list. */
static void pick(const char *list, unsigned n, char *out, size_t size)
{
	unsigned items = 1;

	for (const char *s = list; *s != '\0'; s++)
		items += *s == ',';
	for (n %= items; n > 0; n--)
		list = strchr(list, ',') + 1;
	struct text t;

	text_init(&t, out, size);
	text_add_bytes(&t, list, strcspn(list, ","));
}

static void unix_host(struct host *out, const char *dir, int port)
{
	out->kind = HOST_UNIX;
	out->addr.family = NET_UNIX;
	struct text t;

	text_init(&t, out->text, sizeof out->text);
	text_addf(&t, "%s/.s.PGSQL.%d", dir, port);
}

int hosts_next(struct pool *p, const char *unix_dir, struct host *out)
{
	const struct config_db *conf = p->key.db->conf;
	char item[sizeof out->text];

	memset(out, 0, sizeof *out);
	out->addr.port = (uint16_t)conf->port;
	if (conf->host == NULL) {
		if (unix_dir == NULL || unix_dir[0] == '\0')
			return -1;
		unix_host(out, unix_dir, conf->port);
		return 0;
	}
	pick(conf->host, p->host_turn, item, sizeof item);
	if (conf->load_balance_hosts == LB_ROUND_ROBIN)
		p->host_turn++;
	if (item[0] == '/' || item[0] == '@') {
		unix_host(out, item, conf->port);
		return 0;
	}
	out->kind = net_parse_ip(item, (uint16_t)conf->port, &out->addr) == 0 ?
	    HOST_ADDRESS : HOST_NAME;
	text_copy(out->text, sizeof out->text, item);
	return 0;
}

void hosts_failed(struct pool *p)
{
	if (p->key.db->conf->load_balance_hosts == LB_DISABLE)
		p->host_turn++;
}
