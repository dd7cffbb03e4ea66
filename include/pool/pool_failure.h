/* pool_failure.h - why no server of a pool could be logged in.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_POOL_FAILURE_H
#define POOL_POOL_FAILURE_H

struct pool;

/*
 * A login failed, for this reason (NULL: no memory); or it did not. hint, a
 * constant, is what to do; NULL: nothing particular.
 */
void pool_fail(struct pool *p, const char *reason, const char *hint);
void pool_worked(struct pool *p);
/*
 * A connection of the attempt under way was not made: "Connection refused
 * (10.0.0.7:5432)". The pool_fail() that follows is about it.
 */
void pool_miss(struct pool *p, const char *what);
/*
 * The reason may be gone: the next attempt is due at once. p counts as failing
 * until that attempt works.
 */
void pool_retry_now(struct pool *p);
/* Why the latest login failed. */
const char *pool_failure(const struct pool *p);
/* What operators alone are told of it, besides; or NULL. */
const char *pool_failure_detail(const struct pool *p);
/* What to do about it. */
const char *pool_failure_hint(const struct pool *p);

#endif
