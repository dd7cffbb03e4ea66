/* gssapi.c - one side of a GSSAPI exchange: tokens in and out, on threads.
 * SPDX-License-Identifier: ISC */
#include "io/gssapi.h"

#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <krb5.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum place {
	HERE,
	AWAY,	/* a thread has it, or will */
	BACK,	/* done is called; the job is still in use */
};

struct gssapi {
	struct offload_job job;		/* first */
	struct offload *offload;	/* borrowed; of the last step */
	enum place place;
	bool gone;			/* nobody wants the result */
	void (*done)(void *owner);
	void *owner;			/* borrowed */
	char *keytab;			/* owned; NULL: the default one */
	char *target, *principal;	/* owned; NULL: see struct gssapi_order */
	/* from here on: a thread's while it is AWAY */
	uint8_t *token;			/* owned: of the peer */
	size_t token_len;
	gss_ctx_id_t context;		/* owned */
	gss_cred_id_t cred;		/* owned */
	gss_name_t target_name;		/* owned */
	krb5_context krb;		/* owned; NULL: no cache was made */
	char cache[64];			/* tickets that we got for this exchange */
	gss_buffer_desc out;		/* owned by the library */
	char *peer;			/* owned */
	enum gssapi_state state;
	char why[256];
};

/* --- on a thread --- */

/* Both halves of a status, as PostgreSQL words them: "major: minor". */
static void add_status(struct text *t, OM_uint32 status, int type)
{
	OM_uint32 minor, next = 0;
	gss_buffer_desc said = GSS_C_EMPTY_BUFFER;

	if (gss_display_status(&minor, status, type, GSS_C_NO_OID, &next,
	    &said) != GSS_S_COMPLETE)
		return;
	text_add_bytes(t, said.value, said.length);
	(void)gss_release_buffer(&minor, &said);
}

static void gssapi_fail(struct gssapi *g, const char *what, OM_uint32 major,
    OM_uint32 minor)
{
	struct text t;

	text_init(&t, g->why, sizeof g->why);
	text_addf(&t, "%s: ", what);
	add_status(&t, major, GSS_C_GSS_CODE);
	if (minor != 0) {
		text_add(&t, ": ");
		add_status(&t, minor, GSS_C_MECH_CODE);
	}
	g->state = GSSAPI_FAILED;
}

/* The key of the service, from the file that is set, whatever the environment. */
static bool acquire(struct gssapi *g)
{
	gss_key_value_element_desc keytab = { "keytab", g->keytab };
	const gss_key_value_set_desc store = { 1, &keytab };
	OM_uint32 minor;

	if (g->cred != GSS_C_NO_CREDENTIAL || g->keytab == NULL)
		return true;
	const OM_uint32 major = gss_acquire_cred_from(&minor, GSS_C_NO_NAME,
	    GSS_C_INDEFINITE, GSS_C_NO_OID_SET, GSS_C_ACCEPT, &store,
	    &g->cred, NULL, NULL);

	if (major == GSS_S_COMPLETE)
		return true;
	gssapi_fail(g, "could not use the keytab", major, minor);
	return false;
}

/* As PostgreSQL: the name as it is displayed, and up to its first NUL. */
static void learn_peer(struct gssapi *g, gss_name_t name)
{
	gss_buffer_desc said = GSS_C_EMPTY_BUFFER;
	OM_uint32 minor;
	const OM_uint32 major = gss_display_name(&minor, name, &said, NULL);

	if (major != GSS_S_COMPLETE) {
		gssapi_fail(g, "retrieving GSS user name failed", major,
		    minor);
		return;
	}
	g->peer = mem_strndup(said.value, said.length);
	g->state = g->peer != NULL ? GSSAPI_DONE : GSSAPI_NO_MEMORY;
	(void)gss_release_buffer(&minor, &said);
}

static void accept_token(struct gssapi *g)
{
	gss_buffer_desc in = { g->token_len, g->token };
	gss_name_t name = GSS_C_NO_NAME;
	OM_uint32 minor, flags, ignored;

	if (!acquire(g))
		return;
	const OM_uint32 major = gss_accept_sec_context(&minor, &g->context,
	    g->cred, &in, GSS_C_NO_CHANNEL_BINDINGS, &name, NULL, &g->out,
	    &flags, NULL, NULL);

	if (major == GSS_S_COMPLETE)
		learn_peer(g, name);
	else if (major == GSS_S_CONTINUE_NEEDED)
		g->state = GSSAPI_MORE;
	else
		gssapi_fail(g, "accepting GSS security context failed", major,
		    minor);
	if (name != GSS_C_NO_NAME)
		(void)gss_release_name(&ignored, &name);
}

/* --- on a thread, of one that begins --- */

