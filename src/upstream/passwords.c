/* passwords.c - servers' passwords that change: fetched, kept and renewed.
 * SPDX-License-Identifier: ISC */
#include "upstream/passwords.h"

#include <stdint.h>
#include <string.h>
#include <utlist.h>

#include "base/container.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/command_line.h"
#include "io/offload.h"
#include "io/runner.h"
#include "pool/catalog.h"
#include "pool/credentials.h"
#include "pool/pool.h"
#include "session/sessions.h"

#define LOOK USEC		/* between two looks at a file */
#define HANGS USEC		/* a thread that reads for longer counts as lost */
#define THREADS 2		/* that read files, besides the lost ones */
#define QUEUE 1000000		/* at most one job for each password */
#define SWEEP USEC		/* between two searches for unnamed sources */
#define UNUSED (3600 * USEC)	/* then a password is forgotten */
#define RETRY_FIRST USEC	/* after a failure; doubled each time */
#define RETRY_MOST (30 * USEC)
#define GRACE USEC		/* that the runner is given to kill a command */

struct reading;

struct password {
	UT_hash_handle hh;
	uint8_t tag[RUNNER_TAG];	/* the key: of source, host and user */
	struct passwords *table;	/* borrowed */
	char *file, *command;		/* owned; one of them is NULL */
	char *host, *user, *dbname;	/* owned */
	char *database;			/* owned: of the pool that asked last */
	int port;
	usec_t ttl;
	unsigned refs;			/* logins, and the thread that reads the file */
	struct password_wait *waits;	/* DL list */
	struct credentials *credentials;	/* counted; NULL: none yet */
	unsigned generation;		/* counts other passwords */
	bool proved;			/* a server has accepted one of its passwords */
	bool refused;			/* a server has refused the last one */
	bool fetching;
	bool since_refusal;		/* the fetch began after the refusal */
	struct reading *reading;	/* borrowed: a thread has the file; NULL */
	bool unnamed;			/* no pool has this source any more */
	unsigned begun;			/* counts fetches */
	struct secret_place place;	/* of the file, when it was read */
	usec_t fetched_at;		/* when the last fetch succeeded; 0: never */
	usec_t looked_at;		/* when the last fetch began, or ended */
	usec_t give_up_at;		/* end of the fetch under way */
	usec_t used_at;			/* when a login asked last */
	usec_t pause;			/* before the next try; 0: no failure */
	char *failure;			/* owned: why the last fetch failed; NULL */
};

struct passwords {
	struct sessions *ss;		/* borrowed */
	struct runner_link *link;	/* owned */
	struct password *all;		/* uthash by tag */
	unsigned lost;			/* threads that read a file and hang */
	usec_t swept_at;
};

static const char *key_of(const struct password *p)
{
	return p->file != NULL ? "password_file" : "password_command";
}

const char *password_key(const struct password_wait *w)
{
	return key_of(w->of);
}

/* --- life --- */

static void password_free(struct password *p)
{
	HASH_DEL(p->table->all, p);
	credentials_unref(&p->credentials);
	mem_free(p->file);
	mem_free(p->command);
	mem_free(p->host);
	mem_free(p->user);
	mem_free(p->dbname);
	mem_free(p->database);
	mem_free(p->failure);
	mem_free(p);
}

/* Each part is hashed by itself, so two different wishes have different tags. */
static int make_tag(const struct password_wish *q, uint8_t tag[RUNNER_TAG])
{
	const char *const parts[] = {
		q->from->file != NULL ? "file" : "command",
		q->from->file != NULL ? q->from->file : q->from->command,
		q->host, q->user,
	};
	uint8_t all[SHA256_BYTES * 4 + sizeof q->port];

	_Static_assert(RUNNER_TAG == SHA256_BYTES, "they differ");
	for (size_t i = 0; i < 4; i++) {
		if (crypto_sha256(parts[i], strlen(parts[i]),
		    all + i * SHA256_BYTES) < 0)
			return -1;
	}
	memcpy(all + sizeof all - sizeof q->port, &q->port, sizeof q->port);
	return crypto_sha256(all, sizeof all, tag);
}

