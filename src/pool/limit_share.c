/* limit_share.c - what workers have together of a user, database or pool.
 * SPDX-License-Identifier: ISC */
#include "pool/limit_share.h"

#include <stdio.h>
#include <string.h>

#include "base/ledger.h"
#include "base/mem.h"

int limit_share_open(struct limit_share *s, struct ledger_book *book,
    unsigned worker, struct limit_name of)
{
	static const char kinds[LIMIT_SHARES] = {
		[LIMIT_DB] = 'd', [LIMIT_USER] = 'u', [LIMIT_POOL] = 'p',
	};
	const char *const user = of.user != NULL ? of.user : "";
	const size_t length = strlen(of.name);
	/* "a" and "bc" are not "ab" and "c" */
	const size_t size = sizeof "d18446744073709551615:" + length +
	    strlen(user);
	char *const name = mem_alloc(size);

	if (name == NULL)
		return -1;
	snprintf(name, size, "%c%zu:%s%s", kinds[s->kind], length, of.name,
	    user);
	s->ledger = ledger_open(book, worker, name, s);
	mem_free(name);
	return s->ledger != NULL ? 0 : -1;
}

void limit_share_close(struct limit_share *s)
{
	ledger_close(&s->ledger);
	s->promised = false;
}
