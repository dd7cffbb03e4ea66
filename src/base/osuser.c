/* osuser.c - the users of the system.
 * SPDX-License-Identifier: ISC */
#include "base/osuser.h"

#include <errno.h>
#include <pwd.h>

#include "base/mem.h"
#include "base/num.h"

#define ENTRY_MAX (1 << 20)	/* bytes of a line of passwd(5) */

int osuser_find(const char *text, uid_t *uid)
{
	struct passwd entry, *p = NULL;
	uint32_t n;
	int rc = ERANGE;

	/* the last number means nobody to the kernel */
	if (num_parse_u32(text, &n) == 0 && n != UINT32_MAX) {
		*uid = (uid_t)n;
		return 0;
	}
	for (size_t size = 1024; rc == ERANGE && size <= ENTRY_MAX; size *= 4) {
		char *buf = mem_alloc(size);

		if (buf == NULL) {
			errno = ENOMEM;
			return -1;
		}
		rc = getpwnam_r(text, &entry, buf, size, &p);
		if (rc == 0 && p != NULL)
			*uid = p->pw_uid;
		mem_free(buf);
	}
	if (rc == 0 && p != NULL)
		return 0;
	errno = rc == ENOMEM ? ENOMEM : ENOENT;
	return -1;
}
