/* login_cached.c - a login by an answer of auth_query that was kept.
 *
 * An answer that is old enough to be asked for again is used at once, for the
 * exchange, while a server is asked; whoever has proven it is let in when that has
 * said the same, or when no server says anything. A proof that fails is judged
 * again by an answer that was asked for after the login has begun.
 * SPDX-License-Identifier: ISC */
#include "login/login_cached.h"

#include <string.h>
#include <sys/uio.h>

#include "base/ceiling.h"
#include "base/container.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/timeouts.h"
#include "login/auth_cache.h"
#include "login/auth_fetch.h"
#include "login/login_lobby.h"
#include "login/login_log.h"
#include "login/login_parts.h"
#include "pool/credentials.h"
#include "session/client.h"
#include "session/sessions.h"

#define BODY_MAX 4096	/* of a password that is kept to be judged twice */

enum stage {
	STAGE_WATCHES,	/* an old answer is used; another one is on its way */
	STAGE_ASKS,	/* there is no answer that could be used */
	STAGE_PROVEN,	/* by an old answer: is it still true? */
	STAGE_REFUSED,	/* by a kept answer: is it still true? */
};

enum outcome {
	OUTCOME_NONE,		/* it waits */
	OUTCOME_ANSWER,		/* found and name */
	OUTCOME_VAIN,		/* no server can be asked; error: why, or NULL */
};

struct login_hold {
	struct auth_wait wait;
	struct timeout patience;	/* of ss->answer_list */
	struct client *client;
	enum stage stage;
	enum outcome outcome;
	struct credentials *found;	/* counted; NULL: nobody has the name */
	char *name;			/* owned */
	uint64_t number;		/* of the fetch that has brought them */
	struct credentials *old;	/* counted: used if none can be asked; NULL */
	char *old_name;			/* owned */
	struct err *error;		/* owned */
	struct auth_refusal *refusal;	/* owned: of STAGE_REFUSED */
	uint8_t *said;			/* owned: of STAGE_PROVEN */
	size_t said_len;
	char *body;			/* owned, wiped: what was typed; or NULL */
	size_t body_len;
};

/* --- what is kept --- */

static struct auth_ages ages(const struct sessions *ss)
{
	const struct settings *const set = sessions_settings(ss);
	const usec_t young = set->auth_query_cache;
	const usec_t stale = set->auth_query_cache_stale;

	return (struct auth_ages){ young, stale > young ? stale : young };
}

static struct auth_cache *cache(struct sessions *ss)
{
	if (ss->answers == NULL)
		ss->answers = auth_cache_new(AUTH_CACHE_NAMES /
		    (1 + ss->others));
	return ss->answers;
}

/* Of the question of c; NULL: no memory. */
static struct auth_entry *entry_of(const struct client *c)
{
	const struct auth_errand *const q = c->login->query.errand;
	struct auth_cache *const answers = cache(c->ss);

	return answers == NULL ? NULL : auth_cache_get(answers,
	    &(struct auth_key){ .user = q->user, .auth_user = q->auth_user,
	    .database = q->database != NULL ? q->database : c->db->name,
	    .sql = q->sql, .urgent = q->urgent });
}

static void fetch(struct client *c, struct auth_entry *e)
{
	const struct auth_errand *const q = c->login->query.errand;
	/* a part of a pool does not ask: its home does */
	const char *const database = q->database == NULL && c->db->is_part ?
	    c->db->name : q->database;
	struct auth_errand *const errand = auth_errand_copy(q, database);

	if (errand != NULL)
		auth_fetch_begin(c->ss, e, errand, database == NULL ? c->db :
		    NULL);
	else
		(void)auth_entry_put(e, &(struct auth_news){
		    .why = &(struct err){ ERRCODE_OUT_OF_MEMORY,
		    "bouncer resources exhaustion" } });
}

static void count_use(const struct client *c, enum tally_cache use)
{
	c->ss->tally.auth_query_cache[use][0]++;
}