static int import_name(struct gssapi *g, const char *text, gss_OID type,
    gss_name_t *name)
{
	gss_buffer_desc b = { strlen(text), (void *)text };
	OM_uint32 minor;
	const OM_uint32 major = gss_import_name(&minor, &b, type, name);

	if (major == GSS_S_COMPLETE)
		return 0;
	gssapi_fail(g, "could not read a GSSAPI name", major, minor);
	return -1;
}

/*
 * By the key of the client keytab. Its tickets are in a cache in memory that no
 * other exchange has: a key that is new, here or at the server, counts at once.
 */
static void acquire_own(struct gssapi *g, gss_name_t name)
{
	gss_key_value_element_desc items[] = {
		{ "ccache", g->cache }, { "client_keytab", g->keytab },
	};
	const gss_key_value_set_desc store = { 2, items };
	OM_uint32 minor;

	if (g->krb == NULL && krb5_init_context(&g->krb) != 0) {
		g->krb = NULL;
		g->state = GSSAPI_NO_MEMORY;
		return;
	}
	snprintf(g->cache, sizeof g->cache, "MEMORY:pgsluice %p", (void *)g);
	const OM_uint32 major = gss_acquire_cred_from(&minor, name,
	    GSS_C_INDEFINITE, GSS_C_NO_OID_SET, GSS_C_INITIATE, &store,
	    &g->cred, NULL, NULL);

	if (major != GSS_S_COMPLETE)
		gssapi_fail(g, "could not use the client keytab", major,
		    minor);
}

/* What the environment of the process has. */
static void acquire_default(struct gssapi *g, gss_name_t name)
{
	OM_uint32 minor;
	const OM_uint32 major = gss_acquire_cred(&minor, name,
	    GSS_C_INDEFINITE, GSS_C_NO_OID_SET, GSS_C_INITIATE, &g->cred,
	    NULL, NULL);

	if (major != GSS_S_COMPLETE)
		gssapi_fail(g, "could not find a credential", major, minor);
}

/* The first step: who we are, and whom we want. */
static void prepare(struct gssapi *g)
{
	gss_name_t name = GSS_C_NO_NAME;
	OM_uint32 minor;

	if (import_name(g, g->target, GSS_C_NT_HOSTBASED_SERVICE,
	    &g->target_name) < 0)
		return;
	if (g->principal != NULL &&
	    import_name(g, g->principal, GSS_C_NT_USER_NAME, &name) < 0)
		return;
	if (g->keytab != NULL)
		acquire_own(g, name);
	else
		acquire_default(g, name);
	if (name != GSS_C_NO_NAME)
		(void)gss_release_name(&minor, &name);
}

static void initiate_token(struct gssapi *g)
{
	gss_buffer_desc in = { g->token_len, g->token };
	OM_uint32 minor, flags = 0;

	if (g->target_name == GSS_C_NO_NAME) {
		prepare(g);
		if (g->state != GSSAPI_MORE)
			return;
	}
	const OM_uint32 major = gss_init_sec_context(&minor, g->cred,
	    &g->context, g->target_name, GSS_C_NO_OID, GSS_C_MUTUAL_FLAG, 0,
	    GSS_C_NO_CHANNEL_BINDINGS, &in, NULL, &g->out, &flags, NULL);

	if (major == GSS_S_CONTINUE_NEEDED)
		return;
	if (major != GSS_S_COMPLETE)
		gssapi_fail(g, "initiating GSS security context failed",
		    major, minor);
	else if ((flags & GSS_C_MUTUAL_FLAG) == 0)
		gssapi_fail(g, "the server did not prove itself", major, 0);
	else
		g->state = GSSAPI_DONE;
}

static void gssapi_work(struct offload_job *j)
{
	struct gssapi *const g = (struct gssapi *)j;

	if (g->target != NULL)
		initiate_token(g);
	else
		accept_token(g);
}

/* --- on the loop --- */

/* The cache and its tickets; in memory, so it may be done here. */
static void forget_tickets(struct gssapi *g)
{
	krb5_ccache cache;

	if (g->krb == NULL)
		return;
	if (krb5_cc_resolve(g->krb, g->cache, &cache) == 0)
		(void)krb5_cc_destroy(g->krb, cache);
	krb5_free_context(g->krb);
}

static void destroy(struct gssapi *g)
{
	OM_uint32 minor;

	if (g->context != GSS_C_NO_CONTEXT)
		(void)gss_delete_sec_context(&minor, &g->context,
		    GSS_C_NO_BUFFER);
	if (g->cred != GSS_C_NO_CREDENTIAL)
		(void)gss_release_cred(&minor, &g->cred);
	if (g->target_name != GSS_C_NO_NAME)
		(void)gss_release_name(&minor, &g->target_name);
	forget_tickets(g);
	(void)gss_release_buffer(&minor, &g->out);
	mem_free(g->keytab);
	mem_free(g->target);
	mem_free(g->principal);
	mem_free(g->token);
	mem_free(g->peer);
	mem_free(g);
}

