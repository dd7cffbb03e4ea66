/* judgement.h - how the pooler is, in three words, and why.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_JUDGEMENT_H
#define CONSOLE_JUDGEMENT_H

#include "base/time.h"

struct admin;

/*
 * One place decides, and SHOW HEALTH, /readyz, /metrics, the status page,
 * pgsluicectl status and top repeat it. (spec/http.md section 3)
 */
enum judgement {
	JUDGED_WELL,
	JUDGED_DEGRADED,	/* something needs attention; some are served */
	JUDGED_DOWN,		/* nobody is served */
	JUDGEMENTS
};

/* What it means for a balancer. */
enum finding_effect {
	FINDING_TOLD,		/* nothing: operators should know of it */
	FINDING_OUTAGE,		/* some clients are not served */
	FINDING_UNREADY,	/* no new clients should be sent here */
};

/* One reason not to be well. All texts are borrowed for the call. */
struct finding {
	enum judgement word;
	enum finding_effect effect;
	const char *reason;		/* "no server": one of a fixed list */
	const char *database, *user;	/* NULL: it is about the process */
	const char *detail;		/* NULL: there is no more to say */
	usec_t age;			/* for so long; -1: not known */
};

typedef void finding_fn(void *arg, const struct finding *f);

/*
 * The word for all of it; fn (or NULL) is told of each finding. a is the first
 * worker's, in a hold, because the others are asked, too. database: only what
 * concerns the process or this one; NULL: all.
 */
enum judgement judge(const struct admin *a, const char *database,
    finding_fn *fn, void *arg);
const char *judgement_name(enum judgement word);	/* "well" */

#endif
