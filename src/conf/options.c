/* options.c - the table of settings: parse, print, copy.
 * SPDX-License-Identifier: ISC */
#include "conf/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "conf/words.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define PATTERN_MAX 64	/* as long as any name */

/* Words of methods that were not built in: an empty one is never found. */
#ifdef HAVE_LDAP
#define WORD_LDAP "ldap"
#else
#define WORD_LDAP ""
#endif
#ifdef HAVE_PAM
#define WORD_PAM "pam"
#else
#define WORD_PAM ""
#endif

static const char *const log_format_words[] = {
	[LOG_FORMAT_TEXT] = "text",
	[LOG_FORMAT_JSON] = "json",
	NULL
};

static const char *const hba_unknown_words[] = {
	[HBA_UNKNOWN_REFUSE] = "refuse",
	[HBA_UNKNOWN_SKIP] = "skip",
	NULL
};

static const char *const console_version_words[] = {
	[CONSOLE_1_25] = "1.25",
	[CONSOLE_1_26] = "1.26",
	NULL
};

static const char *const proxy_words[] = {
	[PROXY_OFF] = "off",
	[PROXY_OPTIONAL] = "optional",
	[PROXY_REQUIRED] = "required",
	NULL
};

static const char *const pool_mode_words[] = {
	[POOL_SESSION] = "session",
	[POOL_TRANSACTION] = "transaction",
	[POOL_STATEMENT] = "statement",
	NULL
};

static const char *const session_state_words[] = {
	[STATE_FORGET] = "forget",
	[STATE_CLEAN] = "clean",
	[STATE_KEEP] = "keep",
	NULL
};

static const char *const state_check_words[] = {
	[STATE_CHECK_TOLD] = "told",
	[STATE_CHECK_ALWAYS] = "always",
	NULL
};

static const char *const tls_reload_words[] = {
	[TLS_RELOAD_OFF] = "off",
	[TLS_RELOAD_AUTO] = "auto",
	NULL
};
static const char *const listen_lost_words[] = {
	[LISTEN_LOST_NOTIFY] = "notify",
	[LISTEN_LOST_CLOSE] = "close",
	NULL
};

/* The others of enum auth_type are words of the HBA file only. */
static const char *const auth_type_words[] = {
	[AUTH_ANY] = "any",
	[AUTH_TRUST] = "trust",
	[AUTH_PLAIN] = "plain",
	[AUTH_MD5] = "md5",
	[AUTH_SCRAM_SHA_256] = "scram-sha-256",
	[AUTH_CERT] = "cert",
	[AUTH_HBA] = "hba",
	[AUTH_LDAP] = WORD_LDAP,
	[AUTH_PAM] = WORD_PAM,
	NULL
};

static const char *const gssencmode_words[] = {
	[GSSENCMODE_DISABLE] = "disable",
	[GSSENCMODE_ALLOW] = "allow",
	[GSSENCMODE_REQUIRE] = "require",
	NULL
};

static const char *const server_gss_words[] = { "0", "1", NULL };

static const char *const ssl_mode_words[] = {
	[SSLMODE_DISABLE] = "disable",
	[SSLMODE_ALLOW] = "allow",
	[SSLMODE_PREFER] = "prefer",
	[SSLMODE_REQUIRE] = "require",
	[SSLMODE_VERIFY_CA] = "verify-ca",
	[SSLMODE_VERIFY_FULL] = "verify-full",
	NULL
};

static const char *const negotiation_words[] = {
	[TLS_POSTGRES] = "postgres",
	[TLS_DIRECT] = "direct",
	NULL
};

static const char *const binding_words[] = {
	[BINDING_DISABLE] = "disable",
	[BINDING_PREFER] = "prefer",
	[BINDING_REQUIRE] = "require",
	NULL
};

#define TYPE_int OPT_T_INT
#define TYPE_bool OPT_T_BOOL
#define TYPE_bytes OPT_T_BYTES
#define TYPE_time OPT_T_TIME
#define TYPE_enum OPT_T_ENUM
#define TYPE_str OPT_T_STR

static const struct option_row rows[] = {
#define OPTION(t, n, dflt, eff, lo, hi, list, text)                    \
	{ .name = #n, .type = TYPE_##t, .effect = eff, .def = dflt,    \
	  .words = list, .min = lo, .max = hi, .help = text,           \
	  .offset = offsetof(struct settings, n) },
#include "conf/options.def"
#undef OPTION
};

