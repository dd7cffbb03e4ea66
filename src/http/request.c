/* request.c - what a client of HTTP asks for: a head, parsed in its place.
 * SPDX-License-Identifier: ISC */
#include "http/request.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

#define BAD 400
#define NOT_ALLOWED 405
#define TOO_LARGE 413
#define BAD_VERSION 505

/* The length of the head with its empty line; 0: the end has not come. */
static size_t head_length(const char *buf, size_t len)
{
	const char *const end = memmem(buf, len, "\r\n\r\n", 4);

	return end == NULL ? 0 : (size_t)(end - buf) + 4;
}

/* Only what can stand in a head, and lines that end as they should. */
static bool is_clean(const char *buf, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)buf[i];

		if (c == '\r' && buf[i + 1] == '\n')
			i++;
		else if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

/* End the line at *at, and move on to the next one. */
static char *request_take_line(char **at)
{
	char *const line = *at;
	char *const end = strstr(line, "\r\n");

	*end = '\0';
	*at = end + 2;
	return line;
}

/* End the word at *at, and move on behind the blank; NULL: there is none. */
static char *request_take_word(char **at)
{
	char *const word = *at;
	char *const end = strchr(word, ' ');

	if (end == NULL || end == word)
		return NULL;
	*end = '\0';
	*at = end + 1;
	return word;
}

/* (RFC 9112 section 3) */
static int parse_first(char *line, struct request *r)
{
	const char *const method = request_take_word(&line);
	char *const target = method == NULL ? NULL : request_take_word(&line);

	if (target == NULL || target[0] != '/')
		return BAD;
	r->chunks = strcmp(line, "HTTP/1.1") == 0;
	r->keep = r->chunks;
	if (!r->chunks && strcmp(line, "HTTP/1.0") != 0)
		return strncmp(line, "HTTP/", 5) == 0 ? BAD_VERSION : BAD;
	r->head = strcmp(method, "HEAD") == 0;
	if (!r->head && strcmp(method, "GET") != 0)
		return NOT_ALLOWED;
	r->path = target;
	char *const mark = strchr(target, '?');

	if (mark != NULL) {
		*mark = '\0';
		r->query = mark + 1;
	}
	return REQUEST_READY;
}

/* --- the other lines --- */

static int on_accept(struct request *r, const char *value)
{
	r->accept = value;
	return REQUEST_READY;
}

/* Of two Authorization headers one would be wrong. */
static int on_authorization(struct request *r, const char *value)
{
	if (r->authorized)
		return BAD;
	r->authorized = true;
	r->authorization = value;
	return REQUEST_READY;
}

static int on_if_none_match(struct request *r, const char *value)
{
	r->if_none_match = value;
	return REQUEST_READY;
}

/* (RFC 9112 section 3.2) Whoever stands before us may have seen another. */
static int request_on_host(struct request *r, const char *value)
{
	if (r->hosted)
		return BAD;
	r->hosted = true;
	r->host = value;
	return REQUEST_READY;
}

/* A proxy names its client; (RFC 7239, RFC 9110 section 7.6.3) */
static int on_forwarded(struct request *r, const char *value)
{
	(void)value;
	r->forwarded = true;
	return REQUEST_READY;
}

static int on_connection(struct request *r, const char *value)
{
	static const char separators[] = ", \t";

	for (;;) {
		value += strspn(value, separators);
		const size_t len = strcspn(value, separators);

		if (len == 0)
			return REQUEST_READY;
		if (len == 5 && strncasecmp(value, "close", len) == 0)
			r->keep = false;
		value += len;
	}
}

static int on_length(struct request *r, const char *value)
{
	(void)r;
	return strcmp(value, "0") == 0 ? REQUEST_READY : TOO_LARGE;
}

static int on_coding(struct request *r, const char *value)
{
	(void)r;
	(void)value;
	return TOO_LARGE;
}

static const struct {
	const char *name;
	int (*take)(struct request *r, const char *value);
} fields[] = {
	{ "accept", on_accept },
	{ "authorization", on_authorization },
	{ "connection", on_connection },
	{ "content-length", on_length },
	{ "forwarded", on_forwarded },
	{ "host", request_on_host },
	{ "if-none-match", on_if_none_match },
	{ "transfer-encoding", on_coding },
	{ "via", on_forwarded },
	{ "x-forwarded-for", on_forwarded },
	{ "x-forwarded-host", on_forwarded },
	{ "x-forwarded-port", on_forwarded },
	{ "x-forwarded-proto", on_forwarded },
	{ "x-forwarded-server", on_forwarded },
	{ "x-real-ip", on_forwarded },
};

static int parse_field(char *line, struct request *r)
{
	char *const colon = strchr(line, ':');

	/* (RFC 9112 section 5.1) no blank in a name, nor behind it */
	if (colon == NULL || colon == line ||
	    strcspn(line, " \t") < (size_t)(colon - line))
		return BAD;
	*colon = '\0';
	char *value = colon + 1 + strspn(colon + 1, " \t");
	size_t len = strlen(value);

	while (len > 0 && strchr(" \t", value[len - 1]) != NULL)
		len--;
	value[len] = '\0';
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		if (text_casecmp(line, fields[i].name) == 0)
			return fields[i].take(r, value);
	}
	return REQUEST_READY;
}

int request_parse(char *buf, size_t len, struct request *r, size_t *used)
{
	const size_t head = head_length(buf, len);

	*r = (struct request){
		.path = "", .query = "", .accept = "", .authorization = "",
		.if_none_match = "", .host = "",
	};
	if (head == 0)
		return REQUEST_MORE;
	if (!is_clean(buf, head))
		return BAD;
	*used = head;
	buf[head - 1] = '\0';
	buf[head - 2] = '\0';
	char *at = buf;
	int status = parse_first(request_take_line(&at), r);

	while (status == REQUEST_READY && *at != '\0')
		status = parse_field(request_take_line(&at), r);
	return status;
}

/* --- parameters --- */

static int request_hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The character at *at, and on to the next; -1: none. */
static int request_decode(const char **at)
{
	const char *const s = *at;

	(*at)++;
	if (s[0] == '+')
		return ' ';
	if (s[0] != '%')
		return (unsigned char)s[0];
	const int high = request_hex_value(s[1]);
	const int low = high < 0 ? -1 : request_hex_value(s[2]);

	if (low < 0)
		return -1;
	*at += 2;
	return high << 4 | low;
}

static bool decode_all(const char *s, const char *end, char *out, size_t size)
{
	size_t n = 0;

	while (s < end) {
		const int c = request_decode(&s);

		if (c <= 0 || s > end || n + 1 >= size)
			return false;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return true;
}

bool request_parameter(const struct request *r, const char *name, char *out,
    size_t size)
{
	const size_t len = strlen(name);

	for (const char *at = r->query; *at != '\0';) {
		const char *const end = at + strcspn(at, "&");

		if (strncmp(at, name, len) == 0 && at[len] == '=')
			return decode_all(at + len + 1, end, out, size);
		at = *end == '&' ? end + 1 : end;
	}
	return false;
}

/* --- what an answer says --- */

static const struct {
	int status;
	const char *text;
} reasons[] = {
	{ 200, "OK" },
	{ 304, "Not Modified" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 413, "Content Too Large" },
	{ 431, "Request Header Fields Too Large" },
	{ 503, "Service Unavailable" },
	{ 505, "HTTP Version Not Supported" },
};

const char *request_reason(int status)
{
	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
		if (reasons[i].status == status)
			return reasons[i].text;
	}
	return "";
}
