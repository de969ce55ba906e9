/* SPDX-License-Identifier: BSD-2-Clause */
/* What each key of top does to the view: the selection, the order, groups, the filter, signals. */
#include "report/top/view.h"

#include <signal.h>
#include <string.h>

#include "tests/random.h"
#include "tests/tap.h"

#define ROWS 25
#define PAGE 10

static struct top_row row[ROWS];
static struct top_rows rows = {.row = row};

/* Rows of processes, with ids from `first` on. */
static void fill(uint32_t count, uint64_t first)
{
	memset(row, 0, sizeof(row));
	for (uint32_t i = 0; i < count; i++) {
		row[i].id = first + i;
		row[i].process = row[i].pid = (uint32_t)(first + i);
	}
	rows.count = count;
}

static struct top_view view_of(uint32_t count, unsigned page)
{
	struct top_view v = {.page = page, .sort = TOP_GC};
	fill(count, 100);
	top_view_settle(&v, &rows);
	return v;
}

static enum top_action type(struct top_view *v, const char *keys)
{
	enum top_action last = TOP_DRAW;
	for (; *keys; keys++)
		last = top_view_key(v, &rows, (unsigned char)*keys);
	return last;
}

static enum top_action press(struct top_view *v, uint32_t key)
{
	return top_view_key(v, &rows, key);
}

static void is_at(const struct top_view *v, uint32_t at, uint32_t first, const char *name)
{
	bool good = v->at == at && v->first == first && v->selected == 100 + at;
	ok(good, "%s", name);
	if (!good)
		diag("at %u of %u, selected %llu", v->at, v->first,
		     (unsigned long long)v->selected);
}

static void test_moves(void)
{
	static const struct {
		uint32_t key, at, first;
		const char *name;
	} moves[] = {
		{TOP_KEY_UP, 0, 0, "up at the first row stays"},
		{TOP_KEY_DOWN, 1, 0, "down is the next row"},
		{TOP_KEY_PAGE_DOWN, 10, 1, "a page down is a row less than is shown"},
		{TOP_KEY_END, 24, 15, "the last page is full"},
		{TOP_KEY_DOWN, 24, 15, "down at the last row stays"},
		{TOP_KEY_PAGE_DOWN, 24, 15, "so does a page down"},
		{TOP_KEY_UP, 23, 15, "up moves within the page"},
		{TOP_KEY_PAGE_UP, 14, 14, "a page up scrolls as far as it must"},
		{TOP_KEY_PAGE_UP, 5, 5, "again"},
		{TOP_KEY_PAGE_UP, 0, 0, "to the first row at most"},
		{TOP_KEY_END, 24, 15, "the end"},
		{TOP_KEY_HOME, 0, 0, "and the begin"},
	};
	struct top_view v = view_of(ROWS, PAGE);
	is_at(&v, 0, 0, "the first row is selected");
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		if (press(&v, moves[i].key) != TOP_DRAW)
			ok(false, "a move makes no rows");
		is_at(&v, moves[i].at, moves[i].first, moves[i].name);
	}
	v = view_of(ROWS, 1);
	press(&v, TOP_KEY_PAGE_DOWN);
	is_at(&v, 1, 1, "a page of one row moves by one");
	v = view_of(ROWS, 0);
	press(&v, TOP_KEY_PAGE_DOWN);
	is_at(&v, 1, 1, "one that was not drawn yet, too");
	v = view_of(0, PAGE);
	press(&v, TOP_KEY_END);
	ok(!v.at && !v.first && !v.selected, "of no rows none is selected");
}

