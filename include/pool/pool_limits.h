/* pool_limits.h - the settings that a pool goes by.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_POOL_LIMITS_H
#define POOL_POOL_LIMITS_H

#include <stdbool.h>

#include "base/time.h"
#include "conf/options.h"
#include "conf/session_attrs.h"

/* Effective settings; pool_configure() fills them (section 1). */
struct pool_limits {
	int size, reserve, min;		/* size 0 = no limit */
	enum pool_mode mode;
	enum listen_lost listen_lost;
	enum session_state state;	/* forget in session mode */
	enum session_attrs attrs;	/* which hosts will do */
	usec_t reserve_timeout, login_retry, lifetime, idle_timeout, check_delay;
	usec_t down_timeout;		/* 0 = never, or not for these hosts */
	int login_concurrency, max_db, max_user;	/* 0 = no limit */
	int max_pinned;			/* -1 = no limit */
	usec_t pin_timeout;		/* 0 = never */
	usec_t handover_delay;	/* see limit_heir(); 0 = never */
	usec_t worker_handover_delay;	/* see limit_find_recipient() */
	bool round_robin, check, reset;	/* check query set; reset at release */
	bool can_reset, state_always;	/* reset query set; state_check */
};

#endif
