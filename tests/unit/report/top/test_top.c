/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of top: events go in, text comes out; and keys. */
#include "report/top/top.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/parts/ids.h"
#include "report/top/tree.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#define MS	   1000000ull
#define HEAP_WORDS 1000u

struct run {
	struct session *session;
	struct sink *top;
	struct top_frame frame;
	struct buf text;
	bool live;
};

static bool where(void *ctx, const struct process *p, struct top_where *ret)
{
	(void)ctx;
	snprintf(ret->unit, sizeof(ret->unit), p->pid < 3 ? "a.service" : "b.service");
	if (p->pid == 4)
		snprintf(ret->container, sizeof(ret->container), "docker:1");
	ret->parent = p->pid == 3 || p->pid == 4 ? 1 : p->pid == 2 ? 4 : 99;
	return true;
}

static void name(struct run *r, uint32_t process, const char *comm)
{
	struct process *p = processes_announce(&r->session->processes, process);
	snprintf(p->comm, sizeof(p->comm), "%s", comm);
}

static void begin(struct run *r, bool live, bool utf8)
{
	struct top_options o = {
		.is_live = live, .sort = TOP_GC, .host = {where, NULL}, .step_ns = 100 * MS};
	*r = (struct run){.live = live, .frame = {.utf8 = utf8}};
	if (session_new(&r->session) || enter_processes(r->session, 8) ||
	    top_new(r->session, -1, &o, &r->top) || buf_init(&r->text, -1, 4096))
		abort();
	if (live)
		r->session->run_begin = moment_at(1000 * MS);
	name(r, 1, "alpha");
	name(r, 2, "beta");
	name(r, 3, "beta");
	name(r, 4, "\033[31mred\xe4\xb8\x80\xc3\xa9");
}

static void done(struct run *r)
{
	sink_free(r->top);
	top_frame_done(&r->frame);
	buf_done(&r->text);
	session_free(r->session);
}

static void push(struct run *r, uint32_t process, uint64_t ms, uint16_t kind, uint32_t id,
		 uint64_t value)
{
	struct ebt_event ev = {.ts = ms * MS,
			       .kind = kind,
			       .id = id,
			       .process = process,
			       .pos = 7,
			       .cpu = EBT_NO_CPU};
	ev.arg[0] = value;
	if (sink_events(r->top, &ev, 1))
		abort();
}

/* A pause, and what is allocated behind it. */
static void pause_of(struct run *r, uint32_t process, uint64_t ms, uint64_t length, uint64_t bytes)
{
	push(r, process, ms, EBT_BEGIN, PHASE_minor, 0);
	push(r, process, ms + length, EBT_END, PHASE_minor, 0);
	push(r, process, ms + length, EBT_COUNTER, COUNTER_minor_allocated, bytes);
	push(r, process, ms + length, EBT_COUNTER, COUNTER_major_heap_words,
	     (uint64_t)process * HEAP_WORDS);
}

/* Second by second; the processes differ in each figure. */
static void work(struct run *r, uint64_t from)
{
	pause_of(r, 1, from + 100, 50, 8000);
	pause_of(r, 2, from + 200, 300, 16000);
	pause_of(r, 3, from + 510, 10, 80000);
	pause_of(r, 4, from + 600, 100, 800);
}

static const char *frame(struct run *r, unsigned rows, unsigned cols, uint64_t ms, bool next)
{
	if (ms && r->live && sink_advance(r->top, ms * MS))
		abort();
	r->text.len = 0;
	if (top_frame_begin(&r->frame, rows, cols) || top_frame(r->top, &r->frame, next))
		abort();
	top_frame_text(&r->frame, &r->text);
	return buf_str(&r->text);
}

/* The line that begins with these columns, without them; "": none does. */
static const char *line_of(const char *text, const char *first)
{
	static char line[512];
	size_t n = strlen(first);
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		if (strncmp(text, first, n) != 0)
			continue;
		snprintf(line, sizeof(line), "%.*s", (int)(strcspn(text, "\n") - n), text + n);
		return line;
	}
	return "";
}

static void check_line(const char *text, const char *first, const char *rest, const char *what)
{
	is_str(line_of(text, first), rest, what);
}

/* The pids, or the names of groups, in the order of the rows. */
static const char *order_of(const char *text)
{
	static char order[256];
	size_t n = 0;
	bool rows = false;
	order[0] = 0;
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		char first[32] = "", second[32] = "";
		sscanf(text, "%31s %31s", first, second);
		if (rows && *first >= '0' && *first <= '9')
			n += (size_t)snprintf(order + n, sizeof(order) - n, "%s%s%s%s",
					      n ? " " : "", first, "", "");
		rows |= !strcmp(first, "PID") || !strcmp(first, "PROCS");
	}
	return order;
}

