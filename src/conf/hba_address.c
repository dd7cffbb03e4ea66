/* hba_address.c - the address column of a rule.
 * SPDX-License-Identifier: ISC */
#include "conf/hba_address.h"

#include <ctype.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/hba.h"
#include "conf/hba_line.h"

#define NAME_MAX_BYTES 255	/* RFC 1035 2.3.4, with dots */

void hba_address_fini(struct hba_address *a)
{
	mem_free(a->name);
	*a = (struct hba_address){ 0 };
}

static int bad(const char *what, const struct hba_word *w, struct err *e)
{
	return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "%s \"%.*s\"", what,
	    (int)(w->len < 200 ? w->len : 200), w->at);
}

/* A word that must be there; what says which. */
static int need(struct hba_line *l, const char *what, struct hba_word *w,
    struct err *e)
{
	switch (hba_line_next(l, w)) {
	case HBA_WORD:
		return w->comma ? bad(what, w, e) : 0;
	case HBA_END:
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "%s is missing",
		    what);
	case HBA_BROKEN:
		break;
	}
	return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "an open quote");
}

static bool take_keyword(struct hba_address *a, const struct hba_word *w)
{
	static const struct {
		const char *word;
		enum hba_address_kind kind;
	} keywords[] = {
		{ "all", HBA_ANY },
		{ "samehost", HBA_SAME_HOST },
		{ "samenet", HBA_SAME_NET },
	};

	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++) {
		if (hba_word_is(w, keywords[i].word)) {
			a->kind = keywords[i].kind;
			return true;
		}
	}
	return false;
}

/* The text of w; -1: too long for an address. */
static int ip_text(const struct hba_word *w, char text[NET_TEXT_MAX])
{
	if (w->len >= NET_TEXT_MAX)
		return -1;
	memcpy(text, w->at, w->len);
	text[w->len] = '\0';
	return 0;
}

static bool is_name_char(unsigned char c)
{
	return c >= 128 ? false : isalnum(c) || c == '-' || c == '_';
}

/*
 * A name, or the end of one behind a dot. What the C library takes for an
 * address in one of its other forms (10.1, 0x7f.1) is none.
 */
static bool is_host_name(const struct hba_word *w)
{
	const char *const end = w->at + w->len;
	const char *label = w->at + (w->len > 0 && w->at[0] == '.');

	if (w->len > NAME_MAX_BYTES)
		return false;
	for (;;) {
		const char *s = label;

		while (s < end && is_name_char((unsigned char)*s))
			s++;
		if (s == label || s - label > 63)
			return false;
		if (s == end)
			return isdigit((unsigned char)*label) == 0;
		if (*s != '.')
			return false;
		label = s + 1;
	}
}

static int take_mask(struct hba_address *a, const char *ip,
    struct hba_line *l, struct err *e)
{
	char mask[NET_TEXT_MAX];
	struct hba_word m;

	if (need(l, "the mask", &m, e) != 0)
		return -1;
	if (ip_text(&m, mask) != 0 ||
	    net_parse_cidr(ip, mask, &a->network) != 0)
		return bad("invalid mask", &m, e);
	return 0;
}

int hba_address_take(struct hba_address *a, struct hba_line *l,
    struct err *e)
{
	char ip[NET_TEXT_MAX];
	struct hba_word w;
	struct net_addr literal;

	if (need(l, "the address", &w, e) != 0)
		return -1;
	if (take_keyword(a, &w))
		return 0;
	a->kind = HBA_NETWORK;
	if (ip_text(&w, ip) == 0 && net_parse_cidr(ip, NULL, &a->network) == 0)
		return 0;
	if (ip_text(&w, ip) == 0 && net_parse_ip(ip, 0, &literal) == 0)
		return take_mask(a, ip, l, e);
	if (!is_host_name(&w))
		return bad("invalid address", &w, e);
	a->kind = HBA_HOST;
	a->name = mem_strndup(w.at, w.len);
	return a->name != NULL ? 0 : err_nomem(e);
}

static enum hba_fit is_near(const struct hba_login *l, bool net)
{
	return l->near != NULL ? l->near(l->addr, net) : HBA_DOUBT;
}

static bool name_fits(const char *pattern, const char *name)
{
	const size_t len = strlen(name), end = strlen(pattern);

	if (pattern[0] != '.')
		return text_casecmp(pattern, name) == 0;
	return len >= end && text_casecmp(pattern, name + len - end) == 0;
}

static enum hba_fit has_host(const struct hba_address *a,
    const struct hba_login *l)
{
	switch (l->host_state) {
	case HBA_HOST_NONE: return HBA_DIFFERS;
	case HBA_HOST_UNKNOWN: return HBA_DOUBT;
	case HBA_HOST_KNOWN: break;
	}
	return name_fits(a->name, l->host) ? HBA_FITS : HBA_DIFFERS;
}

enum hba_fit hba_address_has(const struct hba_address *a,
    const struct hba_login *l)
{
	switch (a->kind) {
	case HBA_ANY: return HBA_FITS;
	case HBA_NETWORK:
		return net_cidr_has(&a->network, l->addr) ? HBA_FITS :
		    HBA_DIFFERS;
	case HBA_SAME_HOST: return is_near(l, false);
	case HBA_SAME_NET: return is_near(l, true);
	case HBA_HOST: break;
	}
	return has_host(a, l);
}
