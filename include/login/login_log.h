/* login_log.h - lines about clients that log in: there may be too many.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_LOGIN_LOG_H
#define LOGIN_LOGIN_LOG_H

#include <stdbool.h>

#include "base/log.h"
#include "login/login_parts.h"
#include "session/client.h"
#include "session/sessions.h"

/* May the log speak of c? Always, once it is in, or is ours. (auth_failure_log_rate) */
static inline bool login_speaks(const struct client *c)
{
	const struct settings *set = sessions_settings(c->ss);

	return c->login == NULL || lobby_speaks(&c->ss->lobby,
	    &c->login->guest, (unsigned)set->auth_failure_log_rate,
	    time_now());
}

#define login_log(c, level, ...) \
	do { \
		if (login_speaks(c)) \
			log_at(level, &(c)->who, __VA_ARGS__); \
	} while (0)

#endif