static int copy_texts(struct password *p, const struct password_wish *q)
{
	const char *const file = q->from->file, *const command =
	    q->from->command;

	p->file = file != NULL ? mem_strdup(file) : NULL;
	p->command = command != NULL ? mem_strdup(command) : NULL;
	p->host = mem_strdup(q->host);
	p->user = mem_strdup(q->user);
	p->dbname = mem_strdup(q->dbname);
	p->database = mem_strdup(q->database);
	return (file != NULL) != (p->file != NULL) ||
	    (command != NULL) != (p->command != NULL) || p->host == NULL ||
	    p->user == NULL || p->dbname == NULL || p->database == NULL ?
	    -1 : 0;
}

static struct password *password_new(struct passwords *t,
    const struct password_wish *q, const uint8_t tag[RUNNER_TAG])
{
	struct password *const p = mem_zalloc(sizeof *p);

	if (p == NULL)
		return NULL;
	p->table = t;
	p->port = q->port;
	memcpy(p->tag, tag, sizeof p->tag);
	HASH_ADD(hh, t->all, tag, sizeof p->tag, p);
	if (p->hh.tbl == NULL) {
		mem_free(p);
		return NULL;
	}
	if (copy_texts(p, q) == 0)
		return p;
	password_free(p);
	return NULL;
}

/* The last to ask is the one whose entry counts. */
static void note_pool(struct password *p, const struct password_wish *q)
{
	char *const name = strcmp(p->database, q->database) == 0 ? NULL :
	    mem_strdup(q->database);

	p->unnamed = false;
	if (name == NULL)
		return;
	mem_free(p->database);
	p->database = name;
}

/* NULL: no memory. */
static struct password *get_password(struct passwords *t,
    const struct password_wish *q)
{
	struct password *p = NULL;
	uint8_t tag[RUNNER_TAG];

	if (make_tag(q, tag) < 0)
		return NULL;
	HASH_FIND(hh, t->all, tag, sizeof tag, p);
	if (p == NULL)
		p = password_new(t, q, tag);
	if (p == NULL)
		return NULL;
	p->ttl = q->from->ttl > 0 ? q->from->ttl : SECRET_TTL;
	note_pool(p, q);
	return p;
}

/* --- a fetch is over --- */

static void fetch(struct password *p, bool fresh);

static void take_out(struct password_wait *w)
{
	if (!w->waits)
		return;
	DL_DELETE(w->of->waits, w);
	w->waits = false;
}

static void give(struct password_wait *w)
{
	struct password *const p = w->of;

	credentials_unref(&w->credentials);
	w->credentials = credentials_ref(p->credentials);
	w->generation = p->generation;
}

/* Is the password now another one than w got? */
static bool is_other(const struct password_wait *w)
{
	return w->generation != w->of->generation;
}

/* Does w wait for nothing more? Then *r is its result. */
static bool is_over(const struct password_wait *w, enum password_result *r)
{
	const struct password *const p = w->of;
	const bool over = p->begun - p->fetching >= w->needs;
	const bool known = p->credentials != NULL;
	const bool early = known && (w->want == WANT_ANY || is_other(w));

	*r = early || (known && w->want == WANT_RECENT) ? PASSWORD_READY :
	    PASSWORD_FAILED;
	return early || over;
}

/* The first login that need not wait any more; NULL: none. */
static struct password_wait *find_over(const struct password *p,
    enum password_result *r)
{
	struct password_wait *w;

	DL_FOREACH(p->waits, w) {
		if (is_over(w, r))
			return w;
	}
	return NULL;
}

/* ready() may do anything, for example end other logins. */
static void wake_over(struct password *p)
{
	struct password_wait *w;
	enum password_result r;

	while ((w = find_over(p, &r)) != NULL) {
		take_out(w);
		if (r == PASSWORD_READY)
			give(w);
		w->ready(w, r);
	}
}

/* A fetch has ended. Logins that still wait need one that begins after it. */
static void wake(struct password *p)
{
	p->refs++;
	wake_over(p);
	while (p->waits != NULL && !p->fetching) {
		fetch(p, true);
		wake_over(p);
	}
	p->refs--;
}

/* Pools whose logins failed try again now, before their retry is due. */
static void retry_pools(struct password *p)
{
	struct catalog *const c = p->table->ss->catalog;
	const struct user *const u = catalog_find_user(c, p->user);
	struct pool *pool;

	DL_FOREACH2(u != NULL ? u->pools : NULL, pool, user_next) {
		if (!pool->failing)
			continue;
		pool_retry_now(pool);
		catalog_touch_pool(c, pool);
	}
}

