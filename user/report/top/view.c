/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/top/view.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct top_order top_view_order(const struct top_view *v)
{
	return (struct top_order){
		.group = v->group,
		.sort = v->sort,
		.reversed = v->reversed,
		.tree = v->tree,
		.ended = v->ended,
		.whole = v->whole,
		.filter = v->filter,
		.within = v->within,
		.within_name = v->within_name,
	};
}

void top_view_settle(struct top_view *v, const struct top_rows *rows)
{
	if (!rows->count) {
		v->at = v->first = 0;
		return;
	}
	uint32_t found = rows->count;
	for (uint32_t i = 0; v->follows && i < rows->count; i++)
		if (rows->row[i].id == v->selected)
			found = i;
	if (found < rows->count)
		v->at = found;
	if (v->at >= rows->count)
		v->at = rows->count - 1;
	/* One that is followed and is not shown at present is followed still. */
	if (!v->follows || found < rows->count)
		v->selected = rows->row[v->at].id;
	uint32_t page = v->page ? v->page : 1;
	if (v->first > v->at)
		v->first = v->at;
	if (v->at - v->first >= page)
		v->first = v->at - page + 1;
	if (v->first + page > rows->count)
		v->first = rows->count > page ? rows->count - page : 0;
}

static enum top_action move(struct top_view *v, const struct top_rows *rows, int64_t by)
{
	int64_t at = (int64_t)v->at + by;
	int64_t last = rows->count ? (int64_t)rows->count - 1 : 0;
	v->follows = false;
	v->at = (uint32_t)(at < 0 ? 0 : at > last ? last : at);
	top_view_settle(v, rows);
	return TOP_DRAW;
}

static enum top_action sort_by(struct top_view *v, enum top_column column)
{
	v->reversed = false;
	v->sort = column;
	v->tree = false;
	return TOP_MAKE;
}

static enum top_action turn(bool *what)
{
	*what = !*what;
	return TOP_MAKE;
}

static enum top_action next_group(struct top_view *v)
{
	v->group = (enum top_group)((v->group + 1) % TOP_GROUPS);
	*v->within_name = 0;
	v->at = v->first = 0;
	v->follows = false;
	return TOP_MAKE;
}

static enum top_action leave_group(struct top_view *v)
{
	if (!*v->within_name)
		return TOP_DRAW;
	v->group = v->within;
	*v->within_name = 0;
	v->at = v->first = 0;
	return TOP_MAKE;
}

static const struct top_row *row_at_hand(const struct top_view *v, const struct top_rows *rows)
{
	return top_rows_find(rows, v->screen == TOP_DETAIL ? v->opened : v->selected);
}

static enum top_action open_row(struct top_view *v, const struct top_rows *rows)
{
	const struct top_row *r = row_at_hand(v, rows);
	if (!r)
		return TOP_DRAW;
	if (r->is_group) {
		v->within = v->group;
		snprintf(v->within_name, sizeof(v->within_name), "%s", r->name);
		v->group = TOP_BY_PROCESS;
		v->at = v->first = 0;
	} else {
		v->opened = r->id;
		v->screen = TOP_DETAIL;
	}
	return TOP_MAKE;
}

static enum top_action ask_kill(struct top_view *v, const struct top_rows *rows)
{
	const struct top_row *r = row_at_hand(v, rows);
	if (!r || r->is_group || r->ended || !r->process) {
		snprintf(v->said, sizeof(v->said), "%s",
			 r && r->is_group ? "a group gets no signal: Enter shows its processes"
					  : "no process that runs is selected");
		return TOP_DRAW;
	}
	v->kill = (struct top_kill){r->process, r->in_order, r->pid, SIGTERM, ""};
	memcpy(v->kill.name, r->name, sizeof(v->kill.name));
	v->question = TOP_ASKS_KILL;
	return TOP_DRAW;
}

/* y sends; digits make another signal of it; all else is no. */
static enum top_action answer_kill(struct top_view *v, uint32_t key)
{
	int signal = v->kill.signal;
	if (key >= '0' && key <= '9') {
		int digit = (int)(key - '0'), more = signal * 10 + digit;
		v->kill.signal = signal != SIGTERM && more < NSIG ? more : digit;
		return TOP_DRAW;
	}
	v->question = TOP_ASKS_NOTHING;
	if ((key == 'y' || key == 'Y') && signal > 0)
		return TOP_KILL;
	snprintf(v->said, sizeof(v->said), "no signal was sent");
	return TOP_DRAW;
}

static enum top_action ask_filter(struct top_view *v)
{
	memcpy(v->was, v->filter, sizeof(v->was));
	v->question = TOP_ASKS_FILTER;
	return TOP_DRAW;
}