static const char *keys(struct run *r, const char *typed)
{
	for (; typed[0] && typed[1]; typed++) {
		top_key(r->top, (unsigned char)*typed);
		frame(r, 24, 80, 0, false);
	}
	top_key(r->top, (unsigned char)*typed);
	return frame(r, 24, 80, 0, false);
}

static const char *key(struct run *r, uint32_t k)
{
	top_key(r->top, k);
	return frame(r, 24, 80, 0, false);
}

static void test_list(void)
{
	struct run r;
	begin(&r, true, true);
	work(&r, 1000);
	const char *t = frame(&r, 24, 80, 2000, true);
	check_line(t, "ebtrace top", "  4 processes  ring  1.00s", "the title");
	check_line(t, "GC ", "11.5 %  4 pauses, p99 300ms, max 300ms  alloc 102K/s  lost 0",
		   "the total");
	check_line(t, "      2 beta ",
		   "                   30.0       1  300ms  300ms   15.6K  15.6K      0",
		   "a row has the figures of a process");
	check_line(t, "      4 ?[31mred?\xc3\xa9",
		   "              10.0       1  100ms  100ms     800  31.2K      0",
		   "a name that could control a terminal is escaped");
	is_str(order_of(t), "2 4 1 3", "sorted by share of GC");
	is_str(order_of(keys(&r, "M")), "4 3 2 1", "by heap");
	is_str(order_of(keys(&r, "I")), "1 2 3 4", "reversed");
	is_str(order_of(keys(&r, "A")), "3 2 1 4", "by allocation");
	is_str(order_of(keys(&r, "N")), "1 2 3 4", "by pid");
	is_str(order_of(keys(&r, "C")), "4 1 2 3", "by program");
	is_str(order_of(keys(&r, "T>")), "3 2 1 4",
	       "by the column behind that of the longest pause");
	is_str(order_of(keys(&r, "T<")), "2 4 1 3", "and the one before it");
	/* A second without anything but for process 1. */
	pause_of(&r, 1, 2500, 200, 4000);
	t = frame(&r, 24, 80, 3000, true);
	check_line(t, "      1 alpha",
		   "                   20.0       2  200ms  200ms   3.91K  7.81K      0",
		   "rates are of the time since the frame before, pauses of the run");
	check_line(t, "      2 beta ",
		   "                    0.0       1  300ms  300ms       0  15.6K      0",
		   "one that rests has none");
	t = frame(&r, 24, 80, 3100, false);
	check_line(t, "      1 alpha",
		   "                   18.2       2  200ms  200ms   3.55K  7.81K      0",
		   "a frame that is drawn anew is since the frame before the last");
	check_line(keys(&r, "w"), "      1 alpha",
		   "                   11.9       2  200ms  200ms   5.58K  7.81K      0",
		   "rates of the whole run");
	done(&r);
}

/* A figure of nothing is one; without it a process is behind. */
static void test_no_figures(void)
{
	struct run r;
	begin(&r, true, true);
	push(&r, 1, 1100, EBT_BEGIN, PHASE_minor, 0);
	push(&r, 1, 1200, EBT_END, PHASE_minor, 0);
	push(&r, 2, 1300, EBT_COUNTER, COUNTER_minor_allocated, 0);
	push(&r, 2, 1300, EBT_COUNTER, COUNTER_major_heap_words, 0);
	const char *t = frame(&r, 24, 80, 2000, true);
	check_line(t, "      1 alpha",
		   "                   10.0       1  100ms  100ms       -      -      0",
		   "what is not known of a process is no figure");
	check_line(t, "      2 beta ",
		   "                    0.0       0      -      -       0      0      0",
		   "what is nothing is one");
	is_str(order_of(keys(&r, "M")), "2 1", "an empty heap is before one that is not known");
	is_str(order_of(keys(&r, "A")), "2 1", "so is an allocation of nothing");
	done(&r);
}

