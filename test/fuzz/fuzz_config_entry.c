/* fuzz_config_entry.c - lines of [databases], [users] and [peers].
 * The first byte chooses which; the name, never empty, ends at the first NUL.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "conf/config.h"
#include "conf/config_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_err(const struct err *e)
{
	assert(e->text[0] != '\0' && strlen(e->code) == 5);
}

static void check_database(const char *name, const char *text)
{
	struct err e = { "", "" };
	struct config_db *db = config_db_parse(name, text, &e);

	if (db == NULL) {
		check_err(&e);
		return;
	}
	assert(strcmp(db->name, name) == 0 && strlen(name) < CONFIG_NAME_MAX);
	assert(db->dbname != NULL && db->dbname[0] != '\0');
	assert(db->port > 0 && db->port <= 65535);
	assert(db->pool_size >= CONFIG_UNSET);
	assert(db->query_wait_timeout >= CONFIG_UNSET);
	config_db_free(db);
}

static void check_user(const char *name, const char *text)
{
	struct err e = { "", "" };
	struct config_user *u = config_user_parse(name, text, &e);

	if (u == NULL) {
		check_err(&e);
		return;
	}
	assert(strcmp(u->name, name) == 0 && strlen(name) < CONFIG_USER_MAX);
	assert(u->pool_size >= CONFIG_UNSET);
	assert(u->query_timeout >= CONFIG_UNSET);
	config_user_free(u);
}

static void check_peer(const char *id, const char *text)
{
	struct err e = { "", "" };
	struct config_peer *p = config_peer_parse(id, text, &e);

	if (p == NULL) {
		check_err(&e);
		return;
	}
	assert(p->id > 0 && p->id < 1 << 14 && p->host != NULL);
	assert(p->port > 0 && p->port <= 65535);
	config_peer_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const checks[])(const char *, const char *) = {
		check_database, check_user, check_peer,
	};

	if (size < 3 || data[1] == '\0' ||
	    memchr(data + 1, '\0', size - 1) == NULL)
		return 0;
	/* to its last byte, so that a sanitizer sees what is read behind it */
	char *const copy = mem_strndup((const char *)data + 1, size - 1);
	const size_t n = strlen((const char *)data + 1);
	char *const text = mem_strndup((const char *)data + 2 + n,
	    size - 2 - n);

	assert(copy != NULL && text != NULL);
	checks[data[0] % 3](copy, text);
	mem_free(copy);
	mem_free(text);
	return 0;
}
