/* login_guess.c - logins into databases whose names may be invented.
 * SPDX-License-Identifier: ISC */
#include "session/login_guess.h"

#include <utlist.h>

#include "base/hash.h"
#include "pool/catalog.h"
#include "pool/database.h"
#include "session/auth_query.h"
#include "session/client.h"
#include "session/login_parts.h"
#include "session/sessions.h"

static bool has_room(const struct sessions *ss)
{
	return ss->guesses < LOGIN_GUESSES_MAX;
}

static void begin(struct client *c)
{
	if (!c->db->tentative)
		return;
	c->db->guesses++;
	c->ss->guesses++;
}

bool login_guess_waits(struct client *c, void (*go_on)(struct client *c))
{
	struct sessions *const ss = c->ss;

	if (!c->db->tentative || !auth_query_is_here(c))
		return false;
	if (has_room(ss) && ss->guessers == NULL) {
		begin(c);
		return false;
	}
	c->login->guess_waits = true;
	c->login->guess_go_on = go_on;
	DL_APPEND2(ss->guessers, c->login, guess_prev, guess_next);
	stream_pause(&c->stream);
	return true;
}

void login_guess_leave(struct sessions *ss, struct login *l)
{
	if (!l->guess_waits)
		return;
	l->guess_waits = false;
	DL_DELETE2(ss->guessers, l, guess_prev, guess_next);
}

static void serve(struct sessions *ss)
{
	struct login *l;

	while (has_room(ss) && (l = ss->guessers) != NULL) {
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
