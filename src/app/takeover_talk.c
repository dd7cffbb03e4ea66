/* takeover_talk.c - the console of another process, seen by its client.
 * SPDX-License-Identifier: ISC */
#include "app/takeover_talk.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/os.h"
#include "io/fdpass.h"
#include "io/socket.h"
#include "proto/msg.h"
#include "proto/startup.h"
#include "transfer/snapshot.h"

#define MESSAGE_MAX (1 << 28)
#define READ_SIZE 65536
#define ANSWER_SECONDS 10	/* for what it can answer at once */
#define END_MS 2000		/* from its connections' end to its own */
#define CONSOLE "pgbouncer"	/* its database, and the user let in by uid */

void talk_fini(struct talk *t)
{
	for (size_t i = t->fd_used; i < t->fd_count; i++)
		close(t->fds[i]);
	if (t->sock >= 0)
		close(t->sock);
	if (t->pidfd >= 0)
		close(t->pidfd);
	if (t->buf != NULL)
		secret_wipe(t->buf, t->size);
	mem_free(t->buf);
	mem_free(t->fds);
	*t = (struct talk){ .sock = -1, .pidfd = -1 };
}

/* --- the process at the other end --- */

int talk_limit(const struct talk *t, int seconds, struct err *e)
{
	if (fdpass_block(t->sock, seconds) == 0)
		return 0;
	return err_set(e, ERRCODE_SYSTEM_ERROR, "%s", strerror(errno));
}

int talk_open(struct talk *t, const char *path, struct err *e)
{
	if (socket_unix_is_ours(path, e) < 0)
		return -1;
	t->sock = socket_connect_unix(path, e);
	if (t->sock < 0)
		return -1;
	if (socket_peer_is_ours(t->sock, path, e) < 0)
		return -1;
	if (fdpass_ask_sender(t->sock) < 0)
		return err_set(e, ERRCODE_SYSTEM_ERROR, "%s", strerror(errno));
	return talk_limit(t, ANSWER_SECONDS, e);
}

/* --- bytes --- */

static int keep_fd(struct talk *t, int fd, struct err *e)
{
	if (t->fd_count == t->fd_size) {
		const size_t size = t->fd_size == 0 ? 64 : 2 * t->fd_size;
		int *const fds = mem_resize(t->fds, size * sizeof *fds);

		if (fds == NULL) {
			close(fd);
			return err_nomem(e);
		}
		t->fds = fds;
		t->fd_size = size;
	}
	t->fds[t->fd_count++] = fd;
	return 0;
}

int talk_take_fd(struct talk *t)
{
	return t->fd_used < t->fd_count ? t->fds[t->fd_used++] : -1;
}

static int reserve(struct talk *t, size_t more, struct err *e)
{
	if (t->size - t->len >= more)
		return 0;
	const size_t size = 2 * t->size + more;
	uint8_t *const buf = mem_resize(t->buf, size);

	if (buf == NULL)
		return err_nomem(e);
	t->buf = buf;
	t->size = size;
	return 0;
}

static int no_answer(struct err *e)
{
	if (errno == EAGAIN)
		return err_set(e, ERRCODE_CONNECTION_FAILURE,
		    "the running process does not answer: is it stopped?");
	return err_set(e, ERRCODE_CONNECTION_FAILURE,
	    "the running process does not answer: %s", strerror(errno));
}

/* The file may be ours, and the process that listens there not. */
static int check_sender(struct talk *t, const struct fdpassed *with,
    struct err *e)
{
	if (with->known && with->uid == geteuid()) {
		t->pid = with->pid;
		return 0;
	}
	return err_set(e, ERRCODE_INSUFFICIENT_PRIVILEGE,
	    "a process of another user answers: it must not hand over to us");
}

/* Returns the bytes read, 0 at the end, -1 with e. */
static ssize_t fill(struct talk *t, struct err *e)
{
	struct fdpassed with;

	if (reserve(t, READ_SIZE, e) < 0)
		return -1;
	const ssize_t n = fdpass_recv(t->sock, t->buf + t->len, READ_SIZE,
	    &with);
	const int cause = errno;

	if (with.fd >= 0 && keep_fd(t, with.fd, e) < 0)
		return -1;
	errno = cause;
	if (n < 0)
		return no_answer(e);
	if (n > 0 && check_sender(t, &with, e) < 0)
		return -1;
	t->len += (size_t)n;
	return n;
}

