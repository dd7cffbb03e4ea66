/* auth_pam.c - a password that PAM checks; runs on a thread.
 * SPDX-License-Identifier: ISC */
#include <security/pam_appl.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"
#include "login/auth_ask.h"

#define SERVICE "pgbouncer"	/* spec/authentication.md section 3.6 */

static void free_replies(struct pam_response *r, int n)
{
	for (int i = 0; i < n; i++)
		secret_free(r[i].resp);
	mem_free(r);
}

/*
 * pam_conv(3): what is returned here is PAM's to free. Only a prompt without
 * echo is one for the password; nobody is there to answer another.
 */
static int converse(int n, const struct pam_message **m,
    struct pam_response **out, void *arg)
{
	const struct auth_ask *q = arg;
	struct pam_response *r;

	if (n <= 0 || n > PAM_MAX_NUM_MSG)
		return PAM_CONV_ERR;
	r = mem_zalloc((size_t)n * sizeof *r);
	if (r == NULL)
		return PAM_BUF_ERR;
	for (int i = 0; i < n; i++) {
		if (m[i]->msg_style == PAM_PROMPT_ECHO_OFF)
			r[i].resp = mem_strdup(q->password);
		const bool asks = m[i]->msg_style == PAM_PROMPT_ECHO_OFF ||
		    m[i]->msg_style == PAM_PROMPT_ECHO_ON;

		if (asks && r[i].resp == NULL) {
			free_replies(r, n);
			return m[i]->msg_style == PAM_PROMPT_ECHO_OFF ?
			    PAM_BUF_ERR : PAM_CONV_ERR;
		}
	}
	*out = r;
	return PAM_SUCCESS;
}

static void auth_pam_note(struct auth_ask *q, pam_handle_t *h, const char *call,
    int rc)
{
	struct text t;

	text_init(&t, q->detail, sizeof q->detail);
	text_addf(&t, "%s failed: %s", call, pam_strerror(h, rc));
	q->no_memory = rc == PAM_BUF_ERR;
}

static bool auth_pam_check(struct auth_ask *q, pam_handle_t *h)
{
	int rc = pam_set_item(h, PAM_RHOST, q->address);

	if (rc != PAM_SUCCESS) {
		auth_pam_note(q, h, "pam_set_item(PAM_RHOST)", rc);
		return false;
	}
	rc = pam_authenticate(h, PAM_SILENT);
	if (rc != PAM_SUCCESS) {
		auth_pam_note(q, h, "pam_authenticate()", rc);
		return false;
	}
	rc = pam_acct_mgmt(h, PAM_SILENT);
	if (rc != PAM_SUCCESS)
		auth_pam_note(q, h, "pam_acct_mgmt()", rc);
	return rc == PAM_SUCCESS;
}

void ask_pam(struct auth_ask *q)
{
	const struct pam_conv conv = { .conv = converse, .appdata_ptr = q };
	pam_handle_t *h = NULL;
	const int rc = pam_start(SERVICE, q->user, &conv, &h);

	if (rc != PAM_SUCCESS) {
		text_copy(q->detail, sizeof q->detail, "pam_start() failed");
		q->no_memory = rc == PAM_BUF_ERR;
		return;
	}
	q->allowed = auth_pam_check(q, h);
	pam_end(h, q->allowed ? PAM_SUCCESS : PAM_AUTH_ERR);
}