static void test_groups(void)
{
	struct run r;
	begin(&r, true, false);
	work(&r, 1000);
	frame(&r, 24, 80, 2000, true);
	const char *t = keys(&r, "g");
	check_line(t, "      2 beta ",
		   "                   15.5       2  300ms  300ms   93.8K  39.1K      0",
		   "a program is the sum of its processes");
	is_str(order_of(t), "2 1 1", "and has their number");
	t = keys(&r, "g");
	check_line(t, "      1 docker:1 ",
		   "               10.0       1  100ms  100ms     800  31.2K      0",
		   "a container");
	check_line(t, "      3 - ",
		   "                      12.0       3  300ms  300ms    102K  46.9K      0",
		   "processes that are in none");
	t = keys(&r, "g");
	check_line(t, "      2 a.service ",
		   "              17.5       2  300ms  300ms   23.4K  23.4K      0", "a unit");
	t = key(&r, TOP_KEY_ENTER);
	is_str(order_of(t), "2 1", "Enter shows the processes of a group");
	ok(strstr(t, "unit a.service"), "and the line above names it");
	is_str(order_of(key(&r, TOP_KEY_ESCAPE)), "2 2", "Esc goes back");
	is_str(order_of(keys(&r, "g")), "2 4 1 3", "behind units are processes again");
	done(&r);
}

static void test_filter_and_tree(void)
{
	struct run r;
	begin(&r, true, false);
	work(&r, 1000);
	frame(&r, 24, 80, 2000, true);
	is_str(order_of(keys(&r, "/BET")), "2 3", "a filter, while it is typed");
	ok(strstr(keys(&r, "A"), "Filter: BETA"), "it is in the last line");
	is_str(order_of(keys(&r, "|al")), "2 1 3", "alternatives");
	is_str(order_of(key(&r, TOP_KEY_ENTER)), "2 1 3", "Enter keeps it");
	keys(&r, "/");
	is_str(order_of(key(&r, TOP_KEY_ESCAPE)), "2 4 1 3", "Esc removes it");
	keys(&r, "/docker");
	is_str(order_of(key(&r, TOP_KEY_ENTER)), "4", "by container");
	keys(&r, "/");
	key(&r, TOP_KEY_ESCAPE);
	const char *t = keys(&r, "t");
	is_str(order_of(t), "1 4 2 3", "a tree: children behind parents, siblings sorted");
	check_line(t, "      4 |- ?[31m",
		   "red??           10.0       1  100ms  100ms     800  31.2K      0",
		   "with its lines, in ASCII");
	check_line(t, "      2 |  `- beta ",
		   "             30.0       1  300ms  300ms   15.6K  15.6K      0",
		   "of each level");
	check_line(t, "      3 `- beta ",
		   "                 1.0       1 10.0ms 10.0ms   78.1K  23.4K      0",
		   "and of the last child");
	done(&r);
	begin(&r, true, true);
	work(&r, 1000);
	frame(&r, 24, 80, 2000, true);
	t = keys(&r, "t");
	ok(strstr(t, "\xe2\x94\x9c\xe2\x94\x80 ?[31m") &&
		   strstr(t, "\xe2\x94\x94\xe2\x94\x80 beta"),
	   "and in Unicode");
	done(&r);
}

static void test_sizes(void)
{
	struct run r;
	begin(&r, true, false);
	work(&r, 1000);
	const char *t = frame(&r, 24, 132, 2000, true);
	check_line(t, "      2 beta ",
		   "                                    |||         30.0       1  300ms  300ms   "
		   "15.6K  15.6K      0 a.service",
		   "a wide one has a bar, and the unit");
	t = frame(&r, 24, 40, 0, false);
	check_line(t, "      2 beta ", "                30.0  300ms",
		   "a narrow one has fewer figures");
	ok(strstr(t, "    PID PROGRAM               GC%    MAX"), "and their heads");
	t = frame(&r, 6, 80, 0, false);
	is_str(order_of(t), "2", "a low one has the first row");
	for (unsigned rows = 0; rows < 12; rows++)
		for (unsigned cols = 0; cols < 120; cols += 3)
			frame(&r, rows, cols, 0, false);
	ok(1, "any size is drawn");
	key(&r, TOP_KEY_ENTER);
	for (unsigned rows = 0; rows < 60; rows += 2)
		for (unsigned cols = 0; cols < 160; cols += 7)
			frame(&r, rows, cols, 0, false);
	keys(&r, "h");
	for (unsigned rows = 0; rows < 30; rows++)
		frame(&r, rows, rows, 0, false);
	ok(1, "of each screen");
	done(&r);
}