static enum top_action answer_filter(struct top_view *v, uint32_t key)
{
	size_t len = strlen(v->filter);
	if (key == TOP_KEY_ENTER) {
		v->question = TOP_ASKS_NOTHING;
	} else if (key == TOP_KEY_ESCAPE) {
		v->question = TOP_ASKS_NOTHING;
		*v->filter = 0;
	} else if (key == TOP_KEY_BACKSPACE) {
		v->filter[len ? len - 1 : 0] = 0;
	} else if (key >= 0x20 && key < 0x7f && len < sizeof(v->filter) - 1) {
		v->filter[len] = (char)key;
		v->filter[len + 1] = 0;
	}
	v->at = v->first = 0;
	return TOP_MAKE;
}

static enum top_action key_of_list(struct top_view *v, const struct top_rows *rows, uint32_t key)
{
	int64_t page = v->page > 1 ? v->page - 1 : 1;
	switch (key) {
	case TOP_KEY_UP:
		return move(v, rows, -1);
	case TOP_KEY_DOWN:
		return move(v, rows, 1);
	case TOP_KEY_PAGE_UP:
		return move(v, rows, -page);
	case TOP_KEY_PAGE_DOWN:
		return move(v, rows, page);
	case TOP_KEY_HOME:
		return move(v, rows, INT32_MIN);
	case TOP_KEY_END:
		return move(v, rows, INT32_MAX);
	case TOP_KEY_ENTER:
		return open_row(v, rows);
	case TOP_KEY_ESCAPE:
	case TOP_KEY_BACKSPACE:
		return leave_group(v);
	case TOP_KEY_F0 + 3:
	case TOP_KEY_F0 + 4:
	case '/':
	case '\\':
		return ask_filter(v);
	case TOP_KEY_F0 + 5:
	case 't':
		return turn(&v->tree);
	case 'e':
		return turn(&v->ended);
	case 'F':
		v->follows = !v->follows;
		return TOP_DRAW;
	case 'g':
		return next_group(v);
	default:
		return TOP_DRAW;
	}
}

/* Keys that choose the order. TOP_DRAW: it is none. */
static enum top_action key_of_order(struct top_view *v, uint32_t key)
{
	static const struct {
		char key;
		enum top_column column;
	} columns[] = {{'P', TOP_GC},	 {'M', TOP_HEAP}, {'T', TOP_MAX},     {'N', TOP_PID},
		       {'A', TOP_ALLOC}, {'L', TOP_LOST}, {'C', TOP_PROGRAM}, {'9', TOP_P99}};
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		if (key == (uint32_t)(unsigned char)columns[i].key)
			return sort_by(v, columns[i].column);
	switch (key) {
	case TOP_KEY_F0 + 6:
	case '>':
	case '.':
		return sort_by(v, (enum top_column)((v->sort + 1) % TOP_COLUMNS));
	case '<':
	case ',':
		return sort_by(v, (enum top_column)((v->sort + TOP_COLUMNS - 1) % TOP_COLUMNS));
	case 'I':
		return turn(&v->reversed);
	case 'w':
		return turn(&v->whole);
	default:
		return TOP_DRAW;
	}
}

/* Keys of all screens but those of a question. */
static enum top_action key_of_all(struct top_view *v, const struct top_rows *rows, uint32_t key)
{
	switch (key) {
	case TOP_KEY_F0 + 10:
	case 'q':
		return TOP_LEAVE;
	case TOP_KEY_F0 + 9:
	case 'k':
		return ask_kill(v, rows);
	case 'Z':
		return turn(&v->paused);
	case TOP_KEY_F0 + 1:
	case 'h':
	case '?':
		v->screen = TOP_HELP;
		return TOP_DRAW;
	}
	if (v->screen == TOP_LIST) {
		enum top_action a = key_of_order(v, key);
		return a == TOP_DRAW ? key_of_list(v, rows, key) : a;
	}
	if (key == TOP_KEY_ESCAPE || key == TOP_KEY_BACKSPACE)
		v->screen = TOP_LIST;
	return key == 'w' ? turn(&v->whole) : TOP_MAKE;
}

enum top_action top_view_key(struct top_view *v, const struct top_rows *rows, uint32_t key)
{
	*v->said = 0;
	if (v->question == TOP_ASKS_FILTER)
		return answer_filter(v, key);
	if (v->question == TOP_ASKS_KILL)
		return answer_kill(v, key);
	if (v->screen == TOP_HELP) {
		v->screen = TOP_LIST;
		return TOP_MAKE;
	}
	return key_of_all(v, rows, key);
}
