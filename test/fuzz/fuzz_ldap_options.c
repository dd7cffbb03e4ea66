/* fuzz_ldap_options.c - any bytes as the options of an LDAP directory.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "conf/ldap_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *const text = malloc(size + 1);
	struct ldap_options o;
	struct err e = { 0 };

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (ldap_options_parse(&o, text, &e) == 0) {
		const int simple = o.prefix != NULL || o.suffix != NULL;

		assert(simple != ldap_options_search(&o));
		assert(ldap_options_port(&o) != 0);
		assert(!o.tls || !o.ldaps);
	} else {
		assert(e.text[0] != '\0' && o.server == NULL);
	}
	ldap_options_fini(&o);
	free(text);
	return 0;
}
