/* pool_configure.c - which settings are in force in a pool.
 * SPDX-License-Identifier: ISC */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "conf/config.h"
#include "conf/startup_params.h"
#include "pool/catalog.h"
#include "pool/limit.h"
#include "pool/pool.h"

/* Clients wait for a host to take over: nobody else looks for it. */
#define SEEK_RETRY (USEC / 2)

/* The first that was given, of user, database and the whole process. */
static int first_given(int user, int db, int global)
{
	return user >= 0 ? user : db >= 0 ? db : global;
}

static usec_t first_given_time(usec_t user, usec_t db, usec_t global)
{
	return user >= 0 ? user : db >= 0 ? db : global;
}

static int positive(int own, int global)
{
	return own > 0 ? own : global > 0 ? global : 0;
}

/* A limit may have come or gone. */
static void update_evictable(struct pool *p)
{
	for (int state = 0; state < SERVER_GONE; state++)
		for (struct pool_server *ps = p->servers[state]; ps != NULL;
		    ps = ps->next)
			evict_update(ps);
}

static enum session_state state_of(const struct pool *p,
    const struct config *config)
{
	const struct config_user *const u = p->key.user->conf;

	return p->limits.mode == POOL_SESSION ? STATE_FORGET :
	    (enum session_state)first_given(u ? u->session_state : -1,
	    p->key.db->conf->session_state, config->set.session_state);
}

/* Up to now nobody has looked at what clients left in these sessions. */
static void stain_all(struct pool *p)
{
	for (int state = 0; state < SERVER_GONE; state++) {
		for (struct pool_server *ps = p->servers[state]; ps != NULL;
		    ps = ps->next) {
			ps->stained = ps->lent;
			if (ps->lent && (state == SERVER_IDLE ||
			    state == SERVER_USED))
				ps->close_needed = true;
		}
	}
}

/* What clients leave in sessions, and how many servers may be kept for that. */
static void configure_state(struct pool *p, const struct config *config)
{
	const struct settings *const s = &config->set;
	const struct config_db *const db = p->key.db->conf;
	const struct config_user *const u = p->key.user->conf;
	struct pool_limits *const l = &p->limits;
	const enum session_state before = l->state;

	l->state = state_of(p, config);
	l->state_always = s->session_state_check == STATE_CHECK_ALWAYS;
	l->listen_lost = (enum listen_lost)first_given(u ? u->listen_lost : -1,
	    db->listen_lost, s->listen_lost);
	l->max_pinned = first_given(u ? u->max_pinned : -1, db->max_pinned,
	    s->max_pinned);
	if (l->max_pinned == CONFIG_NO_LIMIT)
		l->max_pinned = -1;
	l->pin_timeout = first_given_time(u ? u->pin_timeout : -1,
	    db->pin_timeout, s->pin_timeout);
	/* nor does anybody take back later what it has kept up to now */
	if (l->state != before)
		stain_all(p);
}

/* Without memory it is as before. */
static void configure_startup(struct pool *p, const struct config *config)
{
	struct startup_params params;

	if (startup_params_of(&params, config, p->key.db->conf,
	    p->key.user->conf) < 0)
		return;
	const uint64_t mark = startup_params_mark(&params);

	p->restarts = p->restarts || (p->startup != 0 && p->startup != mark);
	p->startup = mark;
	startup_params_fini(&params);
}

/* Another host may take over from one that is down. */
static bool may_fail_over(const struct config_db *db)
{
	return db->target_session_attrs != ATTRS_ANY ||
	    (db->host != NULL && strchr(db->host, ',') != NULL);
}

/* (spec/pooling.md section 1) */
void pool_configure(struct pool *p, const struct config *config)
{
	const struct settings *s = &config->set;
	const struct config_db *db = p->key.db->conf;
	const struct config_user *u = p->key.user->conf;
	struct pool_limits *l = &p->limits;
	const bool is_limited = evict_is_limited(p);
	const int size = first_given(u ? u->pool_size : -1, db->pool_size,
	    s->default_pool_size);
	l->size = size > 0 ? size : 0;
	l->reserve = first_given(u ? u->reserve_pool_size : -1,
	    db->reserve_pool_size, s->reserve_pool_size);
	l->min = db->min_pool_size >= 0 ? db->min_pool_size : s->min_pool_size;
	l->mode = (enum pool_mode)first_given(u ? u->pool_mode : -1,
	    db->pool_mode, s->pool_mode);
	configure_state(p, config);
	configure_startup(p, config);
	l->lifetime = db->server_lifetime > 0 ? db->server_lifetime :
	    s->server_lifetime;
	l->reserve_timeout = s->reserve_pool_timeout;
	l->attrs = (enum session_attrs)db->target_session_attrs;
	l->login_retry = l->attrs != ATTRS_ANY &&
	    s->server_login_retry > SEEK_RETRY ? SEEK_RETRY :
	    s->server_login_retry;
	l->down_timeout = first_given_time(u ? u->server_down_timeout : -1,
	    db->server_down_timeout,
	    may_fail_over(db) ? 0 : s->server_down_timeout);
	l->idle_timeout = s->server_idle_timeout;
	l->check_delay = s->server_check_delay;
	l->login_concurrency = s->server_login_concurrency;
	l->max_db = positive(db->max_db_connections, s->max_db_connections);
	l->max_user = positive(u ? u->max_user_connections : 0,
	    s->max_user_connections);
	l->handover_delay = s->server_handover_delay;
	l->worker_handover_delay = s->worker_handover_delay;
	l->round_robin = s->server_round_robin != 0;
	l->check = s->server_check_query != NULL &&
	    s->server_check_query[0] != '\0';
	l->can_reset = s->server_reset_query != NULL &&
	    s->server_reset_query[0] != '\0';
	l->reset = l->can_reset && (s->server_reset_query_always ||
	    l->mode == POOL_SESSION);
	if (is_limited || evict_is_limited(p))
		update_evictable(p);
	pool_recheck(p);
}
