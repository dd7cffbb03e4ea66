/* login_shape.c - what most secrets look like that auth_query has found.
 * (spec/authentication.md section 7)
 * SPDX-License-Identifier: ISC */
#include "login/login_shape.h"

#include "login/auth_query.h"
#include "session/client.h"
#include "session/sessions.h"

#define VOTES_MAX 100	/* what has become another is noticed then */

static struct lookups *login_shape_lock(struct sessions *ss)
{
	struct lookups *const l = ss->lookups != NULL ? ss->lookups :
	    &ss->own_lookups;

	if (ss->others > 0)
		pthread_mutex_lock(&l->lock);
	return l;
}

static void login_shape_unlock(const struct sessions *ss, struct lookups *l)
{
	if (ss->others > 0)
		pthread_mutex_unlock(&l->lock);
}

void login_shape_share(struct sessions *ss, struct sessions *first)
{
	if (first == NULL)
		pthread_mutex_init(&ss->own_lookups.lock, NULL);
	else
		ss->lookups = &first->own_lookups;
}

static void vote(struct lookups *l, const struct mock_shape *shape)
{
	if (mock_shape_equal(shape, &l->shape)) {
		if (l->votes < VOTES_MAX)
			l->votes++;
	} else if (l->votes > 0) {
		l->votes--;
	} else {
		l->shape = *shape;
	}
}

void login_shape_learn(struct sessions *ss, const char *secret)
{
	struct mock_shape shape;

	if (!mock_shape_of(secret, &shape))
		return;
	struct lookups *const l = login_shape_lock(ss);

	vote(l, &shape);
	login_shape_unlock(ss, l);
}

const struct mock_shape *login_shape(const struct client *c)
{
	struct sessions *const ss = c->ss;

	if (!auth_query_is_meant(c))
		return &ss->mock_shape;
	struct lookups *const l = login_shape_lock(ss);

	ss->lookup_shape = l->shape;
	login_shape_unlock(ss, l);
	return &ss->lookup_shape;
}