static void log_fetched(const struct password *p, bool changed)
{
	if (p->failure != NULL)
		log_info("%s of user \"%s\" at %s works again", key_of(p),
		    p->user, p->host);
	if (changed)
		log_at(LEVEL_DEBUG, NULL, "%s of user \"%s\" at %s has another "
		    "password", key_of(p), p->user, p->host);
}

static void note_success(struct password *p, bool changed)
{
	log_fetched(p, changed);
	mem_free(p->failure);
	p->failure = NULL;
	p->pause = 0;
	p->fetched_at = time_now();
}

static void on_failure(struct password *p, const char *why)
{
	log_warning("%s of user \"%s\" at %s: %s%s", key_of(p), p->user,
	    p->host, why, p->credentials != NULL ?
	    "; the last password stays in use" : "");
	mem_free(p->failure);
	p->failure = mem_strdup(why);
	p->pause = p->pause == 0 ? RETRY_FIRST : p->pause * 2;
	if (p->pause > RETRY_MOST)
		p->pause = RETRY_MOST;
}

/* If the server has refused the password, the next one may not be there yet. */
static void on_same(struct password *p)
{
	if (!p->refused) {
		note_success(p, false);
		return;
	}
	on_failure(p, "gives the password that the server has refused");
	/* or the password was right, and the server did not know it yet */
	retry_pools(p);
}

static void on_other(struct password *p, struct credentials *other)
{
	credentials_unref(&p->credentials);
	p->credentials = other;
	p->generation++;
	p->refused = false;
	note_success(p, true);
	retry_pools(p);
}

/* No memory is a failure like others. */
static void on_secret(struct password *p, const char *text)
{
	struct credentials *now = credentials_renew(p->credentials, text);

	if (now == NULL) {
		on_failure(p, "out of memory");
	} else if (now != p->credentials) {
		on_other(p, now);
	} else {
		credentials_unref(&now);
		on_same(p);
	}
}

static void end_fetch(struct password *p)
{
	p->fetching = false;
	p->looked_at = time_now();
}

static void fail_fetch(struct password *p, const char *why)
{
	end_fetch(p);
	on_failure(p, why);
	wake(p);
}

/* --- files --- */

struct reading {
	struct offload_job job;
	struct password *p;		/* counted; the thread does not use it */
	usec_t begun_at;
	bool lost;			/* the thread hangs: another may be started */
	char *path;			/* owned */
	struct secret_place place;
	char *text;			/* owned, wiped */
	int rc;
	struct err e;
};

static void read_file(struct offload_job *j)
{
	struct reading *const r = container_of(j, struct reading, job);

	r->rc = secret_read_file(r->path, &r->place, r->text, &r->e);
}

static void on_read(struct offload_job *j)
{
	struct reading *const r = container_of(j, struct reading, job);
	struct password *const p = r->p;

	/* a file that cannot be used is read again, changed or not */
	p->place = r->rc < 0 ? (struct secret_place){ .dev = 0 } : r->place;
	end_fetch(p);
	if (r->rc > 0)
		on_secret(p, r->text);
	else if (r->rc < 0)
		on_failure(p, r->e.text);
	else
		on_same(p);
	wake(p);
}

/* A thread that hangs is none for others. */
static void limit_threads(const struct passwords *t)
{
	/* at the end of the process there are none any more */
	if (t->ss->offload == NULL)
		return;
	offload_limit(t->ss->offload, OFFLOAD_PASSWORD, THREADS +
	    (int)t->lost, QUEUE);
}

static void free_reading(struct offload_job *j)
{
	struct reading *const r = container_of(j, struct reading, job);

	struct passwords *const t = r->p->table;

	if (r->lost) {
		t->lost--;
		limit_threads(t);
	}
	r->p->reading = NULL;
	r->p->refs--;
	secmem_free(r->text);
	mem_free(r->path);
	mem_free(r);
}

static struct reading *reading_new(struct password *p)
{
	static const struct offload_ops ops = {
		.work = read_file, .done = on_read, .free = free_reading,
	};
	struct reading *const r = mem_zalloc(sizeof *r);