/* --- the hold --- */

static void wait_no_more(struct login_hold *h)
{
	struct auth_entry *const e = h->wait.entry;

	auth_wait_end(&h->wait);
	if (e != NULL)
		auth_fetch_want(e);
}

static void forget_outcome(struct login_hold *h)
{
	wait_no_more(h);
	timeout_stop(&h->patience);
	credentials_unref(&h->found);
	mem_free(h->name);
	mem_free(h->error);
	h->name = NULL;
	h->error = NULL;
	h->outcome = OUTCOME_NONE;
}

static struct login_hold *hold_of(const struct login *l)
{
	return l->query.errand == NULL ? NULL : l->query.errand->hold;
}

void login_cached_end(struct login *l)
{
	struct login_hold *const h = hold_of(l);

	if (h == NULL)
		return;
	l->query.errand->hold = NULL;
	forget_outcome(h);
	credentials_unref(&h->old);
	mem_free(h->old_name);
	mem_free(h->refusal);
	mem_free(h->said);
	secmem_free(h->body);
	mem_free(h);
}

static void on_turn(struct client *c);

/* In a turn of its own, as many may have waited for the same. */
static void go_on_soon(struct login_hold *h)
{
	struct login *const l = h->client->login;

	timeout_stop(&h->patience);
	if (h->stage == STAGE_WATCHES)
		return;
	l->work = on_turn;
	login_queue_add(&h->client->ss->login_queue, l);
}

static void on_ready(struct auth_wait *w, const struct auth_entry *e,
    const struct err *why)
{
	struct login_hold *const h = container_of(w, struct login_hold, wait);

	h->outcome = OUTCOME_ANSWER;
	h->number = e->answered;
	if (why != NULL) {
		h->outcome = OUTCOME_VAIN;
		h->error = mem_dup(why, sizeof *why);
	} else if (e->state == AUTH_ENTRY_FOUND) {
		h->found = credentials_ref(e->found);
		h->name = mem_strdup(e->name);
		if (h->name == NULL) {
			/* the old one is not what a server says */
			h->outcome = OUTCOME_VAIN;
			h->wait.forgotten = true;
		}
	}
	go_on_soon(h);
}

void login_cached_late(struct timeout *t)
{
	struct login_hold *const h =
	    container_of(t, struct login_hold, patience);

	wait_no_more(h);
	h->outcome = OUTCOME_VAIN;
	go_on_soon(h);
}

/* The hold of c, which is made if there is none; NULL: no memory. */
static struct login_hold *hold(struct client *c)
{
	struct auth_errand *const q = c->login->query.errand;

	if (q->hold != NULL)
		return q->hold;
	q->hold = mem_zalloc(sizeof *q->hold);
	if (q->hold == NULL)
		return NULL;
	q->hold->client = c;
	q->hold->wait.ready = on_ready;
	return q->hold;
}

/* An answer of a fetch after that one is waited for; e is asked, if it is not. */
static void await(struct client *c, struct login_hold *h, struct auth_entry *e,
    uint64_t after)
{
	const bool asked = e->fetch != NULL;

	auth_wait_begin(&h->wait, e, after);
	if (asked)
		auth_fetch_want(e);
	else
		fetch(c, e);
}

/* c waits for it now; patient: as long as it takes. */
static void stand(struct client *c, struct login_hold *h, enum stage stage,
    bool patient)
{
	h->stage = stage;
	login_rest(c);
	if (!client_is_open(c))
		return;
	if (h->outcome != OUTCOME_NONE)
		go_on_soon(h);
	else if (!patient && auth_fetch_is_vain(c->ss, h->wait.entry,
	    time_now()))
		login_cached_late(&h->patience);
	else if (!patient)
		timeout_start(&c->ss->answer_list, &h->patience, time_now());
}

/* --- asking --- */

