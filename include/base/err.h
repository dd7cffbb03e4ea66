/* err.h - an error, worded once, where it is known; SQLSTATEs.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

/* The SQLSTATEs that we send or know, named as PostgreSQL does. */

#define ERRCODE_SUCCESSFUL_COMPLETION "00000"
#define ERRCODE_CONNECTION_EXCEPTION "08000"
#define ERRCODE_CANNOT_CONNECT "08001" /* to a server */
#define ERRCODE_CONNECTION_FAILURE "08006"
#define ERRCODE_PROTOCOL_VIOLATION "08P01"
#define ERRCODE_FEATURE_NOT_SUPPORTED "0A000"
#define ERRCODE_NUMERIC_OUT_OF_RANGE "22003"
#define ERRCODE_NULL_VALUE_NOT_ALLOWED "22004"
#define ERRCODE_CHARACTER_NOT_IN_REPERTOIRE "22021"
#define ERRCODE_UNTRANSLATABLE_CHARACTER "22P05"
#define ERRCODE_INVALID_PARAMETER_VALUE "22023"
#define ERRCODE_INVALID_TEXT_REPRESENTATION "22P02"
#define ERRCODE_INVALID_BINARY_REPRESENTATION "22P03"
#define ERRCODE_READ_ONLY_SQL_TRANSACTION "25006"
#define ERRCODE_UNDEFINED_PSTATEMENT "26000"
#define ERRCODE_INVALID_AUTHORIZATION "28000"
#define ERRCODE_INVALID_PASSWORD "28P01"
#define ERRCODE_UNDEFINED_CURSOR "34000"
#define ERRCODE_UNDEFINED_DATABASE "3D000"
#define ERRCODE_INSUFFICIENT_PRIVILEGE "42501"
#define ERRCODE_SYNTAX_ERROR "42601"
#define ERRCODE_UNDEFINED_COLUMN "42703"
#define ERRCODE_UNDEFINED_OBJECT "42704"
#define ERRCODE_DUPLICATE_PSTATEMENT "42P05"
#define ERRCODE_OUT_OF_MEMORY "53200"
#define ERRCODE_TOO_MANY_CONNECTIONS "53300"
#define ERRCODE_LIMIT_EXCEEDED "53400" /* one of the configuration */
#define ERRCODE_WRONG_STATE "55000" /* OBJECT_NOT_IN_PREREQUISITE_STATE */
#define ERRCODE_OBJECT_IN_USE "55006"
#define ERRCODE_QUERY_CANCELED "57014"
#define ERRCODE_ADMIN_SHUTDOWN "57P01"
#define ERRCODE_CANNOT_CONNECT_NOW "57P03"
#define ERRCODE_SYSTEM_ERROR "58000"
#define ERRCODE_IO_ERROR "58030"
#define ERRCODE_UNDEFINED_FILE "58P01"
#define ERRCODE_CONFIG_FILE_ERROR "F0000"

/* Between a message and its detail, where there is one; its lines end in \n. */
#define ERR_DETAIL "\x1f"

struct err {
	char code[6];	 /* SQLSTATE, one of those above */
	char text[1018]; /* message for the user, no newline at the end */
};

/*
 * Fill e (which may be NULL) with a SQLSTATE and a formatted text, cut at the
 * size of the field.
 * Returns: always -1, so that `return err_set(...)` reads well.
 */
int err_set(struct err *e, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Out of memory, in the words of most places. Returns -1. */
int err_nomem(struct err *e);
bool err_is_nomem(const struct err *e);

/* Put "<formatted text>" in front of what e says already. Returns -1. */
int err_prepend(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
