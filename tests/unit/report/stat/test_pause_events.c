/* SPDX-License-Identifier: BSD-2-Clause */
/* The event of a pause: each of its fields, by the name that outputs give it. Times are in
 * microseconds. */
#include "report/parts/ids.h"
#include "report/stat/pause_events.h"
#include "session/event_args.h"
#include "session/offcpu.h"
#include "session/pause_counts.h"
#include "session/phases.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define US 1000u

/* The arguments of the last pause, as "key=value " each; times in microseconds. */
struct viewer {
	struct sink base;
	struct session *session;
	struct sink *pauses;
	char said[1024];
	uint64_t ts;
	uint32_t tid;
	unsigned count, others;
};

static void view(struct viewer *w, const struct ebt_event *ev)
{
	struct event_arg arg;
	size_t n = 0;
	w->others += ev->kind != EBT_PAUSE;
	if (ev->kind != EBT_PAUSE)
		return;
	w->count++;
	w->ts = ev->ts;
	w->tid = ev->tid;
	for (unsigned at = 0; event_args_next(w->session, ev, &at, &arg);) {
		bool is_time = strstr(arg.arg->name, "_ns");
		uint64_t value = arg.value / (is_time ? US : 1);
		n += (size_t)snprintf(w->said + n, sizeof(w->said) - n, "%s=", arg.arg->name);
		if (arg.text)
			n += (size_t)snprintf(w->said + n, sizeof(w->said) - n, "%s ", arg.text);
		else
			n += (size_t)snprintf(w->said + n, sizeof(w->said) - n, "%llu ",
					      (unsigned long long)value);
	}
}

static int view_events(struct sink *base, const struct ebt_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++)
		view((struct viewer *)base, &ev[i]);
	return 0;
}

static void begin(struct viewer *w, uint64_t min_us)
{
	static const struct sink_ops ops = {.events = view_events};
	*w = (struct viewer){.base.ops = &ops};
	if (session_new(&w->session) || enter_processes(w->session, 2) ||
	    pause_events_new(w->session, &w->base, min_us * US, NULL, &w->pauses))
		abort();
}

static void done(struct viewer *w)
{
	sink_end(w->pauses);
	sink_free(w->pauses);
	session_free(w->session);
}

static void emit(struct viewer *w, struct ebt_event *ev)
{
	if (sink_events(w->pauses, ev, 1))
		abort();
	session_drop_event(w->session, ev);
}

static void push(struct viewer *w, uint16_t kind, uint16_t domain, uint64_t us,
		 const struct pause_counts *u)
{
	struct ebt_event ev = {.ts = us * US,
			       .pos = EBT_NO_POS,
			       .kind = kind,
			       .id = PHASE_minor,
			       .process = 1,
			       .domain = domain,
			       .tid = 100u + domain,
			       .cpu = EBT_NO_CPU};
	if (u && pause_counts_put(w->session, &ev, u))
		abort();
	emit(w, &ev);
}

/* The thread of domain 0 did not run; of it `wait` at the end for want of a CPU. */
static void off(struct viewer *w, uint64_t from, uint64_t until, uint64_t wait,
		enum ebt_offcpu_reason reason, int32_t call)
{
	struct offcpu o = {.begin_ns = from * US,
			   .end_ns = until * US,
			   .wait_ns = wait * US,
			   .reason = reason,
			   .syscall = call,
			   .waker = 71,
			   .runner = 72,
			   .runner_cpu = 0,
			   .waker_comm = "waker",
			   .runner_comm = "runner"};
	struct ebt_event ev = {.ts = until * US,
			       .kind = EBT_OFFCPU,
			       .process = 1,
			       .domain = EBT_NO_DOMAIN,
			       .tid = 100,
			       .cpu = EBT_NO_CPU};
	if (offcpu_put(w->session, &ev, &o))
		abort();
	emit(w, &ev);
}

/* Each part has a length of its own. */
static void test_fields(void)
{
	struct viewer w;
	struct pause_counts u = {
		.count = {[PAUSE_RUN_DELAY] = 100 * US, [PAUSE_FAULT_NS] = 7 * US}};
	u.count[PAUSE_VOLUNTARY] = 6;
	begin(&w, 0);
	/* From its first interval a thread is known. */
	off(&w, 900, 901, 0, EBT_OFFCPU_SLEEP, SYS_futex);
	push(&w, EBT_BEGIN, 0, 1000, NULL);
	off(&w, 1010, 1110, 100, EBT_OFFCPU_PREEMPTED, -1);
	off(&w, 1200, 1211, 0, EBT_OFFCPU_SLEEP, SYS_futex);
	off(&w, 1300, 1312, 0, EBT_OFFCPU_SLEEP, SYS_read);
	off(&w, 1400, 1413, 0, EBT_OFFCPU_SLEEP, SYS_munmap);
	off(&w, 1500, 1514, 0, EBT_OFFCPU_SLEEP, SYS_nanosleep);
	off(&w, 1600, 1615, 0, EBT_OFFCPU_SLEEP, SYS_wait4);
	off(&w, 1700, 1717, 0, EBT_OFFCPU_STOPPED, -1);
	push(&w, EBT_END, 0, 2000, &u);
	is(w.count, 1, "a pause is one event");
	ok(w.ts == 2000 * US && w.tid == 100, "at its end, of its thread");
	is_str(w.said,
	       "phase=11 duration_ns=1000 cpu_ns=811 page_fault_cpu_ns=7 run_queue_ns=100 "
	       "futex_ns=11 io_ns=12 memory_ns=13 sleep_ns=14 other_call_ns=15 stopped_ns=17 "
	       "cause_ns=100 cause_tid=72 cause_comm=runner cause_cpu=1 ",
	       "it has the length of each part, and the cause of the longest: the thread that ran "
	       "instead, and on which CPU");
	done(&w);
}

static void test_causes(void)
{
	struct viewer w;
	begin(&w, 0);
	push(&w, EBT_BEGIN, 0, 1000, NULL);
	off(&w, 1200, 1250, 0, EBT_OFFCPU_SLEEP, SYS_futex);
	push(&w, EBT_END, 0, 2000, NULL);
	ok(strstr(w.said, "cause_ns=50 cause_tid=71 cause_comm=waker ") &&
		   !strstr(w.said, "cause_cpu"),
	   "of what was blocked the cause is the thread that woke it, which has no CPU") ||
		(diag("%s", w.said), 0);
	push(&w, EBT_BEGIN, 0, 3000, NULL);
	push(&w, EBT_END, 0, 3100, NULL);
	ok(w.count == 2 && !strstr(w.said, "cause"), "a pause that always ran has no cause") ||
		(diag("%s", w.said), 0);
	is(w.others, 5, "all other events pass");
	done(&w);
}

/* Short intervals make up pauses, too, but are left out. */
static void test_limit(void)
{
	struct viewer w;
	begin(&w, 20);
	push(&w, EBT_BEGIN, 0, 1000, NULL);
	off(&w, 1200, 1219, 0, EBT_OFFCPU_SLEEP, SYS_futex);
	off(&w, 1300, 1320, 0, EBT_OFFCPU_SLEEP, SYS_futex);
	push(&w, EBT_END, 0, 2000, NULL);
	ok(w.count == 1 && strstr(w.said, "futex_ns=39 "),
	   "a pause has the intervals that are shorter than the limit");
	is(w.others, 3, "which do not pass themselves");
	is(w.session->totals.events, 0, "nor are they counted; the pause is");
	done(&w);
}

int main(void)
{
	test_fields();
	test_causes();
	test_limit();
	return tap_done();
}