	if (r == NULL)
		return NULL;
	p->refs++;
	p->reading = r;
	r->job.ops = &ops;
	r->p = p;
	r->begun_at = time_now();
	r->place = p->place;
	r->path = mem_strdup(p->file);
	r->text = secmem_zalloc(SECRET_BUFFER);
	if (r->path != NULL && r->text != NULL)
		return r;
	free_reading(&r->job);
	return NULL;
}

static bool share_folder(const struct password *a, const struct password *b)
{
	const char *const slash = strrchr(a->file, '/');
	const size_t n = slash == NULL ? 0 : (size_t)(slash - a->file) + 1;

	return strncmp(a->file, b->file, n) == 0 &&
	    strchr(b->file + n, '/') == NULL;
}

/* Does a thread hang that reads a file beside p's? */
static bool has_hung_neighbour(const struct password *p)
{
	if (p->table->lost == 0)
		return false;
	for (const struct password *q = p->table->all; q != NULL;
	    q = q->hh.next) {
		if (q->reading != NULL && q->reading->lost &&
		    share_folder(p, q))
			return true;
	}
	return false;
}

#define HUNG_NEIGHBOUR "another file of its folder does not come"

/* NULL, or why it cannot be read. */
static const char *order_file(struct password *p)
{
	/* its thread hangs; a second one would hang, too */
	if (p->reading != NULL)
		return NULL;
	if (has_hung_neighbour(p))
		return HUNG_NEIGHBOUR;
	struct reading *const r = reading_new(p);

	if (r == NULL)
		return "out of memory";
	if (offload_submit(p->table->ss->offload, OFFLOAD_PASSWORD,
	    &r->job) == OFFLOAD_TAKEN)
		return NULL;
	free_reading(&r->job);
	return "no thread can be started to read the file";
}

/* --- commands --- */

static void add_word(struct text *t, struct runner_order *o, const char *name,
    const char *value)
{
	text_addf(t, "%s%s", name, value);
	text_add_bytes(t, "", 1);
	o->count++;
}

static int fill_words(const struct password *p, struct runner_order *o,
    struct err *e)
{
	struct command_line line;
	char port[16];
	struct text t, number;

	if (command_line_parse(p->command, &line, e) < 0)
		return -1;
	text_init(&number, port, sizeof port);
	text_addf(&number, "%d", p->port);
	text_init(&t, o->words, sizeof o->words);
	add_word(&t, o, "PGHOST=", p->host);
	add_word(&t, o, "PGPORT=", port);
	add_word(&t, o, "PGUSER=", p->user);
	add_word(&t, o, "PGDATABASE=", p->dbname);
	text_add_bytes(&t, line.words, line.bytes);
	o->count = (uint16_t)(o->count + line.count);
	o->bytes = (uint16_t)t.len;
	command_line_fini(&line);
	return t.cut ? err_set(e, ERRCODE_CONFIG_FILE_ERROR,
	    "the command is too long") : 0;
}

/* NULL, or why it cannot be run: in e. */
static const char *order_command(struct password *p, bool fresh, struct err *e)
{
	struct runner_order *const o = mem_zalloc(sizeof *o);
	const char *why = NULL;

	if (o == NULL)
		return "out of memory";
	memcpy(o->tag, p->tag, sizeof o->tag);
	o->limit = sessions_settings(p->table->ss)->password_timeout;
	o->fresh = fresh;
	if (fill_words(p, o, e) < 0)
		why = e->text;
	else if (p->table->link == NULL ||
	    runner_link_order(p->table->link, o) < 0)
		why = "the process that runs commands is gone";
	mem_free(o);
	return why;
}

static void on_answer(void *arg, struct runner_answer *a)
{
	struct passwords *const t = arg;
	struct password *p = NULL;
	struct err e;

	HASH_FIND(hh, t->all, a->tag, sizeof a->tag, p);
	/* the failure may be of an order that another worker gave */
	if (p == NULL || (!a->ok && (!p->fetching || a->more)))
		return;
	if (!a->more)
		end_fetch(p);
	if (!a->ok)
		on_failure(p, a->text);
	else if (secret_take_line(a->text, a->len, &e) < 0)
		on_failure(p, e.text);
	else
		on_secret(p, a->text);
	wake(p);
}

