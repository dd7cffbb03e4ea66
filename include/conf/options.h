/* options.h - every [pgbouncer] setting: one row each in options.def.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_OPTIONS_H
#define CONF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct err;

enum pool_mode { POOL_SESSION, POOL_TRANSACTION, POOL_STATEMENT };
enum session_state { STATE_FORGET, STATE_CLEAN, STATE_KEEP };
enum state_check { STATE_CHECK_TOLD, STATE_CHECK_ALWAYS };
enum listen_lost { LISTEN_LOST_NOTIFY, LISTEN_LOST_CLOSE };
enum auth_type {
	AUTH_ANY, AUTH_TRUST, AUTH_PLAIN, AUTH_MD5, AUTH_SCRAM_SHA_256,
	AUTH_CERT, AUTH_HBA, AUTH_LDAP, AUTH_PAM, AUTH_PEER,
	AUTH_GSS, AUTH_REJECT, AUTH_OAUTH
};
enum ssl_mode {
	SSLMODE_DISABLE, SSLMODE_ALLOW, SSLMODE_PREFER, SSLMODE_REQUIRE,
	SSLMODE_VERIFY_CA, SSLMODE_VERIFY_FULL
};
/* How TLS with a server begins: asked for by SSLRequest, or at once. */
enum tls_negotiation { TLS_POSTGRES, TLS_DIRECT };
/* Whether SCRAM-SHA-256-PLUS is offered or used. */
enum channel_binding { BINDING_DISABLE, BINDING_PREFER, BINDING_REQUIRE };
enum gssencmode { GSSENCMODE_DISABLE, GSSENCMODE_ALLOW, GSSENCMODE_REQUIRE };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };
enum proxy_protocol { PROXY_OFF, PROXY_OPTIONAL, PROXY_REQUIRED };
enum hba_unknown { HBA_UNKNOWN_REFUSE, HBA_UNKNOWN_SKIP };
enum console_version { CONSOLE_1_25, CONSOLE_1_26 };
enum tls_reload { TLS_RELOAD_OFF, TLS_RELOAD_AUTO };
enum load_balance { LB_ROUND_ROBIN, LB_DISABLE };

/* When a changed value counts (spec/settings.md section 2). */
enum option_effect { OPT_LIVE, OPT_NEW, OPT_START };

/* C types of the fields by option type. */
typedef int opt_int_t;
typedef int opt_bool_t;		/* the number given; non-zero is true */
typedef uint32_t opt_bytes_t;
typedef usec_t opt_time_t;
typedef int opt_enum_t;
typedef char *opt_str_t;	/* owned; NULL = never set */

/* One field per setting, named as the setting: s->default_pool_size. */
struct settings {
#define OPTION(type, name, ...) opt_##type##_t name;
#include "conf/options.def"
#undef OPTION
};

enum {
	OPTION_COUNT = 0
#define OPTION(...) + 1
#include "conf/options.def"
#undef OPTION
};

enum option_type { OPT_T_INT, OPT_T_BOOL, OPT_T_BYTES, OPT_T_TIME, OPT_T_ENUM,
	OPT_T_STR };

struct option_row {
	const char *name;
	enum option_type type;
	enum option_effect effect;
	const char *def;	/* text of the default; NULL = unset */
	const char *const *words;	/* enum: NULL terminated; else NULL */
	int64_t min, max;	/* inclusive; min > max: any value goes */
	const char *help;	/* one sentence or more, for man page and sample */
	size_t offset;		/* of the field in struct settings */
};

/* All OPTION_COUNT rows in the order of SHOW CONFIG. */
const struct option_row *option_rows(size_t *count);

const struct option_row *option_find(const char *name);	/* NULL: unknown */

/* The place of its row; the name must be known. */
size_t option_index(const char *name);

/* The name that was probably meant, for "did you mean"; NULL: none is near. */
const char *option_nearest(const char *name);

/* Must the console leave it alone? (console_locked_settings) */
bool option_is_locked(const char *name, const struct settings *s);
/* Does each of patterns mean a setting? 0, or -1 with e. */
int option_check_patterns(const char *patterns, struct err *e);

/* Parse value into s; frees the old string. 0, or -1 with e worded. */
int option_set(const struct option_row *o, struct settings *s,
    const char *value, struct err *e);

/* Copy one setting; frees the old string. 0, or -1 out of memory. */
int option_copy(const struct option_row *o, struct settings *dst,
    const struct settings *src);

/* The text SHOW CONFIG prints, in buf or borrowed from s; NULL = SQL NULL. */
const char *option_show(const struct option_row *o, const struct settings *s,
    char *buf, size_t size);

/* All defaults into an all-zero s; 0, or -1 out of memory. */
int settings_init(struct settings *s);
/* Every setting that has a default back to it; 0, or -1 out of memory. */
int settings_reset(struct settings *s);
/* dst all zero before; 0, or -1 out of memory: fini dst all the same. */
int settings_copy(struct settings *dst, const struct settings *src);
void settings_fini(struct settings *s);

#endif
