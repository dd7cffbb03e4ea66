/* type_oid.h - what PostgreSQL calls its types on the wire (pg_type.dat).
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_TYPE_OID_H
#define PROTO_TYPE_OID_H

#include <stdbool.h>
#include <stdint.h>

enum type_oid {
	TYPE_NAME = 19,
	TYPE_INT8 = 20,
	TYPE_INT2 = 21,
	TYPE_INT4 = 23,
	TYPE_TEXT = 25,
	TYPE_UNKNOWN = 705,
	TYPE_BPCHAR = 1042,
	TYPE_VARCHAR = 1043,
};

static inline bool type_is_integer(uint32_t oid)
{
	return oid == TYPE_INT8 || oid == TYPE_INT2 || oid == TYPE_INT4;
}

/* Types whose values are the same bytes in text and in binary format. */
static inline bool type_is_text(uint32_t oid)
{
	return oid == TYPE_TEXT || oid == TYPE_VARCHAR || oid == TYPE_BPCHAR ||
	    oid == TYPE_NAME || oid == TYPE_UNKNOWN;
}

#endif
