/* board.h - the lists of status and top: which columns, how wide, in what
 * order.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_BOARD_H
#define CTL_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grid;
struct text;

#define BOARD_COLUMNS 16

enum board_kind {
	BOARD_TEXT,
	BOARD_NUMBER,
	BOARD_WAIT,	/* microseconds */
	BOARD_USE,	/* servers of the pool, of as many as there may be */
	BOARD_PEER,	/* addr:port */
	BOARD_STATE,	/* of a pool: why it serves nobody, why clients wait */
};

struct board_column {
	const char *source;	/* column of the console's answer */
	const char *title;
	enum board_kind kind;
	int most;		/* columns of the screen; 0: no limit */
};

struct board {
	const char *name;
	char key;		/* chooses the board */
	const char *topic;	/* SELECT * FROM topic */
	int sort;		/* column, at first ... */
	bool descending;
	bool capped;		/* there may be thousands of rows */
	struct board_column columns[BOARD_COLUMNS];	/* title NULL: the end */
};

#define BOARD_ROWS 1000		/* of a capped board */

/* The rows of a board. */
struct board_data {
	const struct board *board;
	const struct grid *rows;
	const struct grid *findings;	/* SHOW HEALTH; NULL: not known */
};

/* Which rows, in which order. */
struct board_wish {
	int sort;		/* column */
	bool descending;
	bool all;		/* also of a capped board */
	const char *database, *user;	/* of one pool; NULL: of all */
};

/* NULL: there are fewer boards. */
const struct board *board_at(size_t i);
size_t board_width(const struct board *b);	/* columns */

void board_query(const struct board *b, const struct board_wish *w,
    struct text *t);

/* The text of a cell. */
void board_cell(const struct board_data *d, int column, size_t row,
    struct text *t);

/*
 * The width of each column, as far as they fit into so many; 0 from the first
 * that does not. The last takes what is left.
 */
void board_layout(const struct board_data *d, int columns,
    int widths[BOARD_COLUMNS]);

/* One line: row SIZE_MAX is the titles, where sort has a mark (-1: none). */
struct board_line {
	const int *widths;
	int sort;
	bool descending;
};

void board_line(const struct board_line *l, const struct board_data *d,
    size_t row, struct text *t);

/* Does the row need the operator's attention? */
bool board_is_alarming(const struct board_data *d, size_t row);

/* Remove rows of the console's own pool. Returns how many stay. */
size_t board_hide_console(struct grid *g);

/* Remove rows none of whose cells has this text, in any case. */
void board_filter(struct grid *g, const char *text);

/* What tells a row from the others, when it is asked for again. */
void board_key(const struct board_data *d, size_t row, struct text *t);

/* All that is known of a row, in words. */
void board_describe(const struct board_data *d, size_t row, struct text *t);

#endif
