/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the user has chosen to see, and what keys do to it: as htop has them. A key changes the view
 * alone; what else it asks for is its action.
 *
 *            LIST                    DETAIL    HELP    asks for a filter   asks before a kill
 *   Enter    DETAIL of the process;  -         back    the filter is set   -
 *            LIST within the group
 *   Esc      out of the group        LIST      back    back, no filter     no kill
 *   q, F10   the end                 the end   back    (a character)       no kill
 *   k, F9    asks before a kill      asks      -       (a character)       -
 *   y        -                       -         -       (a character)       TOP_KILL
 */
#ifndef REPORT_TOP_VIEW_H
#define REPORT_TOP_VIEW_H

#include "report/top/rows.h"

/* Keys are characters, or one of these. */
enum top_key {
	TOP_KEY_ENTER = 0x110000,
	TOP_KEY_ESCAPE,
	TOP_KEY_BACKSPACE,
	TOP_KEY_UP,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_F0, /* and those behind it */
	TOP_KEY_F12 = TOP_KEY_F0 + 12,
};

enum top_screen { TOP_LIST, TOP_DETAIL, TOP_HELP };
enum top_question { TOP_ASKS_NOTHING, TOP_ASKS_FILTER, TOP_ASKS_KILL };
enum top_action {
	TOP_DRAW,  /* what there is, again */
	TOP_MAKE,  /* the rows are others now */
	TOP_LEAVE, /* the end of the run */
	TOP_KILL,  /* sends view.kill's signal; and TOP_MAKE */
};

#define TOP_FILTER_BYTES 64

/* A signal for a process: of this incarnation, by its index and its number in the registry. */
struct top_kill {
	uint32_t process, in_order, pid;
	int signal;
	char name[TOP_NAME_BYTES];
};

struct top_view {
	enum top_screen screen;
	enum top_question question;
	enum top_column sort;
	enum top_group group;
	bool reversed, tree, ended, whole;
	/* the selected row, wherever it moves; else the place of the selection stays */
	bool follows;
	bool paused;
	char filter[TOP_FILTER_BYTES], was[TOP_FILTER_BYTES]; /* was: before it is asked for */
	enum top_group within;
	char within_name[TOP_NAME_BYTES]; /* "": not within a group */
	uint64_t selected;		  /* the id of a row; 0: none */
	uint32_t at, first;		  /* its place, and that of the first row that is shown */
	unsigned page;			  /* rows that are shown; set when it is drawn */
	uint64_t opened;		  /* the row of DETAIL */
	struct top_kill kill;
	char said[96]; /* the answer to the last key, until the next one; "": none */
};

struct top_order top_view_order(const struct top_view *v);
enum top_action top_view_key(struct top_view *v, const struct top_rows *rows, uint32_t key);
/* The rows are others: finds the selection among them, and scrolls to it. */
void top_view_settle(struct top_view *v, const struct top_rows *rows);

#endif
