/* md5.c - PostgreSQL's md5 password method.
 * SPDX-License-Identifier: ISC */
#include "proto/md5.h"

#include <string.h>

#include "base/crypto.h"

#define PREFIX "md5"
#define PREFIX_LEN (sizeof PREFIX - 1)

bool md5_is_secret(const char *secret)
{
	return strncmp(secret, PREFIX, PREFIX_LEN) == 0 &&
	    strlen(secret) == MD5_SECRET_LEN &&
	    strspn(secret + PREFIX_LEN, "0123456789abcdef") == MD5_HEX_BYTES;
}

/* PostgreSQL docs, Message Flow, AuthenticationMD5Password. */
int md5_secret(const char *password, const char *user,
    char out[MD5_SECRET_LEN + 1])
{
	char hex[MD5_HEX_BYTES + 1];

	out[0] = '\0';
	if (crypto_md5_hex(password, strlen(password), user, strlen(user),
		hex) != 0)
		return -1;
	memcpy(out, PREFIX, PREFIX_LEN);
	memcpy(out + PREFIX_LEN, hex, sizeof hex);
	secret_wipe(hex, sizeof hex);
	return 0;
}

int md5_response(const char *secret, const uint8_t salt[4],
    char out[MD5_SECRET_LEN + 1])
{
	char hex[MD5_HEX_BYTES + 1];

	out[0] = '\0';
	if (!md5_is_secret(secret))
		return -1;
	if (crypto_md5_hex(secret + PREFIX_LEN, MD5_HEX_BYTES, salt, 4, hex) !=
	    0)
		return -1;
	memcpy(out, PREFIX, PREFIX_LEN);
	memcpy(out + PREFIX_LEN, hex, sizeof hex);
	return 0;
}
