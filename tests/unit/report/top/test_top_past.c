/* SPDX-License-Identifier: BSD-2-Clause */
/* What top keeps of a process: its last pauses with their largest parts, and where it allocates. */
#include "report/top/past.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/parts/ids.h"
#include "report/top/detail.h"
#include "session/session.h"
#include "session/stacks.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#define SITES (TOP_SITES + 2)

struct fixture {
	struct session *session;
	struct top_pasts pasts;
	struct top_past *past;
	uint32_t stack[SITES]; /* each of another function, called by one */
};

static void begin(struct fixture *x)
{
	*x = (struct fixture){0};
	if (session_new(&x->session) || enter_processes(x->session, 3) ||
	    !(x->past = top_pasts_make(&x->pasts, 1)))
		abort();
	uint32_t caller = 0;
	for (uint32_t i = 0; i <= SITES; i++) {
		char name[16];
		snprintf(name, sizeof(name), "site%u", i);
		struct frame_position position = {
			.function = strings_put(x->session->strings, name, strlen(name))};
		struct frame f = {.count = 1, .position = &position};
		uint32_t frame = frames_put(x->session->frames, &f);
		uint32_t stack = stacks_push(x->session->stacks, caller, frame);
		stacks_hold(x->session->stacks, stack);
		strings_drop(x->session->strings, position.function);
		frames_drop(x->session->frames, frame);
		if (i < SITES)
			x->stack[i] = stack;
		caller = caller ? caller : stack;
	}
}

static void done(struct fixture *x)
{
	top_pasts_done(&x->pasts, x->session);
	session_free(x->session);
}

static void alloc(struct fixture *x, unsigned site, uint64_t samples)
{
	struct ebt_event ev = {.kind = EBT_ALLOC, .process = 1, .pos = samples};
	ev.stack = site < SITES ? x->stack[site] : 0;
	if (top_past_alloc(x->past, x->session, &ev))
		abort();
}

/* The samples of a site; 0: it has none of its own. */
static uint64_t samples_of(const struct fixture *x, unsigned site)
{
	uint32_t frame = stacks_frame(x->session->stacks, x->stack[site]);
	for (unsigned i = 0; x->past->site && i < TOP_SITES; i++)
		if (x->past->site[i].frame == frame)
			return x->past->site[i].samples;
	return 0;
}

static void test_sites(void)
{
	struct fixture x;
	begin(&x);
	alloc(&x, SITES, 3);
	ok(!x.past->site && x.past->samples == 3, "without a stack a sample has no site");
	alloc(&x, 0, 0);
	alloc(&x, 0, 2);
	alloc(&x, 0, (1u << 20) + 1);
	is(samples_of(&x, 0), 4, "a number of samples that no object has counts as one");
	alloc(&x, 0, 1u << 20);
	is(samples_of(&x, 0), 4 + (1u << 20), "the largest that one may have counts");
	for (unsigned i = 1; i < TOP_SITES; i++)
		alloc(&x, i, 10 + i);
	alloc(&x, 3, 5);
	is(samples_of(&x, 3), 18, "each site has its own");
	alloc(&x, TOP_SITES, 1);
	is(samples_of(&x, TOP_SITES), 12, "one too many takes the place of the smallest");
	is(samples_of(&x, 1), 0, "which has none any more");
	alloc(&x, TOP_SITES + 1, 1);
	ok(samples_of(&x, TOP_SITES + 1) == 13 && samples_of(&x, TOP_SITES) == 0 &&
		   samples_of(&x, 2) == 12,
	   "of equal ones that is the first");
	is(x.past->samples, 3 + 4 + (1u << 20) + 11 + 12 + 13 + 14 + 15 + 16 + 17 + 5 + 2,
	   "the process has all");
	done(&x);
}

/* The screen of a process from a heading on, up to an empty line. */
static const char *section(const struct top_past *past, const struct session *s, const char *head)
{
	static char text[1024];
	static struct stat_process process;
	const struct top_row row = {.pid = 1, .processes = 1, .name = "program"};
	const struct top_view view = {0};
	const struct top_caption caption = {0};
	const struct top_opened opened = {s, &row, &process, past, 0};
	struct top_frame f = {0};
	struct buf b;
	if (buf_init(&b, -1, 4096) || top_frame_begin(&f, 40, 160))
		abort();
	top_detail_draw(&f, &view, &opened, &caption);
	top_frame_text(&f, &b);
	const char *at = strstr(buf_str(&b), head);
	const char *lines = at ? at + strcspn(at, "\n") + 1 : "";
	snprintf(text, sizeof(text), "%s", lines);
	for (char *end = text; (end = strchr(end, '\n')); end++)
		if (!end[1] || end[1] == '\n') {
			*end = 0;
			break;
		}
	buf_done(&b);
	top_frame_done(&f);
	return text;
}

static void test_sites_shown(void)
{
	struct fixture x;
	begin(&x);
	alloc(&x, 2, 30);
	alloc(&x, 0, 20);
	alloc(&x, 1, 30);
	alloc(&x, SITES, 20);
	is_str(section(x.past, x.session, "ALLOCATION SITES"),
	       " 30.0 %  site2\n 30.0 %  site1\n 20.0 %  site0",
	       "the most first, of equal ones the one that came first; a share is of all samples");
	done(&x);
}

