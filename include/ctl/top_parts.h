/* top_parts.h - what the files of top share.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_TOP_PARTS_H
#define CTL_TOP_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/time.h"
#include "ctl/board.h"
#include "ctl/grid.h"
#include "ctl/link.h"
#include "ctl/status.h"

#define TOP_BOARDS 4

enum top_state {
	TOP_CONNECTING,
	TOP_ASKING,	/* an answer is awaited */
	TOP_RESTING,	/* until next */
	TOP_DOWN,	/* the console is gone; another try at next */
};

/*
 * Questions of one round, in this order: an order that was given; two once a
 * connection.
 */
enum top_question {
	TOP_ORDER, TOP_VERSION, TOP_BIRTH, TOP_STATE, TOP_LISTS, TOP_CONSOLES, TOP_TOTALS,
	TOP_WAITS, TOP_HEALTH, TOP_ROWS, TOP_QUESTIONS
};

#define TOP_NAME 128		/* bytes of a name, a filter, a message */

/* What a key means now. */
enum top_mode {
	TOP_LOOKS,
	TOP_HELPS,
	TOP_FILTERS,		/* letters go into the filter */
	TOP_WOULD_KILL,		/* a question is open: cancel, kill, or neither */
};

struct top {
	struct link link;
	enum top_state state;
	enum top_question question;	/* asked now */
	struct pg_result *answer;	/* owned: of it, so far */
	short events;		/* events the connection waits for */
	usec_t next;		/* end of the rest */
	usec_t since;		/* when the question was asked */
	usec_t interval;
	bool greeted;		/* version and birth are known */
	struct err why;		/* the connection was lost, or a question refused */

	struct summary sum;
	usec_t birth;		/* of the pooler, by our clock */
	struct grid rows, findings;
	size_t asked;		/* which board the last question was for */
	size_t shown;		/* which board the rows are of */
	usec_t fresh;		/* end of the latest round; 0: there was none */
	struct {
		int64_t transactions, queries;
		usec_t at;	/* 0: never */
	} count;
	int64_t tps, qps;	/* < 0: not known yet */

	size_t board;		/* the chosen one */
	struct {
		int column;
		bool descending;
	} sort[TOP_BOARDS];
	size_t first;		/* row at the top */
	size_t selected;
	char key[2 * TOP_NAME + 32];	/* of the selected row; "": none yet */
	enum top_mode mode;
	char filter[TOP_NAME];		/* "": none */
	char database[TOP_NAME], user[TOP_NAME];	/* of a pool; "": of all */
	char kill[64], cancel[64];	/* orders that the question offers */
	char order[64];			/* to be given; "": none */
	char message[256];		/* what became of it; "": nothing */
	bool frozen, leave;
};

/* --- top_ask.c --- */

void top_connect(struct top *t);
/* A new round, unless one is under way. */
void top_ask(struct top *t);
/* The connection can be read or written, or time has passed. */
void top_proceed(struct top *t, bool ready);
/* When top_proceed() must be called at the latest. */
usec_t top_due(const struct top *t);
void top_sort(struct top *t);
/* Note the selected row, which will be found again by its key. */
void top_select(struct top *t, size_t row);
void top_forget(struct top *t);		/* all answers */

/* --- top.c --- */

struct board_data top_data(const struct top *t);
void top_choose(struct top *t, size_t board);
/* A key while the list is looked at; false: it means nothing there. */
bool top_act(struct top *t, int key);
/* A key while a filter is typed, or a question is open. */
void top_filter_key(struct top *t, int key);
void top_kill_key(struct top *t, int key);

/* --- top_terminal.c --- */

bool top_knows_terminal(void);

/* --- top_draw.c --- */

void top_draw(const struct top *t);
size_t top_page(void);		/* rows of the list that are seen at once */
#define TOP_LOOK USEC		/* how often the age of the data is drawn */

#endif
