/* mock.c - how missing users look like existing users.
 * (spec/authentication.md section 7)
 * SPDX-License-Identifier: ISC */
#include "conf/mock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "conf/config.h"
#include "conf/file.h"
#include "conf/userlist.h"

#define SECRET_FILE_MIN 16	/* bytes */

static const char purpose[] = "pgsluice mock authentication";

bool mock_shape_of(const char *secret, struct mock_shape *out)
{
	struct scram_verifier v;

	*out = (struct mock_shape){ false, { 0, SCRAM_SALT_BYTES } };
	switch (secret_kind(secret)) {
	case SECRET_PLAIN:
	case SECRET_MD5:
		return true;
	case SECRET_SCRAM:
		break;
	case SECRET_NONE:
	case SECRET_UNUSABLE:
		return false;
	}
	if (scram_verifier_parse(&v, secret) != 0)
		return false;
	*out = (struct mock_shape){ true, { v.iterations, v.salt_len } };
	secret_wipe(&v, sizeof v);
	return true;
}

bool mock_shape_equal(const struct mock_shape *a, const struct mock_shape *b)
{
	return a->scram == b->scram &&
	    a->salt.iterations == b->salt.iterations &&
	    a->salt.salt_len == b->salt.salt_len;
}

/* --- the auth file --- */

struct survey {
	struct scram_shape *scram;	/* owned: of each secret that is one */
	size_t scrams, plains, md5s;
	uint8_t digest[SHA256_BYTES];	/* of all secrets */
};

static int mock_look(const char *name, const char *secret, void *arg)
{
	struct survey *const s = arg;
	struct mock_shape shape;

	(void)name;
	if (!mock_shape_of(secret, &shape))
		return 0;
	if (shape.scram)
		s->scram[s->scrams++] = shape.salt;
	else if (secret_kind(secret) == SECRET_MD5)
		s->md5s++;
	else
		s->plains++;
	return crypto_hmac_sha256(s->digest, sizeof s->digest, secret,
	    strlen(secret), s->digest);
}

static int mock_compare(const void *a, const void *b)
{
	const struct scram_shape *const x = a, *const y = b;

	if (x->iterations != y->iterations)
		return x->iterations < y->iterations ? -1 : 1;
	return (x->salt_len > y->salt_len) - (x->salt_len < y->salt_len);
}

/* The most frequent one; plain secrets have ours, md5 ones none. */
static struct scram_shape most_frequent(struct survey *s)
{
	struct scram_shape best = { 0, SCRAM_SALT_BYTES };
	size_t most = s->plains, run = 0;

	if (s->scrams > 0)
		qsort(s->scram, s->scrams, sizeof *s->scram, mock_compare);
	for (size_t i = 0; i < s->scrams; i++) {
		run = i > 0 && mock_compare(&s->scram[i - 1], &s->scram[i]) == 0 ?
		    run + 1 : 1;
		if (run >= most) {
			most = run;
			best = s->scram[i];
		}
	}
	return best;
}

static int survey(const struct userlist *list, struct survey *s,
    struct mock_shape *out)
{
	s->scram = mem_alloc((userlist_count(list) + 1) * sizeof *s->scram);
	if (s->scram == NULL)
		return -1;
	const int rc = userlist_each(list, mock_look, s);

	out->scram = s->scrams > s->plains + s->md5s;
	out->salt = most_frequent(s);
	mem_free(s->scram);
	return rc;
}

/* Nobody guesses a weak password of the file faster than this. */
static int derive_slowly(struct survey *s, uint8_t seed[SHA256_BYTES])
{
	char text[CRYPTO_BASE64_SIZE(SHA256_BYTES)];

	crypto_base64_encode(s->digest, sizeof s->digest, text);
	const int rc = crypto_derive_slowly(text, purpose, sizeof purpose,
	    seed);

	secret_wipe(text, sizeof text);
	return rc;
}

static bool is_unchanged(const struct config *c, const struct config *prev)
{
	return prev != NULL && prev->userlist == c->userlist &&
	    prev->set.auth_mock_secret_file[0] == '\0';
}

/* --- the secret file --- */

static int read_seed(const char *path, uint8_t seed[SHA256_BYTES],
    struct err *e)
{
	struct file_text f = { 0 };
	int rc = 0;

	if (file_read(path, &f) != 0)
		return err_set(e, ERRCODE_UNDEFINED_FILE, "could not open "
		    "auth_mock_secret_file %s: %s", path, input_why(errno));
	if (f.len < SECRET_FILE_MIN)
		rc = err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "auth_mock_secret_file %s is too short: it needs %d bytes",
		    path, SECRET_FILE_MIN);
	else if (crypto_hmac_sha256(purpose, sizeof purpose, f.at, f.len,
	    seed) != 0)
		rc = err_nomem(e);
	file_text_fini(&f);
	return rc;
}

int mock_load(struct config *c, const struct config *prev, struct err *e)
{
	const char *const path = c->set.auth_mock_secret_file;
	struct mock *const m = &c->mock;
	struct survey s = { .scram = NULL };
	int rc = 0;

	*m = (struct mock){ .shape.salt = { 0, SCRAM_SALT_BYTES } };
	if (c->userlist != NULL)
		rc = survey(c->userlist, &s, &m->shape);
	m->seeded = s.scrams + s.plains + s.md5s > 0;
	if (path[0] != '\0') {
		m->seeded = true;
		if (rc == 0 && read_seed(path, m->seed, e) != 0)
			return -1;
	} else if (rc == 0 && m->seeded && is_unchanged(c, prev)) {
		memcpy(m->seed, prev->mock.seed, sizeof m->seed);
	} else if (rc == 0 && m->seeded) {
		rc = derive_slowly(&s, m->seed);
	}
	secret_wipe(s.digest, sizeof s.digest);
	return rc == 0 ? 0 : err_nomem(e);
}
