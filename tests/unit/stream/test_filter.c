/* SPDX-License-Identifier: BSD-2-Clause */
/* What the filter passes by the length of spans: against a model that sees the whole run at
 * once. */
#include "codec/ring/ids.h"
#include "stream/filter.h"
#include "stream/spans.h"
#include "stream/tracks.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>

#define MAX 200000

static struct ebt_event in[MAX], out[MAX];
static bool want[MAX];
static int in_count, out_count;
static struct session *session;
static struct filter *filter;
static struct spans *spans;

static int take(void *ctx, struct ebt_event *ev, size_t n)
{
	(void)ctx;
	memcpy(out + out_count, ev, n * sizeof(*ev));
	out_count += (int)n;
	return 0;
}

static void start(uint64_t min_ns)
{
	in_count = out_count = 0;
	if (session_new(&session) || enter_processes(session, 16) ||
	    filter_new(session, (struct event_handler){take, NULL}, &filter) ||
	    filter_set_min_duration(filter, min_ns) ||
	    spans_new(&session->processes, (struct event_handler){take, NULL}, min_ns, &spans))
		abort();
}

static void push(uint64_t ts, enum ebt_kind kind, uint32_t id, uint16_t domain)
{
	struct ebt_event ev = {.ts = ts,
			       .pos = (uint64_t)in_count,
			       .pid = 1,
			       .kind = kind,
			       .id = id,
			       .domain = domain};
	in[in_count++] = ev;
	if (spans_events(spans, &ev, 1))
		abort();
}

static void push_thread(uint64_t ts, enum ebt_kind kind, uint32_t pid, uint32_t tid)
{
	struct ebt_event ev = {.ts = ts,
			       .pos = EBT_NO_POS,
			       .pid = pid,
			       .tid = tid,
			       .kind = kind,
			       .id = kind == EBT_PROCESS ? EBT_PROCESS_EXIT : 11,
			       .flags = EBT_F_BPF,
			       .domain = EBT_NO_DOMAIN};
	if (spans_events(spans, &ev, 1))
		abort();
}

static void finish(void)
{
	spans_advance(spans, UINT64_MAX);
	spans_free(spans);
	filter_free(filter);
	session_free(session);
}

/* The whole run at once: an end belongs to the innermost open begin of its id in its domain, and
 * ends the spans inside it, too; a begin and its own end before min_ns are not wanted. */
static void model(uint64_t min_ns)
{
	static int open[4][MAX];
	int depth[4] = {0};
	for (int i = 0; i < in_count; i++) {
		int *stack = open[in[i].domain], *d = &depth[in[i].domain], at = *d;
		want[i] = true;
		if (in[i].kind == EBT_BEGIN && *d < TRACK_DEPTH)
			stack[(*d)++] = i;
		while (in[i].kind == EBT_END && at && in[stack[at - 1]].id != in[i].id)
			at--;
		if (in[i].kind != EBT_END || !at)
			continue;
		int begin = stack[ *d = at - 1];
		want[begin] = want[i] = in[i].ts - in[begin].ts >= min_ns;
	}
}

static bool as_the_model(void)
{
	int n = 0;
	for (int i = 0; i < in_count; i++)
		if (want[i] && (n == out_count || out[n++].pos != (uint64_t)i))
			return false;
	return n == out_count;
}

static void test_random(void)
{
	static int depth[4][3];
	start(100);
	srand(7);
	uint64_t ts = 1;
	for (int i = 0; i < 20000; i++) {
		uint16_t domain = (uint16_t)(rand() % 4);
		uint32_t id = (uint32_t)(rand() % 3);
		int *d = &depth[domain][id];
		ts += (uint64_t)(rand() % 30);
		if (*d && rand() % 2)
			push(ts, EBT_END, id, domain), --*d;
		else if (rand() % 4)
			push(ts, EBT_BEGIN, id, domain), ++*d;
		else
			push(ts, EBT_COUNTER, id, domain);
	}
	finish();
	model(100);
	ok(as_the_model(), "of 20000 random events exactly the short spans are dropped, in order");
	ok(out_count < in_count - 1000 && out_count > 1000, "some are dropped and some are not");
}

