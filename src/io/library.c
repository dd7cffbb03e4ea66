/* library.c - which libraries this process runs with.
 * SPDX-License-Identifier: ISC */
#include "io/library.h"

#include <ares.h>
#include <event2/event.h>
#include <openssl/crypto.h>

const char *library_libevent(void)
{
	return event_get_version();
}

const char *library_dns(void)
{
	/* the header's: no call is worth a buffer that lives on */
	return "c-ares " ARES_VERSION_STR;
}

const char *library_tls(void)
{
	return OpenSSL_version(OPENSSL_VERSION);
}