static void gssapi_done(struct offload_job *j)
{
	struct gssapi *const g = (struct gssapi *)j;

	g->place = BACK;
	g->done(g->owner);
}

/* There is one job after another; only gssapi_free() ends them. */
static void gssapi_free_job(struct offload_job *j)
{
	struct gssapi *const g = (struct gssapi *)j;

	if (g->gone)
		destroy(g);
	else if (g->place == BACK)
		g->place = HERE;
}

/* A copy; "" is as good as none. 0, or -1: no memory. */
static int gssapi_copy(char **to, const char *text)
{
	if (text == NULL || text[0] == '\0')
		return 0;
	*to = mem_strdup(text);
	return *to != NULL ? 0 : -1;
}

struct gssapi *gssapi_new(const struct gssapi_order *order)
{
	static const struct offload_ops ops = {
		.work = gssapi_work, .done = gssapi_done,
		.free = gssapi_free_job,
	};
	struct gssapi *const g = mem_zalloc(sizeof *g);

	if (g == NULL)
		return NULL;
	g->job.ops = &ops;
	g->done = order->done;
	g->owner = order->owner;
	if (gssapi_copy(&g->keytab, order->keytab) == 0 &&
	    gssapi_copy(&g->target, order->target) == 0 &&
	    gssapi_copy(&g->principal, order->principal) == 0)
		return g;
	destroy(g);
	return NULL;
}

void gssapi_free(struct gssapi **gp)
{
	struct gssapi *const g = *gp;

	*gp = NULL;
	if (g == NULL)
		return;
	g->gone = true;
	if (g->place == AWAY)
		offload_cancel(g->offload, &g->job);
	else if (g->place == HERE)
		destroy(g);
}

enum offload_answer gssapi_step(struct gssapi *g, struct offload *o,
    const void *token, size_t len)
{
	OM_uint32 minor;

	(void)gss_release_buffer(&minor, &g->out);
	mem_free(g->token);
	g->token_len = len;
	g->token = mem_alloc(len + 1);	/* one of no bytes is a token, too */
	if (o == NULL || g->token == NULL)
		return OFFLOAD_NO_THREAD;
	if (len > 0)
		memcpy(g->token, token, len);
	g->offload = o;
	const enum offload_answer answer =
	    offload_submit(o, g->target != NULL ? OFFLOAD_GSS_SERVERS :
	    OFFLOAD_GSS, &g->job);

	if (answer == OFFLOAD_TAKEN)
		g->place = AWAY;
	return answer;
}

enum gssapi_state gssapi_state(const struct gssapi *g)
{
	return g->state;
}

const void *gssapi_token(const struct gssapi *g, size_t *len)
{
	*len = g->out.length;
	return g->out.length > 0 ? g->out.value : NULL;
}

const char *gssapi_peer(const struct gssapi *g)
{
	return g->peer;
}

const char *gssapi_why(const struct gssapi *g)
{
	return g->why;
}

/* --- encryption --- */

void gssapi_release(struct gssapi_bytes *b)
{
	gss_buffer_desc old = { b->len, b->at };
	OM_uint32 minor;

	(void)gss_release_buffer(&minor, &old);
	*b = (struct gssapi_bytes){ NULL, 0 };
}

/* What is not confidential is none of ours. */
static int gssapi_conclude(OM_uint32 major, int sealed, gss_buffer_desc *made,
    struct gssapi_bytes *out)
{
	*out = (struct gssapi_bytes){ made->value, made->length };
	if (major == GSS_S_COMPLETE && sealed != 0)
		return 0;
	gssapi_release(out);
	return -1;
}

int gssapi_seal(struct gssapi *g, const void *p, size_t len,
    struct gssapi_bytes *out)
{
	gss_buffer_desc in = { len, (void *)p }, made = GSS_C_EMPTY_BUFFER;
	OM_uint32 minor;
	int sealed = 0;
	const OM_uint32 major = gss_wrap(&minor, g->context, 1,
	    GSS_C_QOP_DEFAULT, &in, &sealed, &made);

	return gssapi_conclude(major, sealed, &made, out);
}

int gssapi_open(struct gssapi *g, const void *p, size_t len,
    struct gssapi_bytes *out)
{
	gss_buffer_desc in = { len, (void *)p }, made = GSS_C_EMPTY_BUFFER;
	OM_uint32 minor;
	int sealed = 0;
	/* a token that is out of its order is not COMPLETE */
	const OM_uint32 major = gss_unwrap(&minor, g->context, &in, &made,
	    &sealed, NULL);

	return gssapi_conclude(major, sealed, &made, out);
}

size_t gssapi_data_max(const struct gssapi *g, size_t max)
{
	OM_uint32 minor, n = 0;

	return gss_wrap_size_limit(&minor, g->context, 1, GSS_C_QOP_DEFAULT,
	    (OM_uint32)max, &n) == GSS_S_COMPLETE && n < max ? n : 0;
}