static void test_edges(void)
{
	start(100);
	push(1000, EBT_BEGIN, 1, 0);
	push(1010, EBT_COUNTER, 0, 1);
	is(out_count, 0, "what follows an undecided begin waits");
	push(1100, EBT_COUNTER, 0, 1);
	is(out_count, 3, "at the limit the begin and what waited go out");
	push(1120, EBT_END, 1, 0);
	is(out_count, 4, "the end of a long span passes");
	push(1130, EBT_END, 9, 0);
	is(out_count, 5, "an end whose begin was never seen passes");
	push(2000, EBT_BEGIN, 1, 0);
	spans_advance(spans, 2099);
	is(out_count, 5, "time that is not up does not decide");
	spans_advance(spans, 2100);
	is(out_count, 6, "time alone lets a begin pass");
	push(3000, EBT_BEGIN, 1, 0);
	push(3010, EBT_LOST, 0, 0);
	push(3020, EBT_END, 1, 0);
	is(out_count, 9, "across a loss nothing is paired");
	push(3500, EBT_BEGIN, 1, 7);
	push(3510, EBT_LOST, 0, EBT_NO_DOMAIN);
	push(3520, EBT_END, 1, 7);
	is(out_count, 12, "nor in any domain, where nobody knows whose loss it is");
	push(4000, EBT_BEGIN, 1, 0);
	push(4001, EBT_SPAN_BEGIN, 1, 0);
	push(4002, EBT_END, 1, 0);
	push(4003, EBT_SPAN_END, 1, 0);
	is(out_count, 12, "a phase and a user span of one number are two things");
	push(5000, EBT_BEGIN, 1, 0);
	finish();
	is(out_count, 13, "a begin that is never ended passes at the end");
}

/* Threads without a domain are not one domain. */
static void test_threads(void)
{
	start(100);
	push_thread(1000, EBT_BEGIN, 1, 11);
	push_thread(1010, EBT_BEGIN, 1, 12);
	push_thread(1020, EBT_END, 1, 11);
	push_thread(1500, EBT_END, 1, 12);
	finish();
	ok(out_count == 2 && out[0].tid == 12 && out[1].tid == 12,
	   "an end belongs to a begin of its own thread");
	start(100);
	push_thread(1000, EBT_BEGIN, 1, 11);
	push_thread(1010, EBT_END, 2, 11);
	push_thread(1020, EBT_END, 1, 11);
	finish();
	ok(out_count == 1 && out[0].pid == 2, "and of its own process");

	static const enum ebt_kind cuts[] = {EBT_LOST, EBT_PROCESS};
	for (int i = 0; i < 2; i++) {
		start(100);
		push_thread(1000, EBT_BEGIN, 1, 11);
		push_thread(1001, EBT_SPAN_BEGIN, 1, 11);
		push_thread(1010, cuts[i], 1, 0);
		push_thread(1020, EBT_SPAN_END, 1, 11);
		push_thread(1021, EBT_END, 1, 11);
		is(out_count, 5, "what waited for its end goes out");
		push_thread(1030, EBT_BEGIN, 1, 11);
		push_thread(1040, EBT_END, 1, 11);
		finish();
		is(out_count, 5,
		   i ? "nothing is paired across the end of a program"
		     : "nor across a loss of no domain, phases or user spans");
	}
	start(100);
	push(1000, EBT_SPAN_BEGIN, 1, 0);
	push(1001, EBT_SPAN_BEGIN, 1, 1);
	push(1010, EBT_LOST, 0, 0);
	push(1020, EBT_SPAN_END, 1, 0);
	push(1021, EBT_SPAN_END, 1, 1);
	finish();
	is(out_count, 3, "a loss of a domain cuts its user spans, and those of no other");
	start(100);
	push_thread(1000, EBT_BEGIN, 1, 11);
	push_thread(1010, EBT_PROCESS, 2, 0);
	push_thread(1020, EBT_END, 1, 11);
	finish();
	is(out_count, 1, "the end of one process cuts no span of another");
	start(100);
	push(1000, EBT_BEGIN, 1, 0);
	push_thread(1010, EBT_LOST, 1, 0);
	push(1020, EBT_END, 1, 0);
	finish();
	is(out_count, 1, "a loss that no ring had cuts no span of one");
	start(100);
	push_thread(1000, EBT_BEGIN, 1, 11);
	spans_forget(spans, 1);
	push_thread(1020, EBT_END, 1, 11);
	finish();
	is(out_count, 2, "no end belongs to a begin of a process that was released");
}

