/* gssapi.c - one side of a GSSAPI exchange: tokens in and out, on threads.
 * SPDX-License-Identifier: ISC */
#include "io/gssapi.h"

#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
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
	/* from here on: a thread's while it is AWAY */
	uint8_t *token;			/* owned: of the peer */
	size_t token_len;
	gss_ctx_id_t context;		/* owned */
	gss_cred_id_t cred;		/* owned */
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

static void gssapi_work(struct offload_job *j)
{
	accept_token((struct gssapi *)j);
}

/* --- on the loop --- */

static void destroy(struct gssapi *g)
{
	OM_uint32 minor;

	if (g->context != GSS_C_NO_CONTEXT)
		(void)gss_delete_sec_context(&minor, &g->context,
		    GSS_C_NO_BUFFER);
	if (g->cred != GSS_C_NO_CREDENTIAL)
		(void)gss_release_cred(&minor, &g->cred);
	(void)gss_release_buffer(&minor, &g->out);
	mem_free(g->keytab);
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

struct gssapi *gssapi_new(const struct gssapi_order *order)
{
	static const struct offload_ops ops = {
		.work = gssapi_work, .done = gssapi_done,
		.free = gssapi_free_job,
	};
	struct gssapi *const g = mem_zalloc(sizeof *g);
	const bool named = order->keytab != NULL && order->keytab[0] != '\0';

	if (g == NULL)
		return NULL;
	g->job.ops = &ops;
	g->done = order->done;
	g->owner = order->owner;
	g->keytab = named ? mem_strdup(order->keytab) : NULL;
	if (!named || g->keytab != NULL)
		return g;
	mem_free(g);
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
	    offload_submit(o, OFFLOAD_GSS, &g->job);

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
