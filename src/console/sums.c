/* sums.c - what the workers have together.
 * SPDX-License-Identifier: ISC */
#include "console/sums.h"

#include "console/admin.h"
#include "pool/catalog.h"
#include "pool/users.h"

static void add(struct sums *sum, const struct sessions *ss)
{
	struct catalog *const c = ss->catalog;
	const int64_t users = (int64_t)users_count(c);
	struct dns_stat dns = { .names = 0 };

	if (ss->dns != NULL)
		dns_stat(ss->dns, &dns);
	sum->databases += HASH_COUNT(c->databases) - c->part_databases;
	/* each worker knows the users of the files */
	sum->users = users > sum->users ? users : sum->users;
	sum->pools += HASH_COUNT(c->pools);
	/* a part is none by itself */
	for (const struct pool *p = c->shared; p != NULL; p = p->shared_next)
		sum->pools -= p->is_part;
	sum->clients += c->clients;
	sum->logins += ss->logins;
	sum->servers += ss->servers;
	sum->dns.names += dns.names;
	sum->dns.zones += dns.zones;
	sum->dns.queries += dns.queries;
}

struct sums sums_of(const struct admin *a)
{
	struct sums sum = { .databases = 0 };

	for (; a != NULL; a = a->next)
		add(&sum, a->ss);
	return sum;
}

/* What one worker has made another may have freed: the sum is right. */
struct mem_stat sums_of_memory(const struct admin *a, enum mem_kind kind)
{
	if (kind == MEM_LIBRARY)
		return mem_library();
	struct mem_stat sum = *mem_stat(kind);

	for (a = a->next; a != NULL; a = a->next) {
		const struct mem_stat *const st = &a->memory[kind];

		sum.used += st->used;
		sum.bytes += st->bytes;
		if (sum.size == 0)
			sum.size = st->size;
	}
	return sum;
}