/* Wherever keys and new rows have led: the selection is a row, and is shown. */
static void test_random(void)
{
	static const uint32_t keys[] = {TOP_KEY_UP,	   TOP_KEY_DOWN, TOP_KEY_PAGE_UP,
					TOP_KEY_PAGE_DOWN, TOP_KEY_HOME, TOP_KEY_END};
	uint64_t seed = 1;
	unsigned wrong = 0;
	struct top_view v = view_of(ROWS, PAGE);
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t count = rows.count;
		if (!(random_next(&seed) % 8)) {
			count = (uint32_t)(random_next(&seed) % (ROWS + 1));
			fill(count, 100);
			v.page = (unsigned)(random_next(&seed) % 15);
			top_view_settle(&v, &rows);
		} else {
			press(&v, keys[random_next(&seed) % 6]);
		}
		uint32_t page = v.page ? v.page : 1;
		bool is_shown = v.at >= v.first && v.at - v.first < page;
		bool is_full = v.first + page <= count || !v.first;
		wrong += count ? v.at >= count || !is_shown || !is_full || v.selected != 100 + v.at
			       : v.at || v.first;
	}
	is(wrong, 0, "after any keys and rows the selection is one of the rows that are shown");
}

static void test_following(void)
{
	struct top_view v = view_of(ROWS, PAGE);
	press(&v, TOP_KEY_PAGE_DOWN);
	fill(ROWS, 98);
	top_view_settle(&v, &rows);
	ok(v.at == 9 && v.selected == 107, "the place of the selection stays") ||
		(diag("at %u", v.at), 1);
	is(press(&v, 'F'), TOP_DRAW, "F follows a row");
	fill(ROWS, 103);
	top_view_settle(&v, &rows);
	ok(v.at == 4 && v.selected == 107, "wherever it moves");
	fill(ROWS, 200);
	top_view_settle(&v, &rows);
	ok(v.at == 4 && v.selected == 107, "one that is hidden is followed still");
	fill(ROWS, 106);
	top_view_settle(&v, &rows);
	ok(v.at == 1 && v.selected == 107, "and found again");
	press(&v, TOP_KEY_DOWN);
	ok(!v.follows && v.at == 2 && v.selected == 108, "a move ends that");
	press(&v, 'F');
	press(&v, 'F');
	ok(!v.follows, "and so does F");
}

static void test_order(void)
{
	static const struct {
		const char *keys;
		enum top_column column;
	} sorts[] = {{"P", TOP_GC},    {"M", TOP_HEAP},	   {"T", TOP_MAX},     {"N", TOP_PID},
		     {"A", TOP_ALLOC}, {"L", TOP_LOST},	   {"C", TOP_PROGRAM}, {"9", TOP_P99},
		     {"P>", TOP_P99},  {"P.", TOP_P99},	   {"P<", TOP_PID},    {"P,", TOP_PID},
		     {"C>", TOP_PID},  {"N<", TOP_PROGRAM}};
	for (size_t i = 0; i < sizeof(sorts) / sizeof(*sorts); i++) {
		struct top_view v = view_of(ROWS, PAGE);
		v.reversed = v.tree = true;
		enum top_action a = type(&v, sorts[i].keys);
		ok(a == TOP_MAKE && v.sort == sorts[i].column && !v.reversed && !v.tree,
		   "%s orders by column %u, in its own direction and flat", sorts[i].keys,
		   sorts[i].column);
	}
	struct top_view v = view_of(ROWS, PAGE);
	is(press(&v, TOP_KEY_F0 + 6), TOP_MAKE, "F6 makes another order");
	is(v.sort, TOP_P99, "that of the next column");
	static const struct {
		uint32_t key, other;
		size_t offset;
		const char *name;
	} turns[] = {
		{'I', 0, offsetof(struct top_view, reversed), "I reverses"},
		{'w', 0, offsetof(struct top_view, whole), "w counts since the begin"},
		{'t', TOP_KEY_F0 + 5, offsetof(struct top_view, tree), "t shows a tree"},
		{'e', 0, offsetof(struct top_view, ended), "e shows what has ended"},
		{'Z', 0, offsetof(struct top_view, paused), "Z pauses"},
	};
	for (size_t i = 0; i < sizeof(turns) / sizeof(*turns); i++) {
		const bool *turned = (const bool *)&v + turns[i].offset;
		enum top_action first = press(&v, turns[i].key);
		bool on = *turned;
		press(&v, turns[i].other ? turns[i].other : turns[i].key);
		ok(first == TOP_MAKE && on && !*turned, "%s, and again not", turns[i].name);
	}
	struct top_order o;
	v.reversed = v.ended = true;
	o = top_view_order(&v);
	ok(o.reversed && o.ended && !o.tree && !o.whole && o.sort == v.sort,
	   "rows are made in the order of the view");
}