static void turn_away_memory(struct client *c)
{
	struct err e;

	err_set(&e, ERRCODE_OUT_OF_MEMORY, "bouncer resources exhaustion");
	login_turn_away(c, &e);
}

/* Those of one worker are counted by its thread alone. */
static struct credentials *own_or_copy(const struct client *c,
    struct credentials *found)
{
	return c->login->query.errand->home == c->ss->worker ?
	    credentials_ref(found) : credentials_new(found->secret);
}

/* found NULL: nobody has that name. 0, or -1: no memory. */
static int take(struct client *c, struct credentials *found, const char *name)
{
	struct auth_query *const q = &c->login->query;

	if (found == NULL)
		return 0;
	q->found = own_or_copy(c, found);
	q->name = mem_strdup(name);
	return q->found != NULL && q->name != NULL ? 0 : -1;
}

static void go_on(struct client *c, struct credentials *found, const char *name)
{
	if (take(c, found, name) < 0)
		turn_away_memory(c);
	else
		c->role->query(c)->answered(c);
}

static void note_use(struct client *c, const struct auth_entry *e)
{
	struct auth_errand *const q = c->login->query.errand;

	q->cached = e->found != NULL;
	q->after = auth_cache_last(e->cache);
	q->knows = c->ss->worker;
}

static void use(struct client *c, struct auth_entry *e)
{
	note_use(c, e);
	go_on(c, e->found, e->name);
}

/* The old answer is used here, while there may be a better one. */
static void use_old(struct client *c, struct login_hold *h,
    struct auth_entry *e)
{
	struct auth_query *const q = &c->login->query;

	note_use(c, e);
	const int rc = take(c, e->found, e->name);

	h->stage = STAGE_WATCHES;
	await(c, h, e, e->answered);
	if (rc < 0)
		turn_away_memory(c);
	else
		q->answered(c);
}

static int keep_old(struct login_hold *h, const struct auth_entry *e)
{
	h->old = credentials_ref(e->found);
	h->old_name = mem_strdup(e->name);
	return h->old_name != NULL ? 0 : -1;
}

void login_cached_ask(struct client *c)
{
	static const enum tally_cache uses[] = {
		[AUTH_AGE_NONE] = TALLY_CACHE_miss,
		[AUTH_AGE_YOUNG] = TALLY_CACHE_hit,
		[AUTH_AGE_OLD] = TALLY_CACHE_old,
	};
	const struct auth_ages how = ages(c->ss);
	struct auth_entry *const e = entry_of(c);

	const enum auth_age age = e == NULL ? AUTH_AGE_NONE :
	    auth_entry_age(e, &how, time_now());

	count_use(c, uses[age]);
	if (age == AUTH_AGE_YOUNG) {
		use(c, e);
		return;
	}
	struct login_hold *const h = e == NULL ? NULL : hold(c);

	if (h == NULL || (age == AUTH_AGE_OLD && keep_old(h, e) < 0)) {
		turn_away_memory(c);
		return;
	}
	/* where it goes on it is not told of what comes here */
	if (age == AUTH_AGE_OLD &&
	    c->login->query.errand->home == c->ss->worker) {
		use_old(c, h, e);
		return;
	}
	await(c, h, e, e->answered);
	stand(c, h, STAGE_ASKS, age == AUTH_AGE_NONE);
}

/* --- proofs --- */

/* Is that what the login has been let prove? */
static bool is_same(const struct client *c, const struct login_hold *h)
{
	const struct auth_query *const q = &c->login->query;

	return h->found != NULL && strcmp(h->name, q->name) == 0 &&
	    crypto_equal_str(h->found->secret, q->found->secret);
}

bool login_cached_is_used(const struct login *l)
{
	return l->query.errand != NULL && l->query.errand->cached;
}

