/* startup.c - the first packet of a connection, and the keys that cancel.
 * SPDX-License-Identifier: ISC */
#include "proto/startup.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/msg.h"

#define PREFIX_BYTES 8 /* length and code */

/* spec/pooling.md section 19; PostgreSQL docs, Message Formats */
enum {
	CODE_V2 = 131072,
	CODE_V3 = 196608,
	CODE_V3_LAST = 262143,
	CODE_CANCEL = 80877102,
	CODE_SSL = 80877103,
	CODE_GSS = 80877104,
};

typedef int startup_fn(const char *name, const char *value, void *arg,
    struct err *e);

static enum startup_kind startup_kind_of(uint32_t code, size_t size)
{
	switch (code) {
	case CODE_SSL: return size == PREFIX_BYTES ? STARTUP_SSL : STARTUP_BAD;
	case CODE_GSS: return size == PREFIX_BYTES ? STARTUP_GSS : STARTUP_BAD;
	case CODE_CANCEL: return STARTUP_CANCEL;
	case CODE_V2: return STARTUP_V2;
	default:
		if (code >= CODE_V3 && code <= CODE_V3_LAST)
			return STARTUP_MESSAGE;
		return STARTUP_BAD;
	}
}

/* As startup_peek(), but for out->kind. */
static enum startup_kind peek(const uint8_t *p, size_t n, struct startup *out)
{
	if (n > 0 && p[0] != 0)
		return STARTUP_TYPED;
	if (n > 1 && p[1] != 0) /* more than STARTUP_MAX bytes */
		return STARTUP_BAD;
	if (n < 4)
		return STARTUP_SHORT;

	out->size = msg_u32(p);
	if (out->size < PREFIX_BYTES)
		return STARTUP_BAD;
	if (n < PREFIX_BYTES)
		return STARTUP_SHORT;

	out->code = msg_u32(p + 4);
	const enum startup_kind kind = startup_kind_of(out->code, out->size);

	/* Protocol 2.0 has no length as we know it: don't wait for it. */
	if (kind == STARTUP_BAD || kind == STARTUP_V2)
		return kind;
	if (n < out->size)
		return STARTUP_SHORT;
	out->body = p + PREFIX_BYTES;
	out->body_len = out->size - PREFIX_BYTES;
	return kind;
}

enum startup_kind startup_peek(const void *p, size_t n, struct startup *out)
{
	*out = (struct startup){ .kind = STARTUP_SHORT };
	out->kind = peek(p, n, out);
	return out->kind;
}

int startup_each(const struct startup *s, startup_fn *fn, void *arg,
    struct err *e)
{
	struct reader in;
	const char *name, *value;

	reader_init(&in, s->body, s->body_len);
	while ((name = reader_str(&in)) != NULL && name[0] != '\0') {
		value = reader_str(&in);
		if (value == NULL)
			break;
		if (fn(name, value, arg, e) != 0)
			return -1;
	}
	if (in.failed || reader_left(&in) > 0)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "invalid startup packet layout: "
		    "expected terminator as last byte");
	return 0;
}

static const char blanks[] = " \t\r\n\v\f";

/*
 * Move the next word of *at to word, its backslashes taken away; the end of
 * the text gives an empty word. Returns word, and *at behind what was used.
 */
static char *next_word(const char **at, char *word)
{
	const char *in = *at + strspn(*at, blanks);
	char *out = word;

	while (*in != '\0' && strchr(blanks, *in) == NULL) {
		if (*in == '\\' && in[1] != '\0')
			in++;
		*out++ = *in++;
	}
	*out = '\0';
	*at = in;
	return word;
}

/*
 * The "name=value" of the switch at *at, or NULL when there is no valid one.
 * word has room for all of *at.
 */
static char *next_setting(const char **at, char *word)
{
	char *setting = next_word(at, word);

	if (strcmp(setting, "-c") == 0)
		setting = next_word(at, word);
	else if (strncmp(setting, "-c", 2) == 0 ||
	    strncmp(setting, "--", 2) == 0)
		setting += 2;
	else
		return NULL;
	if (setting[0] == '=' || strchr(setting, '=') == NULL)
		return NULL;
	return setting;
}

int startup_options(const char *options, startup_fn *fn, void *arg,
    struct err *e)
{
	const char *at = options;
	char *word = mem_alloc(strlen(options) + 1);
	int result = 0;

	if (word == NULL)
		return err_nomem(e);
	while (result == 0 && at[strspn(at, blanks)] != '\0') {
		char *const name = next_setting(&at, word);

		if (name == NULL) {
			result = err_set(e, ERRCODE_PROTOCOL_VIOLATION,
			    "unsupported options startup parameter: only "
			    "'-c config=val' and '--config=val' are allowed");
			break;
		}
		char *const equals = strchr(name, '=');

		*equals = '\0';
		/* as PostgreSQL does: --work-mem */
		for (char *s = name; *s != '\0'; s++)
			if (*s == '-')
				*s = '_';
		result = fn(name, equals + 1, arg, e) != 0 ? -1 : 0;
	}
	mem_free(word);
	return result;
}

/* Is value a beginning of word, of at least min bytes, in any case? */
static bool abbreviates(const char *value, const char *word, size_t min)
{
	const size_t len = strlen(value);
	char head[16];

	if (len < min || len > strlen(word) || len >= sizeof head)
		return false;
	memcpy(head, word, len);
	head[len] = '\0';
	return text_casecmp(value, head) == 0;
}

/* spec/pooling.md section 17 */
enum replication startup_replication(const char *value)
{
	if (strcmp(value, "database") == 0)
		return REPLICATION_LOGICAL;
	if (abbreviates(value, "true", 1) || abbreviates(value, "yes", 1) ||
	    abbreviates(value, "on", 2) || abbreviates(value, "1", 1))
		return REPLICATION_PHYSICAL;
	return REPLICATION_NONE;
}

void startup_write_param(struct writer *w, const char *name, const char *value)
{
	if (value == NULL)
		return;
	writer_str(w, name);
	writer_str(w, value);
}

void startup_write_negotiate(struct writer *w, uint32_t version,
    const char *const *unknown, unsigned count)
{
	writer_begin(w, BE_NEGOTIATE_PROTOCOL_VERSION);
	writer_u32(w, version);
	writer_u32(w, count);
	for (unsigned i = 0; i < count; i++)
		writer_str(w, unknown[i]);
	writer_end(w);
}

#define BUDGET 3	/* hops; the lowest two bits of the last byte */

void cancel_key_stamp(uint8_t *key, int peer_id)
{
	key[0] &= 0x7f;	/* to everybody a process id is positive */
	if (peer_id <= 0)
		return;
	key[1] = (uint8_t)peer_id;
	key[2] = (uint8_t)(peer_id >> 8);
	cancel_key_restore(key);
}

int cancel_key_peer(const uint8_t *key)
{
	return key[1] | key[2] << 8;
}

void cancel_key_set_worker(uint8_t *key, unsigned worker)
{
	key[3] = (uint8_t)worker;
}

unsigned cancel_key_worker(const uint8_t *key)
{
	return key[3];
}

bool cancel_key_spend(uint8_t *key)
{
	if ((key[7] & BUDGET) == 0)
		return false;
	key[7]--;
	return true;
}

void cancel_key_restore(uint8_t *key)
{
	key[7] |= BUDGET;
}
