/* config_access.c - files that are not for everybody's eyes.
 * SPDX-License-Identifier: ISC */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/input.h"
#include "conf/config.h"
#include "conf/config_parts.h"
#include "conf/userlist.h"

#define LINE_MAX_BYTES 2048

struct search {
	config_exposed_fn *found;
	void *arg;
};

/*
 * A file that others may read is no secret, one that they may write no
 * authority.
 */
static void look_at(const struct search *s, const char *what,
    const char *path)
{
	char line[LINE_MAX_BYTES];
	struct stat st;

	/* of one that cannot be found others tell */
	if (path == NULL || path[0] == '\0' || input_begin(path) < 0)
		return;
	const bool found = stat(path, &st) == 0;

	input_watch_end();
	if (!found || !S_ISREG(st.st_mode) ||
	    (st.st_mode & (S_IROTH | S_IWOTH)) == 0)
		return;
	const enum config_exposure how = (st.st_mode & S_IWOTH) != 0 ?
	    CONFIG_WRITABLE : CONFIG_READABLE;

	snprintf(line, sizeof(line), "%s \"%s\" can be %s by everybody (mode "
	    "%04o)", what, path, how == CONFIG_WRITABLE ? "changed" : "read",
	    (unsigned)st.st_mode & 07777);
	s->found(s->arg, how, line);
}

/* MIT Kerberos: a keytab without a type is a file. */
static void look_at_keytab(const struct search *s, const char *what,
    const char *name)
{
	static const char type[] = "FILE:";
	const bool typed = name != NULL &&
	    strncmp(name, type, strlen(type)) == 0;

	look_at(s, what, typed ? name + strlen(type) : name);
}

void config_find_exposed(struct config *c, config_exposed_fn *found,
    void *arg)
{
	const struct search s = { found, arg };
	const struct settings *const set = &c->set;

	if (set->auth_type != AUTH_ANY && set->auth_type != AUTH_PAM)
		look_at(&s, "auth_file", set->auth_file);
	look_at(&s, "auth_mock_secret_file", set->auth_mock_secret_file);
	if (set->client_tls_sslmode != SSLMODE_DISABLE)
		look_at(&s, "client_tls_key_file", set->client_tls_key_file);
	look_at(&s, "server_tls_key_file", set->server_tls_key_file);
	look_at(&s, "http_tls_key_file", set->http_tls_key_file);
	look_at(&s, "http_auth_token_file", set->http_auth_token_file);
	look_at_keytab(&s, "krb_server_keyfile", set->krb_server_keyfile);
	look_at_keytab(&s, "krb_client_keyfile", set->krb_client_keyfile);
	/* one that was there before us keeps its mode */
	look_at(&s, "logfile", set->logfile);
	for (const struct config_db *db = config_index_link_dbs(c->index);
	    db != NULL; db = db->next) {
		look_at(&s, "server_tls_key_file", db->tls.key_file);
		look_at(&s, "password_file", db->secret.file);
	}
	for (const struct config_user *u = config_index_link_users(c->index);
	    u != NULL; u = u->next)
		look_at(&s, "password_file", u->secret.file);
}

/* Not of secrets in the auth file: reading that file tells of them. */
void config_find_unusable(const struct config *c, config_unusable_fn *found,
    void *arg)
{
	char line[LINE_MAX_BYTES];

	for (const struct config_db *db = c->dbs; db != NULL; db = db->next) {
		if (db->password == NULL ||
		    secret_kind(db->password) != SECRET_UNUSABLE)
			continue;
		snprintf(line, sizeof(line), "unusable password of database "
		    "\"%s\": it looks like a hash but is not valid, so it is not "
		    "sent to any server", db->name);
		found(arg, line);
	}
}