bool login_cached_doubts_proof(struct client *c, const struct iovec *said)
{
	struct login_hold *const h = hold_of(c->login);

	if (h == NULL || h->old == NULL)
		return false;
	h->said = mem_dup(said->iov_base, said->iov_len);
	h->said_len = said->iov_len;
	if (h->said == NULL && said->iov_len > 0)
		turn_away_memory(c);
	else
		stand(c, h, STAGE_PROVEN, false);
	return true;
}

static bool is_wrong_password(const struct auth_refusal *why)
{
	return strcmp(why->error.code, ERRCODE_INVALID_PASSWORD) == 0;
}

bool login_cached_doubts_refusal(struct client *c,
    const struct auth_refusal *why)
{
	struct auth_errand *const q = c->login->query.errand;
	struct login_hold *const h = login_cached_is_used(c->login) &&
	    is_wrong_password(why) ? hold(c) : NULL;
	struct auth_entry *e = h == NULL ? NULL : entry_of(c);

	if (e == NULL)
		return false;
	h->refusal = mem_dup(why, sizeof *why);
	if (h->refusal == NULL)
		return false;
	q->cached = false;
	/* fetches of another worker's cache have other numbers */
	const uint64_t after = q->knows == c->ss->worker ? q->after :
	    auth_cache_last(e->cache);

	if (h->outcome != OUTCOME_ANSWER || h->number <= after) {
		forget_outcome(h);
		await(c, h, e, after);
	}
	/* whoever hangs up meanwhile has made a guess */
	login_examine(c, h->body_len > 0 ? h->body_len : 1);
	stand(c, h, STAGE_REFUSED, false);
	return true;
}

void login_cached_note(struct client *c, const uint8_t *body, size_t len)
{
	struct login *const l = c->login;
	struct login_hold *const h = login_cached_is_used(l) && len > 0 &&
	    len <= BODY_MAX && auth_can_judge_again(&l->auth,
	    l->query.found) ? hold(c) : NULL;

	if (h == NULL)
		return;
	secmem_free(h->body);
	h->body = secmem_zalloc(len);
	h->body_len = h->body == NULL ? 0 : len;
	if (h->body != NULL)
		memcpy(h->body, body, len);
}

/* --- the wait is over --- */

/* There is no answer, and none that was kept. */
static void turn_away_vain(struct client *c, struct login_hold *h)
{
	struct err *const why = h->error;

	h->error = NULL;
	login_cached_end(c->login);
	if (why != NULL)
		login_turn_away(c, why);
	else
		turn_away_memory(c);
	mem_free(why);
}

static void on_asked(struct client *c, struct login_hold *h)
{
	const bool vain = h->outcome == OUTCOME_VAIN;

	if (vain && (h->old == NULL || h->wait.forgotten)) {
		turn_away_vain(c, h);
		return;
	}
	struct credentials *found = vain ? h->old : h->found;
	char *const name = vain ? h->old_name : h->name;

	if (vain) {
		h->old = NULL;
		h->old_name = NULL;
		count_use(c, TALLY_CACHE_stale);
	} else {
		h->found = NULL;
		h->name = NULL;
	}
	login_cached_end(c->login);
	go_on(c, found, name);
	credentials_unref(&found);
	mem_free(name);
}

static void refuse_changed(struct client *c)
{
	const struct login *const l = c->login;
	const bool sasl = l->method == AUTH_SCRAM_SHA_256 ||
	    (l->method == AUTH_MD5 && l->query.found->kind == SECRET_SCRAM);
	struct auth_refusal why;

	err_set(&why.error, ERRCODE_INVALID_PASSWORD, "%s authentication "
	    "failed", sasl ? "SASL" : "password");
	text_copy(why.detail, sizeof why.detail, "password authentication "
	    "failed: the password has changed, or the user is gone");
	login_deny(c, &why);
}

static void enter(struct client *c, struct login_hold *h)
{
	const struct iovec said = { h->said, h->said_len };

	h->said = NULL;
	login_cached_end(c->login);
	login_enter_pool(c, &said);
	mem_free(said.iov_base);
}