static void filter_one(uint32_t process, enum ebt_kind kind, uint64_t ts)
{
	struct ebt_event ev = {.ts = ts, .kind = kind, .process = process, .id = 11};
	if (filter_events(filter, &ev, 1))
		abort();
}

/* Many processes, one after the other in the same entry of the registry, each of which ends inside
 * a phase. The next one ends a phase that it never began. */
static void test_released(void)
{
	enum { PROCESSES = 50000 };
	size_t used = 0, grown = 0;
	start(100);
	for (unsigned i = 0; i < PROCESSES; i++) {
		out_count = 0;
		filter_one(1, EBT_END, 1000ull * i + 10);
		filter_one(1, EBT_BEGIN, 1000ull * i + 990);
		filter_forget(filter, 1);
		used = i == PROCESSES / 10 ? mallinfo2().uordblks : used;
		if (i && out_count != 2) {
			diag("%d events of process %u", out_count, i);
			break;
		}
	}
	grown = mallinfo2().uordblks - used;
	is(out_count, 2,
	   "with a limit no phase is made of the begin of one process and the end of the next");
	ok(grown < 4096, "and memory does not grow with those that end inside a phase");
	out_count = 0;
	filter_advance(filter, UINT64_MAX);
	is(out_count, 1, "the last begin passes, too");
	finish();
}

/* With a limit only spans pass, and what is missing of them. */
static void test_kinds(void)
{
	for (uint64_t limit = 0; limit <= 5; limit += 5) {
		start(limit);
		for (unsigned kind = 1; kind < 40; kind++) {
			struct ebt_event ev = {.ts = 10ull * kind,
					       .kind = (uint16_t)kind,
					       .id = kind,
					       .pos = kind};
			if (filter_events(filter, &ev, 1))
				abort();
		}
		filter_advance(filter, UINT64_MAX);
		static const uint16_t lasting[] = {EBT_BEGIN,	 EBT_END,  EBT_SPAN_BEGIN,
						   EBT_SPAN_END, EBT_LOST, EBT_DAMAGE,
						   EBT_PROCESS};
		bool good = out_count == (limit ? 7 : 39);
		for (int i = 0; i < 7 && limit; i++)
			good &= out[i].kind == lasting[i];
		ok(good,
		   limit ? "with a limit nothing passes that has no duration, but what is missing"
			 : "without a limit everything passes");
		finish();
	}
}

static void test_bound(void)
{
	start(UINT64_C(1) << 60);
	push(1, EBT_BEGIN, 1, 0);
	for (int i = 0; i < SPANS_WAITING - 1; i++)
		push(2, EBT_COUNTER, 0, 0);
	is(out_count, 0, "as many events wait as there is room for");
	push(3, EBT_COUNTER, 0, 0);
	is(out_count, SPANS_WAITING + 1, "at the bound an undecided begin is passed on");
	push(4, EBT_END, 1, 0);
	is(out_count, SPANS_WAITING + 2, "and so is its end");
	finish();
}

/* How many events pass of one of a user event of the process. */
static int user_event(uint32_t process)
{
	struct ebt_event ev = {.ts = 1, .kind = EBT_INT, .id = 3, .process = process};
	int before = out_count;
	if (filter_events(filter, &ev, 1))
		abort();
	return out_count - before;
}

static void test_names(void)
{
	start(0);
	struct processes *ps = &session->processes;
	if (filter_add_glob(filter, "on*") || processes_set_user_name(ps, 1, 3, "one") ||
	    processes_set_user_name(ps, 2, 3, "two"))
		abort();
	ok(user_event(1) == 1 && user_event(2) == 0 && user_event(1) == 1,
	   "a user event passes by the name that it has in its process");
	processes_set_user_name(ps, 1, 3, "two");
	processes_set_user_name(ps, 2, 3, "once");
	ok(user_event(1) == 0 && user_event(2) == 1, "and by the new one when it is renamed");
	ok(user_event(4) == 0, "not where it has none");
	finish();
}

/* Whether events of the kind can pass one or two globs. */
static bool can_select(const char *one, const char *two, enum ebt_kind kind)
{
	start(0);
	if (filter_add_glob(filter, one) || (two && filter_add_glob(filter, two)))
		abort();
	bool can = filter_can_select(filter, kind, kind == EBT_COUNTER ? ring_counters() : 0);
	finish();
	return can;
}