const struct option_row *option_rows(size_t *count)
{
	*count = COUNT(rows);
	return rows;
}

const struct option_row *option_find(const char *name)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	}
	return NULL;
}

size_t option_index(const char *name)
{
	return (size_t)(option_find(name) - rows);
}

const char *option_nearest(const char *name)
{
	struct nearest n;

	nearest_init(&n, name);
	for (size_t i = 0; i < COUNT(rows); i++)
		nearest_offer(&n, rows[i].name);
	return n.best;
}

/* The next item of a list, its length in n; NULL: there is none. */
static const char *next_item(const char *list, size_t *n)
{
	static const char between[] = ", \t\r\n\v\f";

	list += strspn(list, between);
	*n = strcspn(list, between);
	return *n > 0 ? list : NULL;
}

/* "*" stands for any characters, also none; only the last one goes back. */
static bool matches(const char *name, const char *pattern, size_t n)
{
	const char *const end = pattern + n;
	const char *star = NULL, *from = NULL;

	while (*name != '\0') {
		if (pattern < end && *pattern == '*') {
			star = pattern++;
			from = name;
		} else if (pattern < end && *pattern == *name) {
			pattern++;
			name++;
		} else if (star != NULL) {
			pattern = star + 1;
			name = ++from;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

bool option_is_locked(const char *name, const struct settings *s)
{
	const char *patterns = s->console_locked_settings;
	size_t n;

	/* a lock that can be opened is none */
	if (strcmp(name, "console_locked_settings") == 0)
		return true;
	for (; (patterns = next_item(patterns, &n)) != NULL; patterns += n) {
		if (matches(name, patterns, n))
			return true;
	}
	return false;
}

static bool matches_any(const char *pattern, size_t n)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (matches(rows[i].name, pattern, n))
			return true;
	}
	return false;
}

int option_check_patterns(const char *patterns, struct err *e)
{
	size_t n;

	for (; (patterns = next_item(patterns, &n)) != NULL; patterns += n) {
		if (n > PATTERN_MAX || !matches_any(patterns, n))
			return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
			    "no setting is called \"%.*s\"",
			    (int)(n > PATTERN_MAX ? PATTERN_MAX :
			    n), patterns);
	}
	return 0;
}

static void *field(const struct option_row *o, struct settings *s)
{
	return (char *)s + o->offset;
}

static const void *field_const(const struct option_row *o,
    const struct settings *s)
{
	return (const char *)s + o->offset;
}

/*
 * Held to the range of the row. Without one, what does not fit the field
 * becomes the nearest value that does, for a file must not fail by that.
 */
static int to_range(const struct option_row *o, int64_t *v, struct err *e)
{
	if (o->min <= o->max) {
		if (*v >= o->min && *v <= o->max)
			return 0;
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "%s must be from %" PRId64 " to %" PRId64, o->name, o->min,
		    o->max);
	}

	const int64_t hi = o->type == OPT_T_BYTES ? UINT32_MAX : INT32_MAX;
	if (*v > hi)
		*v = hi;
	if (*v < INT32_MIN)
		*v = INT32_MIN;
	return 0;
}

static int set_int(const struct option_row *o, void *to, const char *value,
    struct err *e)
{
	int64_t v;

	if (num_parse_i64(value, &v) != 0)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "%s must be a whole number%s", o->name, strpbrk(value,
		    ";#") == NULL ? "" :
		    " (a comment needs a line of its own)");
	if (to_range(o, &v, e) != 0)
		return -1;
	*(opt_int_t *)to = (opt_int_t)v;
	return 0;
}

/* Keeps the number given, because SHOW CONFIG prints it. */
static int set_bool(const struct option_row *o, void *to, const char *value,
    struct err *e)
{
	int64_t v;
	bool word;

	if (num_parse_i64(value, &v) != 0) {
		if (num_parse_bool(value, &word) != 0)
			return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
			    "%s must be 0 or 1", o->name);
		v = word ? 1 : 0;
	}
	if (to_range(o, &v, e) != 0)
		return -1;
	*(opt_bool_t *)to = (opt_bool_t)v;
	return 0;
}

/* spec/settings.md section 1: a negative number wraps. Units are ours. */
static int set_bytes(const struct option_row *o, void *to, const char *value,
    struct err *e)
{
	int64_t v;