/* The orders are lost with the process, and are given to the next one. */
static void on_gone(void *arg)
{
	struct passwords *const t = arg;
	struct password *p, *next;
	struct err e;

	log_warning("the process that runs password_command has died; another "
	    "one is started");
	HASH_ITER(hh, t->all, p, next) {
		const char *const why = p->command != NULL && p->fetching ?
		    order_command(p, false, &e) : NULL;

		if (why != NULL)
			fail_fetch(p, why);
	}
}

/* --- fetching --- */

static void fetch(struct password *p, bool fresh)
{
	const usec_t now = time_now();
	const usec_t limit =
	    sessions_settings(p->table->ss)->password_timeout;
	struct err e;

	p->fetching = true;
	p->begun++;
	p->since_refusal = fresh && p->refused;
	p->looked_at = now;
	p->give_up_at = limit > 0 ? now + limit + GRACE : INT64_MAX;
	if (fresh)
		p->place = (struct secret_place){ .dev = 0 };
	const char *const why = p->file != NULL ? order_file(p) :
	    order_command(p, fresh, &e);

	if (why == NULL)
		return;
	end_fetch(p);
	on_failure(p, why);
}

static bool is_expired(const struct password *p, usec_t now)
{
	return p->pause == 0 && now - p->fetched_at > p->ttl;
}

/* w waits until so many fetches have ended, at the latest. */
static enum password_result wait_for(struct password_wait *w, unsigned needs)
{
	enum password_result r;

	w->needs = needs;
	if (!is_over(w, &r)) {
		DL_APPEND(w->of->waits, w);
		w->waits = true;
		return PASSWORD_WAIT;
	}
	if (r == PASSWORD_READY)
		give(w);
	return r;
}

enum password_result passwords_get(struct passwords *t,
    const struct password_wish *q, struct password_wait *w)
{
	struct password *const p = get_password(t, q);
	const usec_t now = time_now();

	password_leave(w);
	if (p == NULL)
		return PASSWORD_FAILED;
	p->refs++;
	p->used_at = now;
	w->of = p;
	w->generation = p->generation;
	w->want = p->credentials != NULL && is_expired(p, now) ? WANT_RECENT :
	    WANT_ANY;
	if ((p->credentials == NULL || w->want == WANT_RECENT) &&
	    !p->fetching && now - p->looked_at >= p->pause)
		fetch(p, false);
	return wait_for(w, p->begun);
}

enum password_result passwords_get_other(struct password_wait *w)
{
	struct password *const p = w->of;
	/* a fetch that began before may bring the refused password */
	const bool was_on = p->fetching && !p->since_refusal;

	w->want = WANT_OTHER;
	p->refused = p->refused || !is_other(w);
	if (p->refused && !p->fetching &&
	    time_now() - p->looked_at >= p->pause)
		fetch(p, true);
	return wait_for(w, p->begun + was_on);
}

void password_accept(struct password_wait *w)
{
	if (w->of == NULL || is_other(w))
		return;
	w->of->proved = true;
	w->of->refused = false;
}

bool password_is_proved(const struct password_wait *w)
{
	return w->of->proved;
}

void password_leave(struct password_wait *w)
{
	credentials_unref(&w->credentials);
	if (w->of == NULL)
		return;
	take_out(w);
	w->of->refs--;
	w->of = NULL;
}

/* --- each tick --- */

/* Workers renew one after the other, because one command serves all of them. */
static usec_t renew_at(const struct password *p)
{
	const struct sessions *const ss = p->table->ss;
	const usec_t tenth = p->ttl / 10;

	return p->fetched_at + 8 * tenth +
	    (usec_t)ss->worker * tenth / (1 + ss->others);
}

/* Those behind a file that does not come would lose a thread each. */
static void give_up_neighbours(struct passwords *t, const struct password *p)
{
	struct offload *const o = t->ss->offload;
	struct password *q, *next;

	HASH_ITER(hh, t->all, q, next) {
		if (q->reading == NULL || !share_folder(p, q) ||
		    !offload_is_queued(o, &q->reading->job))
			continue;
		offload_cancel(o, &q->reading->job);
		fail_fetch(q, HUNG_NEIGHBOUR);
	}
}