/* --- messages --- */

static int tell_error(const struct talk_message *m, struct err *e)
{
	struct report r;

	if (report_parse(&r, m->body, m->len) < 0)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "the running process refuses");
	return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
	    "the running process refuses: %s", r.message);
}

/* Is a whole message there? Its size, 0 for no, -1 for never. */
static ssize_t whole(const struct talk *t)
{
	const size_t have = t->len - t->used;

	if (have < MSG_HEADER)
		return 0;
	const size_t size = msg_size(t->buf + t->used, MESSAGE_MAX);

	if (size == 0)
		return -1;
	return have < size ? 0 : (ssize_t)size;
}

int talk_next(struct talk *t, struct talk_message *out, struct err *e)
{
	ssize_t size;

	if (t->used > 0 && t->used == t->len)
		t->used = t->len = 0;
	while ((size = whole(t)) == 0) {
		if (t->used > 0) {
			memmove(t->buf, t->buf + t->used, t->len - t->used);
			t->len -= t->used;
			t->used = 0;
		}
		const ssize_t n = fill(t, e);

		if (n < 0)
			return -1;
		if (n == 0)
			return err_set(e, ERRCODE_CONNECTION_FAILURE,
			    "the running process has hung up");
	}
	if (size < 0)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "the running process sends no messages");
	out->type = (char)t->buf[t->used];
	out->body = t->buf + t->used + MSG_HEADER;
	out->len = (size_t)size - MSG_HEADER;
	t->used += (size_t)size;
	t->refused = t->refused || out->type == BE_ERROR_RESPONSE;
	return out->type == BE_ERROR_RESPONSE ? tell_error(out, e) : 0;
}

/* The old process does not take what we say: what has it said last? */
static int not_heard(struct talk *t, struct err *e)
{
	const int cause = errno;
	struct talk_message m;

	while (!t->refused && talk_next(t, &m, e) == 0)
		;
	return t->refused ? -1 : err_set(e, ERRCODE_CONNECTION_FAILURE,
	    "the running process does not listen: %s", strerror(cause));
}

static int send_all(struct talk *t, struct writer *w, struct err *e)
{
	size_t done = 0;
	int rc = w->failed ? err_nomem(e) : 0;

	while (rc == 0 && done < w->len) {
		const ssize_t n = send(t->sock, w->at + done, w->len - done,
		    MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = not_heard(t, e);
		else
			done += (size_t)n;
	}
	writer_fini(w);
	return rc;
}

static int await_ready(struct talk *t, struct err *e)
{
	struct talk_message m;

	do {
		if (talk_next(t, &m, e) < 0)
			return -1;
	} while (m.type != BE_READY_FOR_QUERY);
	return 0;
}

/* By its uid; a process that asks for a password is not ours. */
int talk_login(struct talk *t, struct err *e)
{
	static const char *const pairs[][2] = {
		{ "user", CONSOLE },
		{ "database", CONSOLE },
		{ "application_name", SNAPSHOT_READER },
	};
	struct writer w;

	writer_init(&w, 4096);
	writer_begin(&w, 0);
	writer_u32(&w, PROTOCOL_3_0);
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		writer_str(&w, pairs[i][0]);
		writer_str(&w, pairs[i][1]);
	}
	writer_u8(&w, 0);
	writer_end(&w);
	if (send_all(t, &w, e) < 0)
		return -1;
	struct talk_message m;

	if (talk_next(t, &m, e) < 0)
		return -1;
	if (m.type != BE_AUTHENTICATION || m.len != 4 ||
	    msg_u32(m.body) != MSG_AUTH_OK)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION, "the running "
		    "process does not know us: does it belong to another "
		    "user?");
	t->pidfd = os_process_open(t->pid);
	return await_ready(t, e);
}

int talk_ask(struct talk *t, const char *command, struct err *e)
{
	struct writer w;

	writer_init(&w, 4096);
	writer_query(&w, command);
	return send_all(t, &w, e);
}

int talk_command(struct talk *t, const char *command, struct err *e)
{
	return talk_ask(t, command, e) < 0 ? -1 : await_ready(t, e);
}

bool talk_is_over(const struct talk *t)
{
	uint8_t bytes[256];
	ssize_t n;

	do
		n = recv(t->sock, bytes, sizeof bytes, MSG_DONTWAIT);
	while (n > 0 || (n < 0 && errno == EINTR));
	return n == 0 || errno != EAGAIN;
}