static void test_can_select(void)
{
	start(0);
	ok(filter_can_select(filter, EBT_COUNTER, ring_counters()),
	   "without globs any kind can pass");
	finish();
	ok(!can_select("!counter", NULL, EBT_COUNTER) && !can_select("!c*", "minor*", EBT_COUNTER),
	   "a kind that is excluded cannot");
	ok(can_select("!counter", NULL, EBT_ALLOC_SIZES) && can_select("!counter", NULL, EBT_BEGIN),
	   "others can");
	ok(!can_select("begin", "end", EBT_COUNTER), "nor can one that nothing includes");
	ok(can_select("minor_promoted", NULL, EBT_COUNTER) &&
		   can_select("counter", NULL, EBT_COUNTER),
	   "one of which a name is included can");
	ok(can_select("!minor_*", "!major_*", EBT_COUNTER) && !can_select("!*", NULL, EBT_COUNTER),
	   "as can one of which some names are excluded, but not all");
	ok(can_select("![a-z]*_[a-z]*", NULL, EBT_COUNTER),
	   "one of which all known names are excluded can: a number may have no name");
	ok(!can_select("begin", NULL, EBT_ALLOC_SIZES) &&
		   can_select("alloc_sizes", NULL, EBT_ALLOC_SIZES),
	   "a kind without names is included by its own");
}

static int interval(enum ebt_kind kind, uint64_t duration_ns)
{
	struct ebt_event ev = {.ts = 5000, .pos = duration_ns, .kind = kind, .process = 1};
	int before = out_count;
	if (filter_events(filter, &ev, 1))
		abort();
	return out_count - before;
}

static void test_intervals(void)
{
	start(100);
	ok(interval(EBT_OFFCPU, 100) && !interval(EBT_OFFCPU, 99),
	   "an interval without a CPU passes by its own length");
	ok(interval(EBT_PAUSE, 100) && !interval(EBT_PAUSE, 99), "so does a pause");
	filter_keep_for_pauses(filter);
	ok(interval(EBT_OFFCPU, 99) && !interval(EBT_PAUSE, 99),
	   "short intervals pass where pauses are made of them");
	finish();
}

/* Of what the other options leave out it does not matter which thread it was of. */
static void test_threadless(void)
{
	start(0);
	if (filter_add_thread(filter, 7) || filter_add_domain(filter, 1) ||
	    filter_add_glob(filter, "end"))
		abort();
	struct ebt_event ev[] = {{.ts = 1, .kind = EBT_BEGIN, .domain = 1},
				 {.ts = 2, .kind = EBT_END, .domain = 2},
				 {.ts = 3, .kind = EBT_END, .domain = 1},
				 {.ts = 4, .kind = EBT_END, .domain = 1, .tid = 8},
				 {.ts = 5, .kind = EBT_END, .domain = 1, .tid = 7}};
	if (filter_events(filter, ev, 5))
		abort();
	ok(out_count == 1 && out[0].ts == 5, "an event passes if every option lets it");
	is(filter_threadless(filter), 1,
	   "those without a thread are counted if all other options let them pass");
	finish();
	start(0);
	if (filter_add_domain(filter, 1) || filter_events(filter, ev, 5))
		abort();
	is(filter_threadless(filter), 0, "nobody misses a thread who has asked for none");
	finish();
	start(0);
	struct ebt_event both[] = {{.ts = 1, .kind = EBT_BEGIN, .domain = 1},
				   {.ts = 2, .kind = EBT_BEGIN, .domain = 2}};
	for (unsigned i = 0; i < 2; i++)
		if (session_put_blob(session, &both[i], "payload", 7))
			abort();
	if (filter_add_domain(filter, 2) || filter_events(filter, both, 2))
		abort();
	ok(out_count == 1 && out[0].flags & EBT_F_PAYLOAD && session_blob_bytes(session),
	   "one that passes keeps its payload");
	session_drop_event(session, &out[0]);
	is(session_blob_bytes(session), 0, "and that of one that does not is given back");
	finish();
}

int main(void)
{
	test_random();
	test_edges();
	test_bound();
	test_threads();
	test_released();
	test_kinds();
	test_names();
	test_can_select();
	test_intervals();
	test_threadless();
	return tap_done();
}