static void look_after_reading(struct password *p, usec_t now)
{
	struct reading *const r = p->reading;
	struct passwords *const t = p->table;

	if (r == NULL || r->lost || now - r->begun_at < HANGS ||
	    offload_is_queued(t->ss->offload, &r->job))
		return;
	r->lost = true;
	t->lost++;
	p->refs++;
	give_up_neighbours(t, p);
	p->refs--;
	limit_threads(t);
}

static void look_after(struct password *p, usec_t now)
{
	look_after_reading(p, now);
	const usec_t looked = now - p->looked_at;

	if (p->fetching && now >= p->give_up_at)
		fail_fetch(p, "no answer within password_timeout");
	else if (p->fetching || p->credentials == NULL || p->unnamed ||
	    looked < p->pause)
		return;
	else if (now > renew_at(p) || p->pause > 0)
		fetch(p, p->file != NULL);
	else if (p->file != NULL && looked >= LOOK)
		fetch(p, false);
}

static bool is_unused(const struct password *p, usec_t now)
{
	const usec_t most = p->ttl > UNUSED ? p->ttl : UNUSED;

	return p->refs == 0 && !p->fetching && now - p->used_at > most;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Is host one of the list? NULL is the folder of Unix sockets. */
static bool is_listed(const char *list, const char *host)
{
	const size_t n = strlen(host);

	if (list == NULL)
		return host[0] == '/' || host[0] == '@';
	for (const char *at = list;; at++) {
		const size_t len = strcspn(at, ",");

		if (len == n && memcmp(at, host, n) == 0)
			return true;
		at += len;
		if (*at == '\0')
			return false;
	}
}

/* Would the pool that asked last ask for p again? */
static bool is_named(const struct password *p)
{
	struct catalog *const c = p->table->ss->catalog;
	struct database *const db = catalog_find_database(c, p->database);
	struct user *const u = catalog_find_user(c, p->user);
	const struct pool *const pool = db == NULL || u == NULL ? NULL :
	    catalog_find_pool(c, db, u);
	const struct config_secret *const from = pool == NULL ? NULL :
	    catalog_pool_source(pool);

	return from != NULL && is_same_text(from->file, p->file) &&
	    is_same_text(from->command, p->command) &&
	    db->conf->port == p->port && is_listed(db->conf->host, p->host);
}

/* What no entry names any more is no fault of today. */
static void sweep(struct passwords *t)
{
	for (struct password *p = t->all; p != NULL; p = p->hh.next)
		p->unnamed = p->refs == 0 && !is_named(p);
}

void passwords_retry(struct passwords *t)
{
	const usec_t now = time_now();

	for (struct password *p = t->all; p != NULL; p = p->hh.next) {
		if (!p->fetching && p->pause > 0)
			p->looked_at = now - p->pause;
	}
	t->swept_at = 0;
}

void passwords_tick(struct passwords *t, usec_t now)
{
	struct password *p, *next;

	if (now - t->swept_at >= SWEEP) {
		t->swept_at = now;
		sweep(t);
	}
	HASH_ITER(hh, t->all, p, next) {
		if (is_unused(p, now))
			password_free(p);
		else
			look_after(p, now);
	}
}

/* --- the table --- */

struct passwords *passwords_new(struct sessions *ss)
{
	static const struct runner_ops ops = { on_answer, on_gone };
	struct passwords *t = mem_zalloc(sizeof *t);

	if (t == NULL)
		return NULL;
	t->ss = ss;
	limit_threads(t);
	t->link = runner_link_new(ss->loop, ss->runner, &ops, t);
	if (t->link == NULL)
		passwords_free(&t);
	return t;
}

void passwords_free(struct passwords **tp)
{
	struct passwords *const t = *tp;
	struct password *p, *next;

	*tp = NULL;
	if (t == NULL)
		return;
	runner_link_free(&t->link);
	HASH_ITER(hh, t->all, p, next)
		password_free(p);
	mem_free(t);
}

void passwords_each_failure(const struct passwords *t, password_fact_fn *fn,
    void *arg)
{
	for (const struct password *p = t == NULL ? NULL : t->all; p != NULL;
	    p = p->hh.next) {
		const struct password_fact f = { .host = p->host,
			.user = p->user, .port = p->port, .key = key_of(p),
			.failure = p->failure,
			.is_known = p->credentials != NULL };

		if (p->failure != NULL && !p->unnamed)
			fn(arg, &f);
	}
}
