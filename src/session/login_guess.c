/* login_guess.c - logins into databases whose names may be invented.
 * SPDX-License-Identifier: ISC */
#include "session/login_guess.h"

#include <utlist.h>

#include "base/hash.h"
#include "base/net.h"
#include "pool/catalog.h"
#include "pool/database.h"
#include "session/auth_query.h"
#include "session/client.h"
#include "session/login_parts.h"
#include "session/sessions.h"

/* A few addresses do not take all the places: each next one gets fewer. */
static bool has_room(const struct client *c)
{
	const struct login *l;
	unsigned n = 0;

	DL_FOREACH2(c->ss->guessing, l, guess_next)
		n += net_same_site(&l->client->addr, &c->addr);
	const unsigned all = c->ss->guesses, others = n < all ? all - n : 0;

	return all < LOGIN_GUESSES_MAX &&
	    (n == 0 || n < (LOGIN_GUESSES_MAX - others) / 2);
}

static void begin(struct client *c)
{
	if (!c->db->tentative)
		return;
	c->db->guesses++;
	c->ss->guesses++;
	c->login->guess = GUESS_BEGUN;
	DL_APPEND2(c->ss->guessing, c->login, guess_prev, guess_next);
}

/* Does a login from the same address as c wait already? */
static bool is_behind(const struct client *c)
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

	if (!c->db->tentative || !auth_query_is_here(c))
		return false;
	if (c->login->guess == GUESS_BEGUN)
		return false;
	if (!is_behind(c) && has_room(c)) {
		begin(c);
		return false;
	}
	c->login->guess = GUESS_WAITS;
	c->login->guess_go_on = go_on;
	DL_APPEND2(ss->guessers, c->login, guess_prev, guess_next);
	stream_pause(&c->stream);
	return true;
}

void login_guess_leave(struct sessions *ss, struct login *l)
{
	if (l->guess == GUESS_WAITS)
		DL_DELETE2(ss->guessers, l, guess_prev, guess_next);
	else if (l->guess == GUESS_BEGUN)
		DL_DELETE2(ss->guessing, l, guess_prev, guess_next);
	l->guess = GUESS_NONE;
}

/* The oldest that may begin; NULL: none. */
static struct login *next_guesser(const struct sessions *ss)
{
	struct login *l;

	DL_FOREACH2(ss->guessers, l, guess_next) {
		if (has_room(l->client))
			return l;
	}
	return NULL;
}

static void serve(struct sessions *ss)
{
	struct login *l;

	while ((l = next_guesser(ss)) != NULL) {
		struct client *const c = l->client;

		login_guess_leave(ss, l);
		begin(c);
		stream_resume(&c->stream);
		l->guess_go_on(c);
	}
}

void login_guess_right(struct sessions *ss, struct database *db)
{
	ss->guesses -= db->guesses < ss->guesses ? db->guesses : ss->guesses;
	db->guesses = 0;
}

void login_guess_tick(struct sessions *ss)
{
	struct database *db, *next;

	if (ss->guesses == 0 && ss->guessers == NULL)
		return;
	ss->guesses = 0;
	HASH_ITER(hh, ss->catalog->databases, db, next) {
		if (db->tentative)
			ss->guesses += db->guesses;
	}
	serve(ss);
}
