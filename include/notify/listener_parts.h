/* listener_parts.h - what the files of the listener share; for these only.
 * SPDX-License-Identifier: ISC */
#ifndef NOTIFY_LISTENER_PARTS_H
#define NOTIFY_LISTENER_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "notify/channels.h"
#include "proto/msg.h"
#include "session/server.h"

struct client;
struct listener;
struct listening;

#define LISTENER_SQL (1 << 18)	/* bytes of one query */

void listener_text(struct writer *w, const char *s);
/* sql is complete. 0 or -1 (s is closed). */
int listener_ask(struct server *s, struct writer *sql,
    enum own_query query);
/* Is the word, of small letters, in n bytes? */
bool listener_has(const uint8_t *p, size_t n, const char *word);
/* The mark of that number: whoever listens to it is told. */
void listener_write_mark(const struct listener *l, uint32_t mark,
    struct writer *w);
/* A number that no mark has which is on its way. */
uint32_t listener_draw(struct listener *l);

/* EAR_... of s, one of both connections. */
uint8_t listener_ear(const struct listener *l, const struct server *s);
/* May s be asked? */
bool listener_is_free(const struct server *s);
/* s is asked for all that it does not do yet. False: that is nothing. */
bool listener_synchronize(struct listener *l, struct server *s);
/* That ear is closed. */
void listener_forget_ear(struct listener *l, uint8_t ear);
/* Who has heard the connection has lost something; back where it is heard. */
void listener_lose(struct listener *l);
void listener_restore(struct listener *l);
/*
 * c is to listen to nothing: if the connection was lost before, it is told now.
 * May close c.
 */
void listener_tell_lost(struct client *c);
/* c has all from its server, and may have lost something. May close c. */
void listener_hear_server(struct client *c);
/*
 * The streams of s and of the listener meet there. What a client has from one of
 * them is to come from the other (becomes) from then on. 0 or -1 (s is closed).
 */
int listener_send_mark(struct listening *g, struct server *s,
    enum hears becomes);

/* The client goes on when its mark is told, and then the listener has answered. */
void listener_ask_again(struct listening *g);

/* Go on with a replacement. False: server is to be asked nothing. */
bool listener_replace(struct listener *l);
/* s, one of both, has answered: was that a step of it? */
bool listener_replace_answered(struct listener *l, const struct server *s);
/* The next one is gone. */
void listener_replace_failed(struct listener *l);

/* A whole notification is for whoever listens to it. */
void listener_tell(struct listener *l, const uint8_t *m, size_t size);

#endif
