/* test_snapshot_parse.c - what another process says of its sessions.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "transfer/snapshot_parts.h"

static void put_64(struct writer *w, uint64_t n)
{
	writer_u32(w, (uint32_t)(n >> 32));
	writer_u32(w, (uint32_t)n);
}

static void put_blob(struct writer *w, const char *p, size_t n)
{
	writer_u32(w, (uint32_t)n);
	writer_bytes(w, p, n);
}

#define BLOB(w, s) put_blob(w, s, sizeof(s) - 1)
#define PAIRS "TimeZone\0\1UTC\0DateStyle\0\0"
#define NO_DIALECT "\0\0\0\0\0"
#define SHAPE "\0\0\0\5" "\0\0\0\6" "\0\0\0\0\0\0\0\7"
#define STATEMENT "s1\0PGBOUNCER_7\0\0\0\0\3abc\1" "\1\0\0\0\4z\0u\0" SHAPE
#define PLAIN "Q\0\0\0\0\0\0\0"
#define WITH_OP "P\1\1\0\0\0\7\1\0\0\0\3\1" STATEMENT
#define WITH_NAME "C\2\0\0\0\0\0\1\0\0\0\2\0s2\0"

static void make_client(struct writer *w)
{
	writer_init(w, 1 << 16);
	writer_u8(w, SNAPSHOT_VERSION);
	writer_u8(w, 'C');
	writer_u32(w, SNAPSHOT_WAITING | SNAPSHOT_TRANSLATES);
	for (uint64_t n = 1; n <= 6; n++)
		put_64(w, n << 33);
	writer_u32(w, 9);
	writer_bytes(w, "\2" "\x30\x39" "\0\0\0\0"
	    "\xc0\0\2\7" "\0\0\0\0\0\0\0\0\0\0\0\0", 23);
	BLOB(w, "12345678");
	BLOB(w, PAIRS);
	BLOB(w, STATEMENT);
	BLOB(w, "Q\0");
	BLOB(w, "relay");
	writer_bytes(w, "\1select\0", 8);
	BLOB(w, "queued");
	put_64(w, 7);
	writer_u8(w, 1);
	writer_u32(w, 4);
	writer_bytes(w, "a\0001", 4);
	writer_u8(w, 1);
	writer_u32(w, 4);
	writer_bytes(w, "b\0002", 4);
	BLOB(w, "x\0");
	BLOB(w, "A");
	BLOB(w, "B");
}

static void make_server(struct writer *w)
{
	writer_init(w, 1 << 16);
	writer_u8(w, SNAPSHOT_VERSION);
	writer_u8(w, 'S');
	writer_u32(w, SNAPSHOT_READY);
	put_64(w, 5);
	put_64(w, 6);
	writer_u8(w, 3);
	writer_u32(w, 77);
	BLOB(w, "123456789012");
	BLOB(w, PAIRS);
	put_64(w, 2);
	BLOB(w, PAIRS);
	BLOB(w, "\0PGBOUNCER_7\0\0\0\0\3abc\0" NO_DIALECT SHAPE);
	writer_u32(w, 4);
	BLOB(w, "D\0\0");
	BLOB(w, "");
	writer_bytes(w, "\1db.example\0", 12);
	writer_u32(w, 5432);
	writer_bytes(w, "\1p0\0\0\0", 6);
	writer_u8(w, 1);
	writer_str(w, "");
	writer_u8(w, 2);
	writer_u16(w, 5432);
	writer_u32(w, 0);
	writer_bytes(w, "\177\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	writer_u8(w, 'T');
	BLOB(w, PLAIN WITH_OP WITH_NAME);
	writer_u8(w, 1);
	BLOB(w, "TimeZone\0\1UTC\0");
	BLOB(w, "S");
	put_64(w, 8);
	writer_u8(w, 1);
	writer_u32(w, 0);
	writer_u8(w, 0);
	writer_u32(w, 0);
	writer_u32(w, 16);	/* keep */
	writer_u8(w, 5);
	writer_u8(w, 2);	/* lending */
	writer_u32(w, 11);	/* bring */
	writer_u32(w, 6);	/* resets */
	writer_u32(w, 12);	/* bound */
	writer_u32(w, 9);	/* trace */
	writer_u32(w, 3);	/* sets */
	writer_u32(w, 4);	/* local */
	writer_u8(w, 64);	/* untold */
	writer_u32(w, 0);
	writer_u32(w, 1);	/* asked */
	writer_u8(w, 'B');
	put_64(w, 21);		/* unnamed */
	put_64(w, 22);
	put_64(w, 23);		/* startup */
}

