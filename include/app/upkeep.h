/* upkeep.h - what a pool and a database need from time to time.
 * SPDX-License-Identifier: ISC */
#ifndef APP_UPKEEP_H
#define APP_UPKEEP_H

#include "base/time.h"

struct app;
struct client;
struct database;
struct pool;

/*
 * Time-outs of clients that wait and work in p, its idle servers, its size
 * (spec/pooling.md sections 7, 11, 12). May drop p, but no other pool.
 */
void upkeep_pool(struct app *app, struct pool *p, usec_t now);

/* c waits for the welcome, and client_login_timeout is over: tell it why. */
void upkeep_fail_login(struct app *app, struct client *c, usec_t now);

/* The pool of a forced user; the end of an automatic one. May drop db. */
void upkeep_database(struct app *app, struct database *db, usec_t now);

#endif
