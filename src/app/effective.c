/* effective.c - which of several settings counts for a session.
 * SPDX-License-Identifier: ISC */
#include "app/effective.h"

#include "pool/catalog.h"

static usec_t positive(usec_t own, usec_t global)
{
	return own > 0 ? own : global;
}

usec_t effective_client_idle(const struct settings *set,
    const struct user *u)
{
	if (u == NULL || u->conf == NULL)
		return set->client_idle_timeout;
	return positive(u->conf->client_idle_timeout,
	    set->client_idle_timeout);
}

usec_t effective_query_wait(const struct settings *set, const struct user *u,
    const struct database *db)
{
	/* here a given 0 switches a limit of lower rank off */
	if (u != NULL && u->conf != NULL && u->conf->query_wait_timeout >= 0)
		return u->conf->query_wait_timeout;
	if (db != NULL && db->conf->query_wait_timeout >= 0)
		return db->conf->query_wait_timeout;
	return set->query_wait_timeout;
}

struct effective_work effective_work(const struct settings *set,
    const struct user *u)
{
	const struct config_user *const own = u->conf;
	struct effective_work w = {
		.query = set->query_timeout,
		.idle_transaction = set->idle_transaction_timeout,
		.transaction = set->transaction_timeout,
	};

	if (own == NULL)
		return w;
	w.query = positive(own->query_timeout, w.query);
	w.idle_transaction = positive(own->idle_transaction_timeout,
	    w.idle_transaction);
	w.transaction = positive(own->transaction_timeout, w.transaction);
	return w;
}
