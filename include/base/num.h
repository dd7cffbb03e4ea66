/* num.h - strict number parsing: the whole string or an error.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

struct err;

/*
 * Each returns 0 and sets *out, or -1 and leaves it. The whole of s must be
 * used, leading blanks are allowed, trailing text and an empty string are not.
 */

/* C syntax: decimal, 0x hex, leading 0 octal, optional sign. */
int num_parse_i64(const char *s, int64_t *out);

/* Decimal digits only, no sign, no blanks; for ids and ports. */
int num_parse_u32(const char *s, uint32_t *out);

/*
 * Seconds with a decimal point and exponent ("0.5", "1e3", always '.'), as
 * microseconds; or a number with a unit us, ms, s, min, h, d. Negative, inf
 * and nan are errors. (spec/settings.md section 1; units are our addition)
 */
int num_parse_usec(const char *s, usec_t *out);

/*
 * As num_parse_i64(), or a decimal number with a unit kB, MB or GB of 1024,
 * its square and its cube.
 */
int num_parse_bytes(const char *s, int64_t *out);

/* An integer (non-zero is true) or on/off, yes/no, true/false. */
int num_parse_bool(const char *s, bool *out);

/* CPUs in a text: "0-3,8". */

#define CPU_LIST_END 1024	/* numbers are less, as the C library's sets have them */

/* Numbers and ranges, separated by commas; or nothing. 0, or -1 with e. */
int cpu_list_check(const char *list, struct err *e);
/*
 * The CPU for the n-th (from 0) of those who share them: the list is begun anew
 * behind its end. -1: it is empty, or broken.
 */
int cpu_list_at(const char *list, unsigned n);

#endif