static void test_groups(void)
{
	struct top_view v = view_of(ROWS, PAGE);
	press(&v, TOP_KEY_END);
	unsigned seen = 0;
	for (unsigned i = 0; i < TOP_GROUPS; i++) {
		seen |= 1u << v.group;
		is(press(&v, 'g'), TOP_MAKE, "g groups otherwise");
	}
	ok(seen == (1u << TOP_GROUPS) - 1 && !v.group && !v.at && !v.first,
	   "by each, and then by process again, from the first row on");
	type(&v, "g");
	row[2].is_group = true;
	strcpy(row[2].name, "some");
	press(&v, TOP_KEY_DOWN);
	press(&v, TOP_KEY_DOWN);
	enum top_group within = v.group;
	is(press(&v, TOP_KEY_ENTER), TOP_MAKE, "Enter opens a group");
	ok(v.screen == TOP_LIST && v.group == TOP_BY_PROCESS && v.within == within &&
		   !strcmp(v.within_name, "some") && !v.at && !v.first,
	   "the list is of its processes then");
	is(press(&v, TOP_KEY_ESCAPE), TOP_MAKE, "Esc leaves it");
	ok(v.group == within && !*v.within_name, "for the groups");
	is(press(&v, TOP_KEY_ESCAPE), TOP_DRAW, "Esc in no group does nothing");
	press(&v, TOP_KEY_DOWN);
	is(press(&v, TOP_KEY_ENTER), TOP_MAKE, "Enter opens a process");
	ok(v.screen == TOP_DETAIL && v.opened == 101, "the one that is selected");
	is(press(&v, 'w'), TOP_MAKE, "there, too, w counts since the begin");
	press(&v, TOP_KEY_BACKSPACE);
	ok(v.screen == TOP_LIST && v.whole, "Backspace goes back");
	fill(0, 0);
	v = view_of(0, PAGE);
	is(press(&v, TOP_KEY_ENTER), TOP_DRAW, "where there is no row Enter opens none");
}

static void test_screens(void)
{
	static const uint32_t help[] = {'h', '?', TOP_KEY_F0 + 1}, leave[] = {'q', TOP_KEY_F0 + 10};
	for (size_t i = 0; i < sizeof(help) / sizeof(*help); i++) {
		struct top_view v = view_of(ROWS, PAGE);
		press(&v, help[i]);
		bool shown = v.screen == TOP_HELP;
		enum top_action back = press(&v, 'q');
		ok(shown && back == TOP_MAKE && v.screen == TOP_LIST,
		   "help is shown, and any key leaves it");
	}
	for (size_t i = 0; i < 4; i++) {
		struct top_view v = view_of(ROWS, PAGE);
		v.screen = i / 2 ? TOP_DETAIL : TOP_LIST;
		is(press(&v, leave[i % 2]), TOP_LEAVE, "q and F10 leave, from both screens");
	}
	struct top_view v = view_of(ROWS, PAGE);
	is(press(&v, 'x'), TOP_DRAW, "another key does nothing");
}