static void test_detail(void)
{
	struct run r;
	begin(&r, true, true);
	for (unsigned i = 0; i < 4; i++) {
		work(&r, 1000 + i * 1000);
		pause_of(&r, 2, 1700 + i * 1000, 10 * i + 1, 0);
		frame(&r, 24, 80, 2000 + i * 1000, true);
	}
	const char *t = key(&r, TOP_KEY_ENTER);
	check_line(t, "2 beta", "  a.service  4.00s", "Enter opens a process");
	ok(strstr(t,
		  "longest       300ms \xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88 <= 300ms"),
	   "it has a history of its longest pauses");
	check_line(t, "GC      ",
		   "     33.1 % \xe2\x96\x87\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88 <= 33.1 %",
		   "and of its share");
	check_line(t, "heap    ",
		   "      15.6K \xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88 <= 15.6K",
		   "and of its heap");
	check_line(t, " 0    ", "   31.6        8      0", "its domain");
	check_line(t, "minor    ", "                 1.26s  1.26s  300ms      8", "its phases");
	ok(strstr(t, "no allocation was sampled"), "no allocations");
	ok(strstr(t, "none yet since it is open"), "of a live run no pause has been kept");
	work(&r, 5000);
	pause_of(&r, 2, 5700, 31, 0);
	t = frame(&r, 24, 80, 6000, true);
	check_line(t, "    4.731", " 31.0ms  0      minor              100 % not known",
		   "but since it is open, and what is known of them");
	is_str(order_of(key(&r, TOP_KEY_ESCAPE)), "2 4 1 3", "Esc closes it");
	done(&r);
}

static void test_selection(void)
{
	struct run r;
	begin(&r, true, false);
	work(&r, 1000);
	frame(&r, 24, 80, 2000, true);
	key(&r, TOP_KEY_DOWN);
	check_line(key(&r, TOP_KEY_ENTER), "4 ", "?[31mred??  docker:1  1.00s",
		   "Down selects the next");
	key(&r, TOP_KEY_ESCAPE);
	keys(&r, "F"); /* 4 */
	keys(&r, "N");
	check_line(key(&r, TOP_KEY_ENTER), "4 ", "?[31mred??  docker:1  1.00s",
		   "one that is followed stays selected in another order");
	key(&r, TOP_KEY_ESCAPE);
	keys(&r, "FM");
	key(&r, TOP_KEY_HOME);
	keys(&r, "N");
	check_line(key(&r, TOP_KEY_ENTER), "1 ", "alpha  a.service  1.00s", "else the place does");
	key(&r, TOP_KEY_ESCAPE);
	key(&r, TOP_KEY_END);
	check_line(key(&r, TOP_KEY_ENTER), "4 ", "?[31mred??  docker:1  1.00s", "End");
	done(&r);
}

static void test_kill(void)
{
	struct run r;
	begin(&r, true, false);
	work(&r, 1000);
	frame(&r, 24, 80, 2000, true);
	const char *t = keys(&r, "k");
	ok(strstr(t, "Send SIGTERM to 2 (beta)? y: yes"), "a kill is asked for first");
	is(top_key(r.top, 'n'), TOP_DRAW, "no");
	ok(strstr(frame(&r, 24, 80, 0, false), "no signal was sent"), "is the end of it");
	keys(&r, "k");
	is(top_key(r.top, TOP_KEY_ENTER), TOP_DRAW, "Enter is no yes");
	ok(strstr(keys(&r, "k9"), "Send SIGKILL to 2"), "a digit chooses another signal");
	is(top_key(r.top, 'y'), TOP_KILL, "yes");
	const struct top_kill *k = top_kill(r.top);
	ok(k->process == 2 && k->pid == 2 && k->signal == SIGKILL &&
		   k->in_order == processes_at(&r.session->processes, 2)->number,
	   "is a signal for that incarnation");
	ok(strstr(keys(&r, "k15"), "Send SIGTERM"), "so do two digits");
	top_key(r.top, 'n');
	keys(&r, "k0");
	is(top_key(r.top, 'y'), TOP_DRAW, "signal 0 is none");
	keys(&r, "gk");
	ok(strstr(frame(&r, 24, 80, 0, false), "a group gets no signal"), "a group gets none");
	is(top_key(r.top, 'q'), TOP_LEAVE, "q leaves");
	done(&r);
}

