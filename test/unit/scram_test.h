/* scram_test.h - what the tests of scram_*.c share.
 * SPDX-License-Identifier: ISC */
#ifndef SCRAM_TEST_H
#define SCRAM_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "proto/scram.h"

#define ITERATIONS 4 /* few: the tests are about messages */
#define PASSWORD "pencil"

/* RFC 7677 §3 */
#define RFC_FIRST_BARE "n=user,r=rOprNGfwEbeRWgbNEkqO"
#define RFC_NONCE "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
#define RFC_SALT "W22ZaJ0SNY7soEsUEjb6gQ=="
#define RFC_SERVER_FIRST "r=" RFC_NONCE ",s=" RFC_SALT ",i=4096"
#define RFC_FINAL_BARE "c=biws,r=" RFC_NONCE
#define RFC_PROOF "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
#define RFC_SERVER_FINAL "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="

/* The right form, for no password. */
#define PROOF "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

static const uint8_t salt16[SCRAM_SALT_BYTES] = "0123456789abcde";

static inline void make_verifier(struct scram_verifier *v)
{
	assert_int_equal(scram_verifier_derive(v, PASSWORD, salt16,
			     sizeof salt16, ITERATIONS),
	    0);
}

static inline char *repeat(char c, size_t n)
{
	char *s = mem_alloc(n + 1);

	assert_non_null(s);
	memset(s, c, n);
	s[n] = '\0';
	return s;
}

/* Formatted, heap. */
static inline char *format(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

static inline char *format(const char *fmt, ...)
{
	char *s = mem_alloc(3 * SCRAM_MESSAGE_MAX);
	va_list ap;

	assert_non_null(s);
	va_start(ap, fmt);
	assert_true(vsnprintf(s, 3 * SCRAM_MESSAGE_MAX, fmt, ap) <
	    3 * SCRAM_MESSAGE_MAX);
	va_end(ap);
	return s;
}

static inline void expect_error(const struct err *e, const char *code)
{
	assert_string_equal(e->code, code);
	assert_true(e->text[0] != '\0');
}

#endif
