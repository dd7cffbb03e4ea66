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
/* Sends the complete sql. Returns 0, or -1 (s is closed). */
int listener_ask(struct server *s, struct writer *sql,
    enum own_query query);
/* Do n bytes contain this word, which is in lower case? */
bool listener_has(const uint8_t *p, size_t n, const char *word);
/* Writes a NOTIFY of the mark with this number. */
void listener_write_mark(const struct listener *l, uint32_t mark,
    struct writer *w);
/* Returns a number that no mark on its way has. */
uint32_t listener_draw(struct listener *l);

/* The EAR_... bit of s, which is one of the two connections. */
uint8_t listener_ear(const struct listener *l, const struct server *s);
/* May a question be sent to s? */
bool listener_is_free(const struct server *s);
/* Makes s listen to all channels that it must hear. False: nothing to do. */
bool listener_synchronize(struct listener *l, struct server *s);
/* Forgets what the connection of this bit has listened to. */
void listener_forget_ear(struct listener *l, uint8_t ear);
/*
 * The clients of the connection have lost notifications. They are told when
 * they are heard again.
 */
void listener_lose(struct listener *l);
void listener_restore(struct listener *l);
/*
 * c will not listen to anything. If the connection was lost before, c is told
 * now. May close c.
 */
void listener_tell_lost(struct client *c);
/*
 * c hears everything from its server, and may have missed something. May close
 * c.
 */
void listener_hear_server(struct client *c);
/*
 * Sends a mark by s. At the mark, the streams of s and of the listener meet,
 * and the client changes its source (becomes). Returns 0, or -1 (s is closed).
 */
int listener_send_mark(struct listening *g, struct server *s,
    enum hears becomes);

/* The client continues after its mark, and after the listener's next answer. */
void listener_ask_again(struct listening *g);

/* The next step of a replacement. False: ask server nothing. */
bool listener_replace(struct listener *l);
/* s, one of the two, has answered. Was that a step of the replacement? */
bool listener_replace_answered(struct listener *l, const struct server *s);
/* The replacement was lost. */
void listener_replace_failed(struct listener *l);

/* Sends a whole notification to the clients of its channel. */
void listener_tell(struct listener *l, const uint8_t *m, size_t size);

#endif
