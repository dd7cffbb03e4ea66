/* fuzz_console.c - Parse, Bind, Describe and Close on the console.
 * Each message is its type, a length byte, and its bytes; the query of a Parse
 * may be chosen from a list, so that parameters are met soon.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "conf/config.h"
#include "console/admin.h"
#include "console/console_extended.h"
#include "io/transport.h"
#include "pool/catalog.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "session/client.h"

#define SENT_MAX (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	struct sessions ss;
	struct admin admin;
	struct config *config;
	struct client client;
	struct console console;
	size_t sent;		/* bytes of replies to one message */
	uint8_t reply[SENT_MAX];
} st;

/* --- the other end --- */

static enum stream_write take(struct stream *s, struct iovec *iov, int count)
{
	(void)s;
	for (int i = 0; i < count; i++) {
		assert(st.sent + iov[i].iov_len <= sizeof st.reply);
		if (iov[i].iov_len > 0)
			memcpy(st.reply + st.sent, iov[i].iov_base,
			    iov[i].iov_len);
		st.sent += iov[i].iov_len;
	}
	return STREAM_SENT;
}

static const struct transport transport = { .write = take };

static void describe(const struct log_who *who, struct log_facts *out)
{
	(void)who;
	*out = (struct log_facts){ .side = 'C', .peer = 1, .address = "x" };
}

static void sink(enum log_level level, const char *line)
{
	(void)level;
	assert(line[0] != '\0');
}

static void set_up(void)
{
	log_set_sink(sink);
	st.config = config_seed(0);
	assert(st.config != NULL);
	st.ss.catalog = catalog_new(st.config);
	st.ss.params = params_table_new(NULL);
	assert(st.ss.catalog != NULL && st.ss.params != NULL);
	st.admin.ss = &st.ss;
	st.client.ss = &st.ss;
	st.client.who.describe = describe;
	st.client.params = params_empty(st.ss.params);
	st.client.user = catalog_find_user(st.ss.catalog, "pgbouncer");
	st.client.stream.transport = &transport;
	st.client.stream.fd = -1;
	st.client.console = &st.console;
	st.client.admin = true;
	st.console.client = &st.client;
	st.console.admin = &st.admin;
}

/* --- what is said --- */

/* One whole message, or two: ParameterDescription and what follows it. */
static void check_reply(char type)
{
	size_t at = 0, count = 0;
	bool error = false;

	for (; at + MSG_HEADER <= st.sent; count++) {
		const size_t n = msg_size(st.reply + at, SENT_MAX);

		assert(n >= MSG_HEADER && n <= st.sent - at);
		error |= st.reply[at] == BE_ERROR_RESPONSE;
		at += n;
	}
	assert(at == st.sent);
	assert(count == 1 || (count == 2 && type == FE_DESCRIBE && !error));
	/* PostgreSQL docs, Extended Query: nothing is heard up to Sync */
	assert(type == FE_SYNC || st.console.skipping == error);
	assert(!st.console.out.failed && st.console.out.len == 0);
}

static void write_parse(struct writer *w, const uint8_t *body, size_t len)
{
	static const char *const queries[] = {
		"show pools where cl_active > $1 and database = $2 limit $3",
		"show config where key = $1", "set verbose = $1", "kill $1",
		"select $1", "show clients", "", "select version()",
		"show json (name) databases where port <> $1",
	};
	const char *const query =
	    queries[body[0] / 2 % (sizeof queries / sizeof *queries)];

	writer_bytes(w, (const uint8_t[]){ body[0] % 2 ? 's' : 0, 0 },
	    1 + body[0] % 2);
	writer_bytes(w, query, strlen(query) + 1);
	writer_bytes(w, body + 1, len - 1);
}

static void run(char type, const uint8_t *body, size_t len)
{
	struct writer w;
	struct reader r;

	writer_init(&w, SENT_MAX);
	if (type == 'p' && len > 0)
		write_parse(&w, body, len);
	else
		writer_bytes(&w, body, len);
	assert(!w.failed);
	/* to its last byte, so that a sanitizer sees what is read behind it */
	uint8_t *const copy = mem_dup(w.len > 0 ? w.at : body, w.len);

	assert(copy != NULL);
	reader_init(&r, copy, w.len);
	writer_fini(&w);
	st.sent = 0;
	st.console.extended = true;
	if (type == FE_BIND)
		console_bind(&st.console, &r);
	else if (type == FE_DESCRIBE)
		console_describe(&st.console, &r);
	else if (type == FE_CLOSE)
		console_close(&st.console, &r);
	else if (type == FE_SYNC)
		console_sync(&st.console);
	else
		console_parse(&st.console, &r);
	check_reply(type);
	mem_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (st.config == NULL)
		set_up();
	writer_init(&st.console.out, SENT_MAX);
	st.console.skipping = false;
	for (size_t at = 0; at + 2 <= size;) {
		const char type = (char)data[at];
		size_t len = data[at + 1];

		at += 2;
		len = len < size - at ? len : size - at;
		if (!st.console.skipping || type == FE_SYNC)
			run(type, data + at, len);
		at += len;
	}
	console_fini_extended(&st.console);
	writer_fini(&st.console.out);
	return 0;
}