static void test_client_is_read_as_written(void **state)
{
	struct snapshot_client in;
	struct params_pair pair;
	struct snapshot_statement statement;
	struct writer w;
	struct err e;

	(void)state;
	make_client(&w);
	assert_int_equal(snapshot_parse_client(w.at, w.len, &in, &e), 0);
	assert_int_equal(in.flags, SNAPSHOT_WAITING | SNAPSHOT_TRANSLATES);
	assert_int_equal(in.born, (int64_t)1 << 33);
	assert_int_equal(in.waited, (int64_t)5 << 33);
	assert_int_equal(in.wait_since, (int64_t)6 << 33);
	assert_int_equal(in.rest, 9);
	assert_int_equal(in.addr.family, NET_IPV4);
	assert_int_equal(in.addr.port, 12345);
	assert_int_equal(in.addr.ip[0], 192);
	assert_int_equal(in.key_len, 8);
	assert_memory_equal(in.key, "12345678", 8);
	assert_true(params_list_next(&in.params, &pair));
	assert_string_equal(pair.name, "TimeZone");
	assert_string_equal(pair.value, "UTC");
	assert_true(params_list_next(&in.params, &pair));
	assert_string_equal(pair.name, "DateStyle");
	assert_null(pair.value);
	assert_false(params_list_next(&in.params, &pair));
	assert_true(snapshot_next_statement(&in.statements, &statement));
	assert_string_equal(statement.name, "s1");
	assert_string_equal(statement.server_name, "PGBOUNCER_7");
	assert_int_equal(statement.len, 3);
	assert_true(statement.retired);
	assert_memory_equal(statement.dialect.at, "z\0u", 4);
	assert_int_equal(statement.dialect.len, 4);
	assert_int_equal(statement.shape.params, 5);
	assert_int_equal(statement.shape.columns, 6);
	assert_int_equal(statement.shape.at, 7);
	assert_false(snapshot_next_statement(&in.statements, &statement));
	assert_int_equal(in.carry_len, 2);
	assert_memory_equal(in.relay, "relay", in.relay_len);
	assert_string_equal(in.query_text, "select");
	assert_int_equal(in.queued_len, 6);
	assert_int_equal(in.last, 7);
	assert_int_equal(in.baggage.len, 4);
	assert_memory_equal(in.baggage.at, "a\0001", 4);
	assert_memory_equal(in.brought.at, "b\0002", 4);
	assert_string_equal(reader_str(&in.channels), "x");
	assert_int_equal(reader_left(&in.channels), 0);
	assert_int_equal(in.heard_len, 1);
	writer_fini(&w);
}

static void test_what_is_owed_is_read_as_written(void **state)
{
	struct snapshot_server in;
	struct snapshot_owed owed;
	struct writer w;
	struct err e;

	(void)state;
	make_server(&w);
	assert_int_equal(snapshot_parse_server(w.at, w.len, &in, &e), 0);
	assert_true(snapshot_next_owed(&in.owed, &owed));
	assert_int_equal(owed.type, 'Q');
	assert_false(owed.has_op);
	assert_true(snapshot_next_owed(&in.owed, &owed));
	assert_int_equal(owed.how, 1);
	assert_int_equal(owed.own, 1);
	assert_int_equal(owed.tag, 7);
	assert_int_equal(owed.changes, 3);
	assert_true(owed.has_op && owed.has_statement);
	assert_string_equal(owed.of.name, "s1");
	assert_string_equal(owed.of.server_name, "PGBOUNCER_7");
	assert_true(snapshot_next_owed(&in.owed, &owed));
	assert_int_equal(owed.how, 2);
	assert_true(owed.has_op && !owed.has_statement);
	assert_string_equal(owed.of.name, "s2");
	assert_false(snapshot_next_owed(&in.owed, &owed));
	writer_fini(&w);
}

