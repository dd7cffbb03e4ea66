/* channels_send.h - notifications as messages; to a client, between others.
 * SPDX-License-Identifier: ISC */
#ifndef NOTIFY_CHANNELS_SEND_H
#define NOTIFY_CHANNELS_SEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct writer;

/* Where a client is told that it may have missed something. */
#define CHANNELS_RECONNECTED "pgsluice.reconnected"

/* A NotificationResponse; all point into the message. */
struct notification {
	uint32_t pid;
	const char *channel, *payload;
};

/* Returns false when its layout is broken. */
bool channels_parse(const uint8_t *m, size_t size, struct notification *out);
/* command "name"; */
void channels_write(struct writer *w, const char *command, const char *name);
/*
 * Whole messages for c, which listens: they go when c is between two others.
 * May close c: it reads too slowly.
 */
void channels_send(struct client *c, const void *p, size_t n);
/* The same, but they are to come behind what ends the move of c. */
void channels_keep(struct client *c, const void *p, size_t n);
/*
 * What c has told itself, by a server that it does not hear: it comes when the
 * channel is one of its own.
 */
void channels_keep_early(struct client *c, const void *p, size_t n);
void channels_tell_early(struct client *c);
/*
 * If both have told the mark: all is as it was to be. What is due waits for
 * channels_flush().
 */
void channels_end_move(struct client *c);
/* c may be between two messages: what has waited goes. May close c. */
void channels_flush(struct client *c);

#endif