static void test_file(void)
{
	struct run r;
	begin(&r, false, false);
	work(&r, 1000);
	const char *t = frame(&r, 24, 80, 0, true);
	check_line(t, "      2 beta ",
		   "                  100.0       1  300ms  300ms   52.1K  15.6K      0",
		   "of a file each process lasts until its last event");
	push(&r, 3, 1800, EBT_PROCESS, EBT_PROCESS_EXIT, 0);
	ok(strstr(frame(&r, 24, 80, 0, true), "4 processes, 1 ended"), "one has ended");
	if (sink_forget(r.top, 1))
		abort();
	frame(&r, 24, 80, 0, false);
	t = key(&r, TOP_KEY_ENTER);
	check_line(t, "    0.050", " 50.0ms  0      minor              100 % not known",
		   "pauses of a recording are kept, also when the process is released");
	check_line(t, "longest   ", "      0ns #____ <= 50.0ms",
		   "the history of a recording is by its time");
	key(&r, TOP_KEY_ESCAPE);
	done(&r);
	begin(&r, true, false);
	t = frame(&r, 24, 80, 2000, true);
	ok(strstr(t, "no process yet"), "there may be none yet");
	work(&r, 2000);
	push(&r, 2, 2950, EBT_PROCESS, EBT_PROCESS_EXIT, 0);
	is_str(order_of(frame(&r, 24, 80, 3000, true)), "4 1 3", "what has ended is not shown");
	is_str(order_of(keys(&r, "e")), "2 4 1 3", "but on request");
	push(&r, 3, 2960, EBT_PROCESS, EBT_PROCESS_EXIT, 0);
	frame(&r, 24, 80, 3100, true);
	ok(strstr(keys(&r, "/neither"), "no process is shown"),
	   "of two that run and two that have ended the filter may leave none");
	done(&r);
}

/* Short lives, each released when it has ended: few have numbers of their own. */
static void test_many(void)
{
	struct run r;
	begin(&r, true, false);
	struct processes *ps = &r.session->processes;
	for (uint32_t n = 0; n < 300; n++) {
		uint32_t process;
		if (processes_begin(ps, 100 + n, NULL, &process))
			abort();
		processes_ref(ps, process);
		name(&r, process, "child");
		pause_of(&r, process, 1000 + 3 * n, 1, 80);
		processes_end(ps, process);
		processes_unref(ps, process);
		while (processes_gone(ps)) {
			uint32_t gone = processes_take_gone(ps);
			if (gone && sink_forget(r.top, gone))
				abort();
			if (gone)
				processes_release(ps, gone);
		}
	}
	frame(&r, 24, 80, 2000, true);
	check_line(keys(&r, "egw"), "    300 child ",
		   "                   0.2     300 1.00ms 1.00ms    210K  4.39M      0",
		   "those that were added up are of their program, too");
	check_line(keys(&r, "/x"), "    300 child ", "", "if its name is asked for");
	done(&r);
}

/* Parents come from /proc, or a recording: any of them. */
static void test_circle(void)
{
	struct top_row row[] = {{.id = 1, .pid = 1, .parent = 2},
				{.id = 2, .pid = 2, .parent = 1},
				{.id = 3, .pid = 3, .parent = 3},
				{.id = 4, .pid = 4, .parent = 3}};
	struct top_rows rows = {.count = 4, .cap = 4};
	rows.row = malloc(sizeof(row));
	memcpy(rows.row, row, sizeof(row));
	is(top_tree_make(&rows), 0, "a circle of parents");
	bool seen[5] = {false};
	for (unsigned i = 0; i < rows.count; i++)
		seen[rows.row[i].pid] = true;
	ok(rows.count == 4 && seen[1] && seen[2] && seen[3] && seen[4], "loses no process");
	top_rows_done(&rows);
}

static void test_texts(void)
{
	is_str(top_text_ns(999).text, "999ns", "ns");
	is_str(top_text_ns(1234).text, "1.23us", "us");
	is_str(top_text_ns(99960000).text, "100ms", "ms");
	is_str(top_text_ns(12345678901).text, "12.3s", "s");
	is_str(top_text_bytes(1023).text, "1.00K", "rounded up to the next unit");
	is_str(top_text_bytes(5e15).text, "4.44P", "bytes");
	is_str(top_text_count(99999).text, "99999", "a count");
	is_str(top_text_count(123456).text, "123k", "a larger one");
	ok(top_filter_matches("", "x") && top_filter_matches("|", "x") &&
		   top_filter_matches("a|X", "x") && !top_filter_matches("a|b", "x"),
	   "filters");
}

int main(void)
{
	test_list();
	test_no_figures();
	test_groups();
	test_filter_and_tree();
	test_sizes();
	test_detail();
	test_selection();
	test_kill();
	test_file();
	test_many();
	test_circle();
	test_texts();
	return tap_done();
}