bool talk_is_orphaned(struct talk *t)
{
	struct talk_message m;
	struct err e;

	if (t->refused || !os_process_await(t->pidfd, t->pid, END_MS))
		return false;
	while (talk_next(t, &m, &e) == 0)
		;
	return !t->refused;
}

/* --- rows --- */

int talk_learn_columns(struct talk *t, const struct talk_message *m,
    struct err *e)
{
	static const char *const names[] = {
		[TALK_FD] = "fd", [TALK_TASK] = "task", [TALK_USER] = "user",
		[TALK_DATABASE] = "database", [TALK_LINK] = "link",
		[TALK_PASSWORD] = "password",
		[TALK_CLIENT_KEY] = "scram_client_key",
		[TALK_STATE] = "state",
	};
	struct reader r;

	memset(t->columns, 0xff, sizeof t->columns);
	reader_init(&r, m->body, m->len);
	const int count = reader_u16(&r);

	for (int i = 0; i < count && !r.failed; i++) {
		const char *const name = reader_str(&r);

		for (int c = 0; c < TALK_COLUMNS && name != NULL; c++) {
			if (strcmp(name, names[c]) == 0)
				t->columns[c] = i;
		}
		(void)reader_bytes(&r, 18);	/* oids and formats */
	}
	for (int c = 0; c < TALK_COLUMNS; c++) {
		if (t->columns[c] < 0)
			return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
			    "the running process does not tell the %s of its "
			    "sockets", names[c]);
	}
	return r.failed ? err_set(e, ERRCODE_PROTOCOL_VIOLATION,
	    "RowDescription is broken") : 0;
}

int talk_parse_row(const struct talk *t, uint8_t *body, size_t len,
    struct talk_row *out)
{
	struct reader r;

	memset(out, 0, sizeof *out);
	reader_init(&r, body, len);
	const int count = reader_u16(&r);

	for (int i = 0; i < count; i++) {
		const uint32_t size = reader_u32(&r);
		const uint8_t *const at = size == UINT32_MAX ? NULL :
		    reader_bytes(&r, size);

		if (r.failed)
			return -1;
		for (int c = 0; c < TALK_COLUMNS && at != NULL; c++) {
			if (t->columns[c] == i)
				out->value[c] = (char *)body + (at - body);
		}
	}
	/* the length of the next value is not needed any more */
	reader_init(&r, body, len);
	(void)reader_u16(&r);
	for (int i = 0; i < count; i++) {
		const uint32_t size = reader_u32(&r);

		if (i > 0)
			body[r.at - body - 4] = '\0';
		if (size != UINT32_MAX)
			(void)reader_bytes(&r, size);
	}
	body[len] = '\0';
	return 0;
}

int64_t talk_number(const struct talk_row *r, enum talk_column c)
{
	int64_t n = 0;

	if (r->value[c] != NULL)
		(void)num_parse_i64(r->value[c], &n);
	return n;
}

static int nibble(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *const at = c == '\0' ? NULL : strchr(digits, c);

	return at == NULL ? -1 : (int)(at - digits);
}

size_t talk_bytes(const struct talk_row *r, enum talk_column c, uint8_t *out,
    size_t size)
{
	const char *const text = r->value[c];
	const size_t len = text == NULL ? 0 : strlen(text);

	if (len < 2 || len % 2 != 0 || text[0] != '\\' || text[1] != 'x')
		return 0;
	for (size_t i = 2, n = 0; i < len && n < size; i += 2, n++) {
		const int high = nibble(text[i]), low = nibble(text[i + 1]);

		if (high < 0 || low < 0)
			return 0;
		out[n] = (uint8_t)(high << 4 | low);
	}
	return len / 2 - 1;
}

uint8_t *talk_heap_bytes(const struct talk_row *r, enum talk_column c,
    size_t *len)
{
	const char *const text = r->value[c];
	const size_t size = text == NULL ? 0 : strlen(text) / 2;
	uint8_t *out = size == 0 ? NULL : mem_alloc(size);

	if (out == NULL)
		return NULL;
	*len = talk_bytes(r, c, out, size);
	if (*len == 0) {
		mem_free(out);
		return NULL;
	}
	return out;
}
