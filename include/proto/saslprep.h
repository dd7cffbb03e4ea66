/* saslprep.h - RFC 4013 by libidn's stringprep.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_SASLPREP_H
#define PROTO_SASLPREP_H

/*
 * Longer passwords that are not ASCII are used as they are: normalising takes
 * time that grows with the square of the length.
 */
#define SASLPREP_BYTES_MAX 8192

/*
 * Returns the prepared password, heap, owned by the caller (secret_free); the
 * raw bytes when SASLprep rejects them, as PostgreSQL does. NULL: no memory.
 */
char *saslprep(const char *password);

#endif
