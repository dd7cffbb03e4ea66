/* token.c - a secret that a file holds, kept as its digest.
 * SPDX-License-Identifier: ISC */
#include "conf/token.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/input.h"
#include "base/text.h"
#include "conf/file.h"

int token_load(const char *path, struct token *t, struct err *e)
{
	struct file_text f = { 0 };
	int rc = 0;

	*t = (struct token){ .given = false };
	if (path[0] == '\0')
		return 0;
	if (file_read(path, &f) != 0)
		return err_set(e, ERRCODE_UNDEFINED_FILE, "could not open "
		    "http_auth_token_file %s: %s", path, input_why(errno));
	const char *const begin = f.at + strspn(f.at, " \t");
	const size_t len = strcspn(begin, " \t\r\n");
	const unsigned nul = text_nul_line(f.at, f.len);

	if (nul > 0)
		rc = err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "NUL byte in http_auth_token_file %s, line %u", path, nul);
	else if (len == 0)
		rc = err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "http_auth_token_file %s has no token in its first line",
		    path);
	else if (crypto_sha256(begin, len, t->digest) != 0)
		rc = err_nomem(e);
	t->given = rc == 0;
	file_text_fini(&f);
	return rc;
}

bool token_is(const struct token *t, const char *given)
{
	uint8_t digest[SHA256_BYTES];

	return crypto_sha256(given, strlen(given), digest) == 0 &&
	    crypto_equal(digest, t->digest, sizeof digest);
}