/* No secret has been proven: it may be another one by now. */
static bool proves_name_alone(const struct login *l)
{
	return l->method == AUTH_TRUST || l->method == AUTH_CERT ||
	    l->method == AUTH_PEER || l->method == AUTH_GSS;
}

static bool is_same_name(const struct login *l, const struct login_hold *h)
{
	return h->found != NULL && strcmp(h->name, l->query.name) == 0;
}

/* From now on the new secret is what is known of the user. */
static void adopt_found(struct login *l, const struct login_hold *h)
{
	credentials_unref(&l->query.found);
	l->query.found = credentials_ref(h->found);
	credentials_unref(&l->asked_for);
	l->asked_for = credentials_ref(h->found);
}

static bool can_judge_again(const struct login *l, const struct login_hold *h)
{
	return h->body != NULL && is_same_name(l, h) &&
	    auth_can_judge_again(&l->auth, h->found);
}

/* By what is true, what was compared with another secret. */
static void judge_again(struct client *c, struct login_hold *h)
{
	char *const body = h->body;
	const size_t len = h->body_len;
	struct credentials *found = h->found;

	h->body = NULL;
	h->found = NULL;
	login_cached_end(c->login);
	login_judge_again(c, found, &(struct iovec){ body, len });
	credentials_unref(&found);
	secmem_free(body);
}

static void on_proven(struct client *c, struct login_hold *h)
{
	struct login *const l = c->login;
	const bool vain = h->outcome == OUTCOME_VAIN;

	if (vain && h->wait.forgotten) {
		turn_away_vain(c, h);
	} else if (vain) {
		login_log(c, LEVEL_INFO, "auth_query cannot be asked: login by "
		    "its cached answer (auth_query_cache_stale)");
		count_use(c, TALLY_CACHE_stale);
		enter(c, h);
	} else if (is_same(c, h)) {
		/* from now on it is as good as new */
		enter(c, h);
	} else if (proves_name_alone(l) && is_same_name(l, h)) {
		adopt_found(l, h);
		enter(c, h);
	} else if (can_judge_again(l, h)) {
		judge_again(c, h);
	} else {
		login_cached_end(l);
		refuse_changed(c);
	}
}

/* What was compared with is not what is true. */
static void on_changed(struct client *c, struct login_hold *h)
{
	const struct auth_refusal why = *h->refusal;

	if (can_judge_again(c->login, h)) {
		judge_again(c, h);
		return;
	}
	login_cached_end(c->login);
	login_log(c, LEVEL_INFO, "the password has changed since "
	    "auth_query was asked: the next login will use it");
	login_deny_uncounted(c, &why);
}

static void on_refused(struct client *c, struct login_hold *h)
{
	login_examine(c, 0);
	if (h->outcome == OUTCOME_ANSWER && h->found != NULL &&
	    !is_same(c, h)) {
		on_changed(c, h);
		return;
	}
	const struct auth_refusal why = *h->refusal;

	login_cached_end(c->login);
	login_deny(c, &why);
}

static void on_turn(struct client *c)
{
	struct login_hold *const h = hold_of(c->login);

	c->login->work = login_work;
	stream_resume(&c->stream);
	if (login_was_expelled(c))
		return;
	switch (h->stage) {
	case STAGE_WATCHES:
		break;
	case STAGE_ASKS:
		on_asked(c, h);
		break;
	case STAGE_PROVEN:
		on_proven(c, h);
		break;
	case STAGE_REFUSED:
		on_refused(c, h);
		break;
	}
	login_read_on(c);
}

/* --- */

void login_cached_tick(struct sessions *ss, usec_t now)
{
	const struct auth_ages how = ages(ss);

	auth_fetch_tick(ss);
	/* all can be asked for again */
	if (ceiling_level() == CEILING_FULL)
		auth_cache_shed(ss->answers);
	else
		auth_cache_tick(ss->answers, &how, now);
}
