/* page.c - the status page: one file, its style and script inside.
 * SPDX-License-Identifier: ISC */
#include "http/page.h"

#include <assert.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"
#include "http/httpd.h"

#define HASH_TEXT CRYPTO_BASE64_SIZE(SHA256_BYTES)
#define HEADERS_BYTES 512

struct page {
	char headers[HEADERS_BYTES];
	char *token, *log;	/* in at: the character that tells */
	size_t len;
	char at[];
};

/* Places in the file; each is there once. */
static const char style_place[] = "<style></style>";
static const char script_place[] = "<script></script>";
static const char token_place[] = "data-token=\"";
static const char log_place[] = "data-log=\"";

#define OPEN_STYLE (sizeof "<style>" - 1)
#define OPEN_SCRIPT (sizeof "<script>" - 1)

/* (CSP 3) What is in the file by this hash, and nothing else, is run. */
static int page_hash_of(enum page_file file, char out[HASH_TEXT])
{
	const struct page_data d = page_data(file);
	uint8_t digest[SHA256_BYTES];

	if (crypto_sha256(d.at, d.len, digest) < 0)
		return -1;
	crypto_base64_encode(digest, sizeof digest, out);
	return 0;
}

static int write_headers(struct page *p)
{
	char style[HASH_TEXT], script[HASH_TEXT];
	struct text t;

	if (page_hash_of(PAGE_CSS, style) < 0 ||
	    page_hash_of(PAGE_JS, script) < 0)
		return -1;
	text_init(&t, p->headers, sizeof p->headers);
	text_addf(&t, "Content-Security-Policy: default-src 'none'; "
	    "script-src 'sha256-%s'; style-src 'sha256-%s'; "
	    "connect-src 'self'; img-src data:; base-uri 'none'; "
	    "form-action 'none'; frame-ancestors 'none'\r\n", script, style);
	text_add(&t, "Referrer-Policy: no-referrer\r\n"
	    "X-Frame-Options: DENY\r\n");
	assert(!t.cut);
	return 0;
}

static const char *page_place_of(const struct page_data *d, const char *what)
{
	const char *const at = memmem(d->at, d->len, what, strlen(what));

	assert(at != NULL);
	return at;
}

/* The HTML, and where it says so the other two. */
static void page_compose(struct page *p, size_t size)
{
	const struct page_data html = page_data(PAGE_HTML),
	    css = page_data(PAGE_CSS), js = page_data(PAGE_JS);
	const char *const style =
	    page_place_of(&html, style_place) + OPEN_STYLE;
	const char *const script =
	    page_place_of(&html, script_place) + OPEN_SCRIPT;
	struct text t;

	text_init(&t, p->at, size);
	text_add_bytes(&t, html.at, (size_t)(style - html.at));
	text_add_bytes(&t, css.at, css.len);
	text_add_bytes(&t, style, (size_t)(script - style));
	text_add_bytes(&t, js.at, js.len);
	text_add_bytes(&t, script, (size_t)(html.at + html.len - script));
	assert(!t.cut);
	p->len = t.len;
}

/* The character behind this text, to be written over. */
static char *find_flag(struct page *p, const char *what)
{
	char *const at = memmem(p->at, p->len, what, strlen(what));

	assert(at != NULL);
	return at + strlen(what);
}

struct page *page_new(void)
{
	const size_t size = page_data(PAGE_HTML).len +
	    page_data(PAGE_CSS).len + page_data(PAGE_JS).len + 1;
	struct page *p = mem_zalloc(sizeof *p + size);

	if (p == NULL)
		return NULL;
	page_compose(p, size);
	p->token = find_flag(p, token_place);
	p->log = find_flag(p, log_place);
	if (write_headers(p) < 0)
		page_free(&p);
	return p;
}

void page_free(struct page **p)
{
	mem_free(*p);
	*p = NULL;
}

void page_reply(struct page *p, struct httpd_conn *c,
    const struct page_facts *facts)
{
	*p->token = facts->token ? '1' : '0';
	*p->log = facts->log ? '1' : '0';
	httpd_reply(c, &(struct httpd_head){
		.status = 200, .type = "text/html; charset=utf-8",
		.extra = p->headers }, p->at, p->len);
}
