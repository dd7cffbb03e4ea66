/* num.c - strict number parsing: the whole string or an error.
 * SPDX-License-Identifier: ISC */
#include "base/num.h"

#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char blanks[] = " \t\r\n\v\f";

int num_parse_i64(const char *s, int64_t *out)
{
	const char *digits = s + strspn(s, blanks);

	if (*digits == '+' || *digits == '-')
		digits++;
	/* Newer C libraries also read 0b101 as binary. */
	if (*digits == '0' && (digits[1] == 'b' || digits[1] == 'B'))
		return -1;

	char *end;

	errno = 0;
	const long long v = strtoll(s, &end, 0);
	if (end == s || *end != '\0' || errno != 0)
		return -1;
	*out = v;
	return 0;
}

int num_parse_u32(const char *s, uint32_t *out)
{
	uint64_t v = 0;

	if (*s == '\0')
		return -1;
	for (; *s >= '0' && *s <= '9'; s++) {
		v = v * 10 + (uint64_t)(*s - '0');
		if (v > UINT32_MAX)
			return -1;
	}
	if (*s != '\0')
		return -1;
	*out = (uint32_t)v;
	return 0;
}

/* Microseconds of one unit; 0 when name is no unit. No unit means seconds. */
static double usec_of_unit(const char *name)
{
	static const struct {
		const char *name;
		double usec;
	} units[] = {
		{ "", 1e6 },
		{ "us", 1 },
		{ "ms", 1e3 },
		{ "s", 1e6 },
		{ "min", 60e6 },
		{ "h", 3600e6 },
		{ "d", 86400e6 },
	};

	for (size_t i = 0; i < COUNT(units); i++) {
		if (strcmp(name, units[i].name) == 0)
			return units[i].usec;
	}
	return 0;
}

/* strtod(3) with '.' in every locale. Sets *end to s when that fails. */
static double parse_double(const char *s, char **end)
{
	const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);

	if (c == (locale_t)0) {
		*end = (char *)s;
		return 0;
	}
	const double v = strtod_l(s, end, c);
	freelocale(c);
	return v;
}

int num_parse_usec(const char *s, usec_t *out)
{
	const char *digits = s + strspn(s, blanks);

	if (*digits == '+' || *digits == '-')
		digits++;
	/* Keeps out inf, nan, and hexadecimal, which strtod(3) would take. */
	if (strchr("0123456789.", *digits) == NULL || *digits == '\0' ||
	    digits[1] == 'x' || digits[1] == 'X')
		return -1;

	char *end;
	const double v = parse_double(s, &end);
	if (end == s)
		return -1;

	const double usec = v * usec_of_unit(end) + 0.5;
	if (usec_of_unit(end) == 0 || v < 0 || !(usec < (double)INT64_MAX))
		return -1;
	*out = (usec_t)usec;
	return 0;
}

int num_parse_bytes(const char *s, int64_t *out)
{
	static const struct {
		const char *name;
		int64_t bytes;
	} units[] = {
		{ "kB", 1 << 10 },
		{ "MB", 1 << 20 },
		{ "GB", 1 << 30 },
	};
	char digits[24];
	const size_t len = strspn(s, "0123456789");
	const char *const unit = s + len + strspn(s + len, blanks);
	int64_t v;

	if (num_parse_i64(s, out) == 0)
		return 0;
	if (len == 0 || len >= sizeof(digits))
		return -1;
	memcpy(digits, s, len);
	digits[len] = '\0';
	for (size_t i = 0; i < COUNT(units); i++) {
		if (strcmp(unit, units[i].name) != 0)
			continue;
		/* a leading 0 is octal elsewhere, and nothing here */
		if (num_parse_i64(digits, &v) != 0 || digits[0] == '0' ||
		    v > INT64_MAX / units[i].bytes)
			return -1;
		*out = v * units[i].bytes;
		return 0;
	}
	return -1;
}

int num_parse_bool(const char *s, bool *out)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
		{ "on", true },
		{ "off", false },
		{ "yes", true },
		{ "no", false },
		{ "true", true },
		{ "false", false },
	};
	int64_t v;

	for (size_t i = 0; i < COUNT(words); i++) {
		if (text_casecmp(s, words[i].word) == 0) {
			*out = words[i].value;
			return 0;
		}
	}
	if (num_parse_i64(s, &v) != 0)
		return -1;
	*out = v != 0;
	return 0;
}

#define ITEM_BYTES 24

struct range {
	uint32_t first, last;
};

static bool is_cpu(const char *s, uint32_t *out)
{
	return num_parse_u32(s, out) == 0 && *out < CPU_LIST_END;
}

static bool read_range(char *item, struct range *r)
{
	char *const dash = strchr(item, '-');

	if (dash != NULL)
		*dash = '\0';
	return is_cpu(item, &r->first) &&
	    is_cpu(dash != NULL ? dash + 1 : item, &r->last) &&
	    r->first <= r->last;
}

/* The next item; item is its text. False: that is no range. */
static bool num_take(const char **at, char item[ITEM_BYTES], struct range *r)
{
	const size_t len = strcspn(*at, ",");
	char copy[ITEM_BYTES];
	struct text t;

	text_init(&t, item, ITEM_BYTES);
	text_add_bytes(&t, *at, len);
	*at += len;
	/* behind a comma there is something */
	if (**at == ',' && *++*at == '\0')
		return false;
	memcpy(copy, item, sizeof copy);
	return !t.cut && read_range(copy, r);
}

int cpu_list_check(const char *list, struct err *e)
{
	char item[ITEM_BYTES];
	struct range r;

	while (*list != '\0') {
		if (!num_take(&list, item, &r))
			return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
			    "worker_cpus must be CPUs such as 0-3,8, not "
			    "\"%s\"", item);
	}
	return 0;
}

static unsigned num_count(const char *list)
{
	char item[ITEM_BYTES];
	struct range r;
	unsigned n = 0;

	while (*list != '\0' && num_take(&list, item, &r))
		n += r.last - r.first + 1;
	return n;
}

int cpu_list_at(const char *list, unsigned n)
{
	const unsigned all = num_count(list);
	char item[ITEM_BYTES];
	struct range r;

	if (all == 0)
		return -1;
	n %= all;
	while (num_take(&list, item, &r)) {
		const unsigned these = r.last - r.first + 1;

		if (n < these)
			return (int)(r.first + n);
		n -= these;
	}
	return -1;
}
