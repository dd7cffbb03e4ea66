/* fuzz_connstr.c - any bytes as the value of a database, a user and a peer.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "conf/config.h"
#include "conf/config_parts.h"
#include "conf/connstr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pairs(char *text, size_t size)
{
	struct connstr c;
	struct connstr_pair p;
	struct err e = { 0 };
	enum connstr_step step;

	connstr_init(&c, text);
	while ((step = connstr_next(&c, &p, &e)) == CONNSTR_PAIR) {
		assert(p.key[0] != '\0' && p.value[0] != '\0');
		assert(p.key >= text && p.value <= text + size);
	}
	assert((step == CONNSTR_BAD) == (e.text[0] != '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *const text = malloc(size + 1);
	struct err e = { 0 };

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';

	struct config_db *const db = config_db_parse("d", text, &e);
	assert(db != NULL || e.text[0] != '\0');
	assert(db == NULL || (db->dbname != NULL && db->port > 0));
	config_db_free(db);
	config_user_free(config_user_parse("u", text, &e));
	config_peer_free(config_peer_parse("1", text, &e));
	check_pairs(text, size);
	free(text);
	return 0;
}
