/* channels_send.h - notifications as messages; they are sent to a client
 * between two other messages.
 * SPDX-License-Identifier: ISC */
#ifndef NOTIFY_CHANNELS_SEND_H
#define NOTIFY_CHANNELS_SEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct writer;

/*
 * The channel on which a client learns that it may have missed notifications.
 */
#define CHANNELS_RECONNECTED "pgsluice.reconnected"

/* A NotificationResponse. All pointers lead into the message. */
struct notification {
	uint32_t pid;
	const char *channel, *payload;
};

/* Returns false if the message is malformed. */
bool channels_parse(const uint8_t *m, size_t size, struct notification *out);
/* Writes: command "name"; */
void channels_write(struct writer *w, const char *command, const char *name);
/*
 * Sends whole messages to c when it is between two others. May close c if it
 * reads too slowly.
 */
void channels_send(struct client *c, const void *p, size_t n);
/* Keeps messages until the move of c is over. */
void channels_keep(struct client *c, const void *p, size_t n);
/*
 * Keeps a notification that c sent to itself, from a server that it does not
 * hear. It is sent if the channel turns out to be c's own.
 */
void channels_keep_early(struct client *c, const void *p, size_t n);
void channels_tell_early(struct client *c);
/*
 * Ends the move of c if both connections have told the mark. channels_flush()
 * sends what waited.
 */
void channels_end_move(struct client *c);
/* c may be between two messages: sends what has waited. May close c. */
void channels_flush(struct client *c);

#endif