static void test_filter(void)
{
	static const uint32_t asks[] = {'/', '\\', TOP_KEY_F0 + 3, TOP_KEY_F0 + 4};
	for (size_t i = 0; i < 4; i++) {
		struct top_view v = view_of(ROWS, PAGE);
		ok(press(&v, asks[i]) == TOP_DRAW && v.question == TOP_ASKS_FILTER,
		   "a filter is asked for");
	}
	struct top_view v = view_of(ROWS, PAGE);
	press(&v, TOP_KEY_END);
	is(type(&v, "/aqk~ "), TOP_MAKE, "each character makes other rows");
	ok(!strcmp(v.filter, "aqk~ ") && !v.at && !v.first,
	   "keys are characters then, and the first row is selected");
	press(&v, TOP_KEY_UP);
	type(&v, "\x1f\x7f");
	is_str(v.filter, "aqk~ ", "but for those that are none");
	press(&v, TOP_KEY_BACKSPACE);
	is_str(v.filter, "aqk~", "Backspace takes the last one");
	press(&v, TOP_KEY_ENTER);
	ok(v.question == TOP_ASKS_NOTHING && !strcmp(v.filter, "aqk~"), "Enter keeps it");
	type(&v, "/");
	is_str(v.was, "aqk~", "what there was is known while another is asked for");
	for (unsigned i = 0; i < 6; i++)
		press(&v, TOP_KEY_BACKSPACE);
	is_str(v.filter, "", "of nothing Backspace takes nothing");
	for (unsigned i = 0; i < 2 * TOP_FILTER_BYTES; i++)
		type(&v, "x");
	is(strlen(v.filter), TOP_FILTER_BYTES - 1, "a filter is as long as there is room");
	press(&v, TOP_KEY_ESCAPE);
	ok(v.question == TOP_ASKS_NOTHING && !*v.filter, "Esc clears it");
}

static void test_signals(void)
{
	static const struct {
		const char *keys;
		enum top_action action;
		int signal;
	} kills[] = {
		{"ky", TOP_KILL, SIGTERM}, {"kY", TOP_KILL, SIGTERM}, {"k9y", TOP_KILL, 9},
		{"k15y", TOP_KILL, 15},	   {"k64y", TOP_KILL, 64},    {"k65y", TOP_KILL, 5},
		{"k0y", TOP_DRAW, 0},	   {"kn", TOP_DRAW, SIGTERM}, {"kq", TOP_DRAW, SIGTERM},
		{"k123y", TOP_KILL, 3},
	};
	for (size_t i = 0; i < sizeof(kills) / sizeof(*kills); i++) {
		struct top_view v = view_of(ROWS, PAGE);
		enum top_action a = type(&v, kills[i].keys);
		bool sends = a == TOP_KILL;
		ok(a == kills[i].action && v.kill.signal == kills[i].signal && v.kill.pid == 100 &&
			   v.question == TOP_ASKS_NOTHING &&
			   !strcmp(v.said, sends ? "" : "no signal was sent"),
		   "%s: %s %d", kills[i].keys, sends ? "signal" : "none, though it was",
		   kills[i].signal) ||
			(diag("%d, signal %d, '%s'", a, v.kill.signal, v.said), 1);
	}
	struct top_view v = view_of(ROWS, PAGE);
	row[0].ended = true;
	type(&v, "k");
	ok(!v.question && !strcmp(v.said, "no process that runs is selected"),
	   "what has ended gets no signal");
	press(&v, TOP_KEY_DOWN);
	is_str(v.said, "", "what was said is said until the next key");
	row[1].is_group = true;
	type(&v, "k");
	ok(!v.question && strstr(v.said, "a group gets no signal"), "nor does a group");
	v.screen = TOP_DETAIL;
	v.opened = 105;
	press(&v, TOP_KEY_F0 + 9);
	ok(v.question == TOP_ASKS_KILL && v.kill.pid == 105,
	   "F9 is for the process that is open") ||
		(diag("%u", v.kill.pid), 1);
}

int main(void)
{
	test_moves();
	test_random();
	test_following();
	test_order();
	test_groups();
	test_screens();
	test_filter();
	test_signals();
	return tap_done();
}
