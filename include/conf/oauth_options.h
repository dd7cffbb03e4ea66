/* oauth_options.h - what a rule of the HBA file wants of a client's token.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_OAUTH_OPTIONS_H
#define CONF_OAUTH_OPTIONS_H

#include <stdatomic.h>
#include <stdbool.h>

struct err;
struct hba_place;
struct hba_word;
struct jwks_file;

/*
 * Counted, because a thread may need it longer than its rule; immutable when the
 * rule is complete. None of the texts is NULL then.
 */
struct oauth_options {
	atomic_uint refs;
	char *issuer, *audience, *scope, *claim;	/* owned */
	struct jwks_file *keys;		/* counted */
	char *cleartext;		/* owned: "1": the token comes as a
					 * password; "0": by SASL */
};

/* One reference, nothing said yet. NULL: no memory. */
struct oauth_options *oauth_options_new(void);
struct oauth_options *oauth_options_ref(const struct oauth_options *o);
void oauth_options_unref(struct oauth_options **o);

/*
 * Take an option of a rule: "key=value". A path begins at the folder of the file.
 * Returns: 1, 0: it is none of these, or -1 with e.
 */
int oauth_options_take(struct oauth_options *o, const struct hba_word *w,
    const struct hba_place *at, struct err *e);
/* All of the rule was taken: add what it leaves out. 0, or -1 with e. */
int oauth_options_complete(struct oauth_options *o, struct err *e);

static inline bool oauth_is_cleartext(const struct oauth_options *o)
{
	return o->cleartext[0] == '1';
}

#endif
