/* login_database.h - the database that a login or its auth_query asks for.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_LOGIN_DATABASE_H
#define LOGIN_LOGIN_DATABASE_H

struct client;
struct database;
struct err;

/*
 * Unknown names with a "*" line become a database, else NULL. That database
 * goes with the last login that wants it, unless one is through: strangers make
 * none that stay. NULL with e where there is no memory; else e has no code.
 */
struct database *login_find_database(struct client *c, const char *name,
    struct err *e);
void login_keep_database(const struct client *c, struct database *db);

#endif
