/* server_hint.h - what to do about a server that does not let us in.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_SERVER_HINT_H
#define SESSION_SERVER_HINT_H

/* About the secret that the server does not take; for HINT and the log. */
#define SERVER_HINT_SECRET \
	"The server wants the secret that it has itself: \"pgsluicectl " \
	"userlist import\" takes it into auth_file; or write user= and " \
	"password= into the line of [databases]."
/* ... which is the server's, and does for clients that prove themselves. */
#define SERVER_HINT_KEYS \
	"A SCRAM secret opens the server only behind a client that has logged " \
	"in by SCRAM: set auth_type = scram-sha-256, or write user= and " \
	"password= into the line of [databases]."
#define SERVER_HINT_METHOD \
	"Let pg_hba.conf of the server ask for scram-sha-256 where pgsluice " \
	"comes from."

/*
 * What to do when a server refuses a login with this SQLSTATE, and these words;
 * NULL: there is nothing to add to them.
 */
const char *server_hint(const char *sqlstate, const char *message);

#endif
