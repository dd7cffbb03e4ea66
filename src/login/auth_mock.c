/* auth_mock.c - what users who don't exist are shown, and the salts of all.
 * (spec/authentication.md section 7)
 * SPDX-License-Identifier: ISC */
#include "login/auth_parts.h"
#include "proto/scram.h"

static struct scram_shape shape_of(const struct auth_request *rq)
{
	struct scram_shape s = { 0, SCRAM_SALT_BYTES };

	if (rq->mock_shape != NULL)
		s = rq->mock_shape->salt;
	if (s.iterations == 0)
		s.iterations = rq->scram_iterations;
	return s;
}

int auth_mock_verifier(const struct auth_request *rq,
    struct scram_verifier *v)
{
	const struct scram_shape s = shape_of(rq);

	return scram_verifier_mock(v, rq->user, rq->mock_salt, &s);
}

int auth_own_salt(const struct auth_request *rq, uint8_t *out)
{
	return scram_mock_salt(rq->mock_salt, rq->user, out,
	    SCRAM_SALT_BYTES);
}
