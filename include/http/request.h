/* request.h - the head of an HTTP request, parsed in its place.
 *
 * GET and HEAD without a body, which is all that is answered (RFC 9112). Host
 * tells http.h whether a browser was led here by another name.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

/* Texts are in the buffer that was parsed, and "" when they are not there. */
struct request {
	bool head;		/* HEAD: only the head of the answer is wanted */
	bool keep;		/* the connection may go on */
	bool chunks;		/* HTTP/1.1: knows a body in chunks */
	bool forwarded;		/* by a proxy, for a client anywhere */
	bool hosted;		/* host was there, perhaps empty */
	bool authorized;	/* authorization was there, perhaps empty */
	const char *path;	/* as sent: percent signs stay */
	const char *query;	/* text behind the ? */
	const char *accept;
	const char *authorization;
	const char *if_none_match;
	const char *host;
};

#define REQUEST_MORE 0		/* the head has not come to its end */
#define REQUEST_READY 200

/*
 * Parse the len bytes at buf, which is written to once the head is whole.
 * Returns REQUEST_MORE; REQUEST_READY, and *used is the length of the head; or
 * the status of the answer that refuses it.
 */
int request_parse(char *buf, size_t len, struct request *r, size_t *used);

/*
 * The value of a parameter of the query, decoded, in out. Returns false when it
 * is not there, is not decodable, or does not fit.
 */
bool request_parameter(const struct request *r, const char *name, char *out,
    size_t size);

/* "Not Found" of 404; "": not one of ours. */
const char *request_reason(int status);

#endif
