/* login_guess.h - logins into databases whose names may be invented.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_LOGIN_GUESS_H
#define LOGIN_LOGIN_GUESS_H

#include <stdbool.h>

struct client;
struct database;
struct login;
struct sessions;

/*
 * With a "*" line and no auth_dbname, auth_query runs in the database that a
 * client names, and whoever invents names would have a server opened for each.
 * So in all databases that nobody has logged in to yet it is begun for so many
 * logins at a time, and for those of one address (of IPv6: /64) as long as they
 * are not more than half of what others leave, but for one.
 */
#define LOGIN_GUESSES_MAX 20

/* login.guess: does it wait for that, or has it begun? */
enum login_guess { GUESS_NONE, GUESS_WAITS, GUESS_BEGUN };

/* Several workers have one limit, which the first has (NULL: that is ss). */
void login_guess_share(struct sessions *ss, struct sessions *first);

/*
 * c is going to ask auth_query. true: it waits for others, not read, and go_on()
 * is called when its turn has come.
 */
bool login_guess_waits(struct client *c, void (*go_on)(struct client *c));
/* Nobody logs in by l any more; safe on one that never waited. */
void login_guess_leave(struct sessions *ss, struct login *l);
/* There is such a database: from now on others may be guessed at. */
void login_guess_right(struct sessions *ss, struct database *db);
/* From the janitor: those of databases that are gone are free again. */
void login_guess_tick(struct sessions *ss);

#endif