static struct blame_pause pause_of(uint64_t ns)
{
	struct blame_pause p = {.end_ns = 7000000000u, .ns = ns, .tid = 5, .domain = 2};
	p.row = PHASE_minor;
	return p;
}

static void test_parts(void)
{
	struct fixture x;
	begin(&x);
	struct blame_pause p = pause_of(1000);
	p.split.ns[BLAME_CPU] = 1000;
	top_past_pause(x.past, &p);
	p.split.ns[BLAME_CPU] = 200;
	p.split.ns[BLAME_WAIT] = 500;
	p.split.ns[BLAME_IO] = 300;
	top_past_pause(x.past, &p);
	p.split.ns[BLAME_WAIT] = 200;
	p.split.ns[BLAME_IO] = 600;
	p.culprit = (struct blame_culprit){.domain = 9, .ns = 1};
	p.split.longest.ns = 1;
	snprintf(p.split.longest.comm, sizeof(p.split.longest.comm), "disk");
	top_past_pause(x.past, &p);
	const struct top_pause *e = x.past->pause;
	ok(x.past->pauses == 3 && e[0].part[0] == BLAME_CPU && e[0].part_ns[0] == 1000 &&
		   !e[0].part_ns[1],
	   "a pause of one part has no second");
	ok(e[1].part[0] == BLAME_WAIT && e[1].part_ns[0] == 500 && e[1].part[1] == BLAME_IO &&
		   e[1].part_ns[1] == 300,
	   "the largest part is first, then the second");
	ok(e[2].part[0] == BLAME_IO && e[2].part_ns[0] == 600 && e[2].part[1] == BLAME_CPU &&
		   e[2].part_ns[1] == 200,
	   "one that comes later takes the first place; of equal ones the first is kept");
	ok(e[0].waited_for == EBT_NO_DOMAIN && !*e[0].cause && e[2].waited_for == 9 &&
		   !strcmp(e[2].cause, "disk"),
	   "it has the domain that was waited for, and the cause, if there is one");
	ok(e[2].end_ns == 7000000000u && e[2].ns == 1000 && e[2].row == PHASE_minor &&
		   e[2].tid == 5 && e[2].domain == 2,
	   "its time, phase and thread");
	is_str(section(x.past, x.session, "LAST PAUSES"),
	       "    7.000 1.00us  2      minor              60 % blocked: input, output, 20 % on "
	       "CPU, for "
	       "domain 9 (disk)\n"
	       "    7.000 1.00us  2      minor              50 % waiting for a CPU, 30 % blocked: "
	       "input, "
	       "output\n"
	       "    7.000 1.00us  2      minor              100 % on CPU\n"
	       "ALLOCATION SITES, BY SAMPLES\n"
	       "no allocation was sampled: --mode stream or probes, with privilege",
	       "the last is shown first, with two parts at most");
	p = pause_of(1000);
	p.split.ns[BLAME_CPU] = p.split.ns[BLAME_IO] = 500;
	top_past_pause(x.past, &p);
	ok(e[3].part[0] == BLAME_CPU && e[3].part_ns[0] == 500 && e[3].part[1] == BLAME_IO &&
		   e[3].part_ns[1] == 500,
	   "of two equal parts it has both");
	for (unsigned i = 0; i < TOP_PAUSES; i++) {
		p = pause_of(i);
		top_past_pause(x.past, &p);
	}
	ok(x.past->pauses == TOP_PAUSES + 4 && x.past->pause[3].ns == TOP_PAUSES - 1 &&
		   x.past->pause[4].ns == 0,
	   "as many are kept as there is room for");
	done(&x);
}

/* Those of released processes have the number that they had in the model. */
static void test_released(void)
{
	struct fixture x;
	begin(&x);
	struct stat_process one = {.number = 11}, two = {.number = 12}, lives = {.process = 2};
	x.past->lost = 1;
	is(top_pasts_release(&x.pasts, 3, 13), 0, "a process without a past is released");
	is(x.pasts.kept_count, 0, "and nothing of it is kept");
	is(top_pasts_release(&x.pasts, 1, 11), 0, "one with a past is");
	ok(top_pasts_of(&x.pasts, &one) == x.past && !top_pasts_of(&x.pasts, &two),
	   "it is found by its number");
	struct top_past *second = top_pasts_make(&x.pasts, 2);
	ok(top_pasts_of(&x.pasts, &lives) == second, "one that lives by its process");
	lives.number = 11;
	two.next = &lives;
	top_pasts_prune(&x.pasts, x.session, &two);
	is(x.pasts.kept_count, 0, "one that lives does not keep the past of another");
	is(top_pasts_release(&x.pasts, 2, 12), 0, "the next is released");
	top_pasts_prune(&x.pasts, x.session, &two);
	ok(x.pasts.kept_count == 1 && top_pasts_of(&x.pasts, &two) == second,
	   "what the model lists stays");
	top_pasts_prune(&x.pasts, x.session, NULL);
	ok(!x.pasts.kept_count && !top_pasts_of(&x.pasts, &two), "what it does not list goes");
	done(&x);
}

int main(void)
{
	test_sites();
	test_sites_shown();
	test_parts();
	test_released();
	return tap_done();
}