	if (num_parse_bytes(value, &v) != 0)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "%s must be a whole number, of bytes or with a unit (kB, "
		    "MB, GB)", o->name);
	if (to_range(o, &v, e) != 0)
		return -1;
	*(opt_bytes_t *)to = (opt_bytes_t)v;
	return 0;
}

static int set_time(const struct option_row *o, void *to, const char *value,
    struct err *e)
{
	if (num_parse_usec(value, to) != 0)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "%s must be a number of seconds, 0 or more, "
		    "or a number with a unit (us, ms, s, min, h, d)",
		    o->name);
	return 0;
}

static int set_enum(const struct option_row *o, void *to, const char *value,
    struct err *e)
{
	const int i = words_find(o->words, value);
	char buf[256];
	struct text list;

	if (i >= 0) {
		*(opt_enum_t *)to = i;
		return 0;
	}
	text_init(&list, buf, sizeof(buf));
	for (size_t j = 0; o->words[j] != NULL; j++) {
		if (o->words[j][0] != '\0')
			text_addf(&list, "%s%s", j > 0 ? ", " : "",
			    o->words[j]);
	}
	return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
	    "%s must be one of %s", o->name, buf);
}

static int set_str(const struct option_row *o, void *to, const char *value,
    struct err *e)
{
	char *const copy = secmem_strdup(value);	/* maybe a secret */

	(void)o;
	if (copy == NULL)
		return err_nomem(e);
	secmem_free(*(opt_str_t *)to);
	*(opt_str_t *)to = copy;
	return 0;
}

int option_set(const struct option_row *o, struct settings *s,
    const char *value, struct err *e)
{
	static int (*const setters[])(const struct option_row *o, void *to,
	    const char *value, struct err *e) = {
		[OPT_T_INT] = set_int,
		[OPT_T_BOOL] = set_bool,
		[OPT_T_BYTES] = set_bytes,
		[OPT_T_TIME] = set_time,
		[OPT_T_ENUM] = set_enum,
		[OPT_T_STR] = set_str,
	};

	return setters[o->type](o, field(o, s), value, e);
}

int option_copy(const struct option_row *o, struct settings *dst,
    const struct settings *src)
{
	static const size_t sizes[] = {
		[OPT_T_INT] = sizeof(opt_int_t),
		[OPT_T_BOOL] = sizeof(opt_bool_t),
		[OPT_T_BYTES] = sizeof(opt_bytes_t),
		[OPT_T_TIME] = sizeof(opt_time_t),
		[OPT_T_ENUM] = sizeof(opt_enum_t),
	};
	void *const to = field(o, dst);
	const void *const from = field_const(o, src);

	if (o->type != OPT_T_STR) {
		memcpy(to, from, sizes[o->type]);
		return 0;
	}

	const char *const value = *(const opt_str_t *)from;
	if (value != NULL)
		return set_str(o, to, value, NULL);
	secmem_free(*(opt_str_t *)to);
	*(opt_str_t *)to = NULL;
	return 0;
}

const char *option_show(const struct option_row *o, const struct settings *s,
    char *buf, size_t size)
{
	const void *const at = field_const(o, s);

	switch (o->type) {
	case OPT_T_INT:
	case OPT_T_BOOL:
		snprintf(buf, size, "%d", *(const opt_int_t *)at);
		return buf;
	case OPT_T_BYTES:
		snprintf(buf, size, "%" PRIu32, *(const opt_bytes_t *)at);
		return buf;
	case OPT_T_TIME:
		snprintf(buf, size, "%g",
		    (double)*(const opt_time_t *)at / (double)USEC);
		return buf;
	case OPT_T_ENUM:
		return o->words[*(const opt_enum_t *)at];
	case OPT_T_STR:
		break;
	}
	return *(const opt_str_t *)at;
}

int settings_reset(struct settings *s)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (rows[i].def == NULL)
			continue;
		if (option_set(&rows[i], s, rows[i].def, NULL) != 0)
			return -1;
	}
	return 0;
}

int settings_init(struct settings *s)
{
	*s = (struct settings){ 0 };
	if (settings_reset(s) == 0)
		return 0;
	settings_fini(s);
	return -1;
}

int settings_copy(struct settings *dst, const struct settings *src)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (option_copy(&rows[i], dst, src) != 0)
			return -1;
	}
	return 0;
}

void settings_fini(struct settings *s)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (rows[i].type == OPT_T_STR)
			secmem_free(*(opt_str_t *)field(&rows[i], s));
	}
	*s = (struct settings){ 0 };
}
