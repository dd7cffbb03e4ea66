/* login_guess.c - logins into databases whose names may be invented.
 * SPDX-License-Identifier: ISC */
#include "login/login_guess.h"

#include <utlist.h>

#include "base/hash.h"
#include "base/net.h"
#include "login/auth_query.h"
#include "login/login_parts.h"
#include "pool/catalog.h"
#include "session/client.h"
#include "session/sessions.h"

/* --- what all workers have begun --- */

static struct guessing *login_guess_lock(struct sessions *ss)
{
	struct guessing *const g = ss->guessing != NULL ? ss->guessing :
	    &ss->own_guessing;

	if (ss->others > 0)
		pthread_mutex_lock(&g->lock);
	return g;
}

static void login_guess_unlock(const struct sessions *ss, struct guessing *g)
{
	if (ss->others > 0)
		pthread_mutex_unlock(&g->lock);
}

void login_guess_share(struct sessions *ss, struct sessions *first)
{
	if (first == NULL)
		pthread_mutex_init(&ss->own_guessing.lock, NULL);
	else
		ss->guessing = &first->own_guessing;
}

/* This worker has n now. */
static void put_count(struct sessions *ss, unsigned n)
{
	struct guessing *const g = login_guess_lock(ss);

	g->count = g->count - ss->guesses + n;
	ss->guesses = n;
	login_guess_unlock(ss, g);
}

/*
 * A few addresses do not take all the places: each next one gets fewer. With the
 * lock: whose address it is does not change, nor goes before it has left.
 */
static bool login_guess_has_room(const struct guessing *g,
    const struct client *c)
{
	const struct login *l;
	unsigned n = 0;

	DL_FOREACH2(g->begun, l, guess_next)
		n += net_same_site(&l->client->addr, &c->addr);
	const unsigned all = g->count, others = n < all ? all - n : 0;

	return all < LOGIN_GUESSES_MAX &&
	    (n == 0 || n < (LOGIN_GUESSES_MAX - others) / 2);
}

static void login_guess_count(struct guessing *g, struct client *c)
{
	struct login *const l = c->login;

	c->db->guesses++;
	c->ss->guesses++;
	g->count++;
	l->guess = GUESS_BEGUN;
	DL_APPEND2(g->begun, l, guess_prev, guess_next);
}

/* Returns whether it may; looked at and taken at once. */
static bool login_guess_begin(struct client *c)
{
	struct guessing *const g = login_guess_lock(c->ss);
	const bool may = login_guess_has_room(g, c);

	if (may)
		login_guess_count(g, c);
	login_guess_unlock(c->ss, g);
	return may;
}

/* --- who waits, on this worker --- */

/* Does a login from the same address as c wait already? */
static bool login_guess_is_behind(const struct client *c)
{
	const struct login *l;

	DL_FOREACH2(c->ss->guessers, l, guess_next) {
		if (net_same_site(&l->client->addr, &c->addr))
			return true;
	}
	return false;
}

bool login_guess_waits(struct client *c, void (*go_on)(struct client *c))
{
	struct sessions *const ss = c->ss;

	if (!auth_query_is_here(c) || !c->db->tentative)
		return false;
	if (c->login->guess == GUESS_BEGUN)
		return false;
	if (!login_guess_is_behind(c) && login_guess_begin(c))
		return false;
	c->login->guess = GUESS_WAITS;
	c->login->guess_go_on = go_on;
	DL_APPEND2(ss->guessers, c->login, guess_prev, guess_next);
	stream_pause(&c->stream);
	return true;
}

static void login_guess_forget(struct sessions *ss, struct login *l)
{
	struct guessing *const g = login_guess_lock(ss);

	DL_DELETE2(g->begun, l, guess_prev, guess_next);
	login_guess_unlock(ss, g);
}

void login_guess_leave(struct sessions *ss, struct login *l)
{
	if (l->guess == GUESS_WAITS)
		DL_DELETE2(ss->guessers, l, guess_prev, guess_next);
	else if (l->guess == GUESS_BEGUN)
		login_guess_forget(ss, l);
	l->guess = GUESS_NONE;
}

/* The oldest that may begin, and has, but if its database exists by now. */
static struct login *take_guesser(struct sessions *ss)
{
	struct guessing *const g = login_guess_lock(ss);
	struct login *l;

	DL_FOREACH2(ss->guessers, l, guess_next) {
		if (login_guess_has_room(g, l->client))
			break;
	}
	if (l != NULL) {
		DL_DELETE2(ss->guessers, l, guess_prev, guess_next);
		l->guess = GUESS_NONE;
		if (l->client->db->tentative)
			login_guess_count(g, l->client);
	}
	login_guess_unlock(ss, g);
	return l;
}

static void serve(struct sessions *ss)
{
	struct login *l;

	while (ss->guessers != NULL && (l = take_guesser(ss)) != NULL) {
		struct client *const c = l->client;

		stream_resume(&c->stream);
		l->guess_go_on(c);
	}
}

void login_guess_right(struct sessions *ss, struct database *db)
{
	put_count(ss, db->guesses < ss->guesses ? ss->guesses - db->guesses :
	    0);
	db->guesses = 0;
}

void login_guess_tick(struct sessions *ss)
{
	struct database *db, *next;
	unsigned n = 0;

	if (ss->guesses == 0 && ss->guessers == NULL)
		return;
	HASH_ITER(hh, ss->catalog->databases, db, next) {
		if (db->tentative)
			n += db->guesses;
	}
	put_count(ss, n);
	serve(ss);
}