static void test_server_is_read_as_written(void **state)
{
	struct snapshot_server in;
	struct writer w;
	struct err e;

	(void)state;
	make_server(&w);
	assert_int_equal(snapshot_parse_server(w.at, w.len, &in, &e), 0);
	assert_int_equal(in.used, 6);
	assert_int_equal(in.key_len, 12);
	assert_string_equal(in.host, "db.example");
	assert_int_equal(in.port, 5432);
	assert_string_equal(in.dbname, "p0");
	assert_null(in.forced_user);
	assert_null(in.connect_query);
	assert_string_equal(in.address, "");
	assert_int_equal(in.addr.ip[0], 127);
	assert_int_equal(in.status, 'T');
	assert_int_equal(in.runs, 3);
	assert_int_equal(in.rest, 77);
	assert_int_equal(in.silent, 2);
	assert_int_equal(in.unnamed, 21);
	assert_int_equal(in.last_unnamed, 22);
	assert_int_equal(in.startup, 23);
	assert_int_equal(in.forgotten, 4);
	assert_int_equal(in.carry_len, 3);
	assert_int_equal(in.queued_len, 0);
	assert_true(in.has_welcome);
	assert_int_equal(in.welcome_len, 1);
	assert_int_equal(in.last, 8);
	assert_non_null(in.has.at);
	assert_int_equal(in.has.len, 0);
	assert_null(in.base.at);
	assert_int_equal(in.pins, 5);
	assert_int_equal(in.keep, 16);
	assert_int_equal(in.lending, 2);
	assert_int_equal(in.resets, 6);
	assert_int_equal(in.bound, 12);
	assert_int_equal(in.trace, 9);
	assert_int_equal(in.untold, 64);
	assert_int_equal(in.sets, 3);
	assert_int_equal(in.local, 4);
	writer_fini(&w);
}

static void test_whatever_is_cut_or_too_long_is_refused(void **state)
{
	struct snapshot_client client;
	struct snapshot_server server;
	struct writer w;
	struct err e;

	(void)state;
	make_client(&w);
	for (size_t n = 0; n < w.len; n++)
		assert_int_equal(snapshot_parse_client(w.at, n, &client, &e),
		    -1);
	assert_int_equal(snapshot_parse_server(w.at, w.len, &server, &e), -1);
	writer_u8(&w, 0);
	assert_int_equal(snapshot_parse_client(w.at, w.len, &client, &e), -1);
	writer_fini(&w);
	make_server(&w);
	for (size_t n = 0; n < w.len; n++)
		assert_int_equal(snapshot_parse_server(w.at, n, &server, &e),
		    -1);
	assert_int_equal(snapshot_parse_client(w.at, w.len, &client, &e), -1);
	w.at[0]++;
	assert_int_equal(snapshot_parse_server(w.at, w.len, &server, &e), -1);
	assert_string_equal(e.text,
	    "state of a session in an unknown format");
	writer_fini(&w);
}

static void test_lists_are_looked_through_before(void **state)
{
	struct snapshot_client in;
	struct writer w;
	struct err e;

	(void)state;
	make_client(&w);
	/* the NUL behind the last name of the parameters */
	uint8_t *const at = memmem(w.at, w.len, "DateStyle", 9);

	assert_non_null(at);
	at[9] = 'x';
	assert_int_equal(snapshot_parse_client(w.at, w.len, &in, &e), -1);
	assert_string_equal(e.text, "state of a session is broken");
	writer_fini(&w);
}

static int parse_client(const uint8_t *p, size_t n)
{
	struct snapshot_client c;
	struct err e;

	return snapshot_parse_client(p, n, &c, &e);
}

static int parse_server(const uint8_t *p, size_t n)
{
	struct snapshot_server server;
	struct err e;

	return snapshot_parse_server(p, n, &server, &e);
}

/* A fuzzer that starts from another version finds nothing behind its first byte. */
static void test_corpus_of_the_fuzzer_is_of_this_version(void **state)
{
	static const struct {
		const char *name;
		int (*parse)(const uint8_t *p, size_t n);
	} files[] = { { "client", parse_client }, { "server", parse_server },
		{ "tags", parse_server } };
	const char *const folder = getenv("srcdir");
	uint8_t bytes[4096];
	char path[1024];

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path,
		    "%s/test/fuzz/corpus/snapshot_parse/%s",
		    folder == NULL ? "../.." : folder, files[i].name);
		FILE *const f = fopen(path, "rb");

		assert_non_null(f);
		const size_t n = fread(bytes, 1, sizeof bytes, f);

		fclose(f);
		assert_int_equal(files[i].parse(bytes, n), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_corpus_of_the_fuzzer_is_of_this_version),
		cmocka_unit_test(test_client_is_read_as_written),
		cmocka_unit_test(test_server_is_read_as_written),
		cmocka_unit_test(test_what_is_owed_is_read_as_written),
		cmocka_unit_test(test_whatever_is_cut_or_too_long_is_refused),
		cmocka_unit_test(test_lists_are_looked_through_before),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
