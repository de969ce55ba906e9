/* SPDX-License-Identifier: BSD-2-Clause */
/* The pipeline from scripted lanes to a sink that remembers. */
#include "format/ndjson/ndjson.h"
#include "format/text/text.h"
#include "stream/pump.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#include <errno.h>
#include <unistd.h>

#define LANES 8
#define MAX   20000

struct script {
	struct source base;
	struct ebt_event *events[LANES];
	int count[LANES], at[LANES], limit[LANES]; /* limit: what may be read so far */
	uint64_t horizon[LANES];
	int stopped;
	useconds_t poll_us; /* that a poll takes */
	unsigned polls;
};

static int script_poll(struct source *s)
{
	struct script *c = (struct script *)s;
	c->polls++;
	if (c->poll_us)
		usleep(c->poll_us);
	return 0;
}
static int script_read(struct source *s, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	struct script *c = (struct script *)s;
	int n = (c->stopped ? c->count[lane] : c->limit[lane]) - c->at[lane];
	if (n <= 0)
		return c->stopped ? 0 : -EAGAIN;
	n = n > (int)cap ? (int)cap : n;
	memcpy(ev, c->events[lane] + c->at[lane], (size_t)n * sizeof(*ev));
	c->at[lane] += n;
	return n;
}
static uint64_t script_horizon(struct source *s, uint32_t lane)
{
	return ((struct script *)s)->horizon[lane];
}
static int script_stop(struct source *s)
{
	((struct script *)s)->stopped = 1;
	return 0;
}
static const struct source_ops script_ops = {
	.poll = script_poll, .read = script_read, .horizon = script_horizon, .stop = script_stop};

struct memory {
	struct sink base;
	struct ebt_event ev[MAX];
	int count;
};
static int memory_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct memory *m = (struct memory *)k;
	for (size_t i = 0; i < n && m->count < MAX; i++)
		m->ev[m->count++] = ev[i];
	return 0;
}
static const struct sink_ops memory_ops = {.events = memory_events};

static struct script src;
static struct memory got;
static struct session *session;
static struct pump *pump;

static void start(int lanes)
{
	src = (struct script){.base = {.ops = &script_ops, .lanes = (uint32_t)lanes}};
	got.base.ops = &memory_ops;
	got.count = 0;
	for (int i = 0; i < lanes; i++)
		src.events[i] = calloc(MAX, sizeof(struct ebt_event));
	if (session_new(&session) || enter_processes(session, 16) || pump_new(session, &pump) ||
	    pump_add_source(pump, &src.base) || pump_add_sink(pump, &got.base))
		abort();
}
static void finish(void)
{
	pump_free(pump);
	session_free(session);
	for (int i = 0; i < LANES; i++)
		free(src.events[i]);
}
static struct ebt_event *add(int lane, uint64_t ts, uint32_t seq, uint16_t flags)
{
	struct ebt_event *ev = &src.events[lane][src.count[lane]++];
	*ev = (struct ebt_event){.ts = ts,
				 .pos = 2ull * seq,
				 .pid = 1,
				 .kind = EBT_BEGIN,
				 .size = 2,
				 .cpu = EBT_NO_CPU,
				 .seq = seq,
				 .flags = flags | EBT_F_SEQ};
	if (flags & EBT_F_BPF) {
		ev->tid = 77;
		ev->cpu = 3;
	}
	return ev;
}
static int drain(void)
{
	pump_stop(pump);
	int r;
	while ((r = pump_step(pump)) > 0)
		;
	return r;
}

static void test_random(void)
{
	start(LANES);
	srand(42);
	for (int i = 0; i < LANES; i++) {
		uint64_t ts = 1;
		for (uint32_t n = 0; n < 2000; n++)
			add(i, ts += (uint64_t)(rand() % 50), n, EBT_F_RING)->domain = (uint16_t)i;
	}
	ok(!pump_drained(pump), "nothing is drained before the first step");
	is(drain(), 0, "the stream ends once the sources were stopped");
	ok(pump_drained(pump), "and is drained then");
	is(got.count, LANES * 2000, "every event of eight random lanes is delivered");
	int bad = 0, late = 0;
	for (int i = 1; i < got.count; i++)
		bad += got.ev[i].ts < got.ev[i - 1].ts;
	for (int i = 0; i < got.count; i++)
		late += !!(got.ev[i].flags & EBT_F_LATE);
	is(bad, 0, "what comes out is sorted by time");
	is(late, 0, "nothing that kept its order is called late");
	finish();
}

/* Rings that name no thread, of a process that has one thread for some time. */
static void test_lone_thread(void)
{
	start(1);
	struct processes *ps = &session->processes;
	static const uint64_t at[] = {99, 100, 199, 200};
	processes_lone(ps, 1, 100);
	processes_not_lone(ps, 1, 200);
	processes_not_lone(ps, 1, 300);
	for (uint32_t i = 0; i < 4; i++)
		add(0, at[i], i, EBT_F_RING)->domain = 0;
	add(0, 201, 4, EBT_F_RING)->domain = 0;
	src.events[0][4].process = 2;
	drain();
	uint32_t tid = processes_pid(ps, 1);
	ok(tid && got.ev[1].tid == tid && got.ev[2].tid == tid,
	   "what a process does while it has one thread is that thread's");
	ok(!got.ev[0].tid && !got.ev[3].tid,
	   "not before that is known, nor from its second thread on");
	is(got.ev[4].tid, 0, "nor what another process does");
	finish();
	start(1);
	processes_lone(&session->processes, 1, 100);
	add(0, 150, 0, EBT_F_RING)->domain = EBT_NO_DOMAIN;
	struct ebt_event *ev = add(0, 151, 1, EBT_F_BPF);
	ev->domain = 0;
	ev->tid = 0;
	drain();
	uint32_t named = 0;
	for (int i = 0; i < got.count; i++)
		named += got.ev[i].tid != 0;
	ok(got.count && !named, "nor what is of no domain, or of a thread without a number here");
	finish();
}

static void test_horizon(void)
{
	start(2);
	add(0, 5, 0, EBT_F_RING);
	add(1, 3, 0, EBT_F_RING)->domain = 1;
	src.limit[0] = 1;
	src.horizon[1] = 4;
	is(pump_step(pump), -EAGAIN, "a silent lane holds back what it might still precede");
	src.limit[1] = 1;
	src.horizon[0] = src.horizon[1] = 9;
	is(pump_step(pump), 2, "both go out when the silent lane has spoken");
	ok(pump_drained(pump), "and that was all that there was");
	ok(got.ev[0].ts == 3 && got.ev[1].ts == 5, "the older one goes first");
	finish();
	start(2);
	add(0, 5, 0, EBT_F_RING);
	add(1, 3, 0, EBT_F_RING)->domain = 1;
	src.limit[0] = 1;
	src.horizon[0] = src.horizon[1] = 9;
	pump_step(pump);
	src.limit[1] = 1;
	pump_step(pump);
	ok(got.count == 2 && got.ev[1].ts == 5 && got.ev[1].flags & EBT_F_LATE,
	   "a late event is delivered at once, flagged, in sorted order");
	is(session->totals.late, 1, "and counted");
	finish();
}

static void test_join(void)
{
	start(2);
	for (uint32_t i = 0; i < 10; i++) {
		if (i != 5 && i != 6)
			add(0, 10 + i, i, EBT_F_RING);
		if (i != 6)
			add(1, 10 + i, i, EBT_F_BPF);
	}
	drain();
	is(got.count, 10, "ring and BPF give one event each, and a loss for the hole");
	ok(got.ev[0].tid == 77 && got.ev[0].cpu == 3 && got.ev[0].flags & EBT_F_RING,
	   "a pair has the ring's record and BPF's thread and CPU");
	ok(got.ev[6].kind == EBT_LOST && got.ev[6].arg[0] == 1 && got.ev[6].arg[1] == 2 &&
		   EBT_LOST_SINCE(&got.ev[6]) == 15,
	   "only what neither of them has is lost, counted in events and words");
	is(session->totals.lost_events, 1, "the totals know of it");
	finish();
	start(2);
	for (uint32_t i = 0; i < 3; i++) {
		add(0, 10 + i, UINT32_MAX - 1 + i, EBT_F_RING);
		add(1, 10 + i, UINT32_MAX - 1 + i, EBT_F_BPF);
	}
	drain();
	is(got.count, 4, "an ordinal that wraps is no loss");
	ok(got.ev[0].kind == EBT_LOST && got.ev[0].flags & EBT_F_HISTORY,
	   "what was before the first event is history");
	finish();
	start(2);
	for (uint32_t i = 0; i < 4; i++)
		add(0, 10 + i, i, EBT_F_RING);
	for (uint32_t i = 0; i < 2; i++)
		add(0, 50 + i, i, EBT_F_RING);
	drain();
	is(got.count, 6, "a restarted ring repeats nothing and loses nothing");
	finish();
	start(2);
	add(0, 10, 0, EBT_F_RING);
	add(0, 13, 3, EBT_F_RING);
	add(1, 10, 0, EBT_F_BPF);
	add(1, 11, 1, EBT_F_BPF);
	src.limit[0] = 2;
	src.horizon[0] = src.horizon[1] = 99;
	pump_step(pump);
	is(session->totals.lost_events, 2, "a hole is counted");
	drain();
	is(got.count, 4, "a late copy is dropped, a late event of the hole is delivered");
	is(session->totals.lost_events, 1, "and taken off the count");
	finish();
}

static void test_filter(void)
{
	start(1);
	filter_add_glob(pump_filter(pump), "!minor*");
	add(0, 1, 0, EBT_F_RING)->id = 11;
	add(0, 2, 1, EBT_F_RING)->id = 6;
	drain();
	ok(got.count == 1 && got.ev[0].id == 6, "an excluding glob drops what it names only");
	finish();
}

/* A sink that checks what sink.h promises of batches. */
struct strict {
	struct sink base;
	uint64_t events, losses, ticks;
	size_t longest;
	int is_ahead; /* batches in which a loss was counted before it came */
};
static int strict_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct strict *s = (struct strict *)k;
	for (size_t i = 0; i < n; i++) {
		s->losses += ev[i].kind == EBT_LOST;
		s->events += ev[i].kind != EBT_LOST;
		s->is_ahead += session->totals.lost_events != s->losses;
	}
	s->longest = n > s->longest ? n : s->longest;
	return 0;
}
static int strict_tick(struct sink *k, uint64_t now_ns)
{
	((struct strict *)k)->ticks += now_ns != 0;
	return 0;
}
static const struct sink_ops strict_ops = {.events = strict_events, .tick = strict_tick};

static void test_batches(size_t batch_max)
{
	struct strict sink = {.base = {.ops = &strict_ops, .batch_max = batch_max}};
	start(2);
	if (pump_add_sink(pump, &sink.base))
		abort();
	for (uint32_t i = 0; i < 3000; i++)
		if (i % 100 != 99)
			add(0, 10 + i, i, EBT_F_RING);
	for (uint32_t i = 0; i < 3000; i++)
		add(1, 10 + i, i, EBT_F_RING)->domain = 1;
	drain();
	is(sink.events, 5970, "a sink gets every event in some batch");
	is(sink.is_ahead, 0, "no batch counts a loss that has not come");
	if (batch_max)
		is(sink.longest, batch_max, "no batch is longer than a sink takes");
	else
		ok(sink.longest > 100 && sink.longest <= BATCH_EVENTS,
		   "batches are long, but bounded");
	is(got.count, 5999, "another sink gets the same events");
	ok(sink.ticks, "a sink is told the time");
	finish();
}

/* Damages of one batch, each with its own number of allocations that were lost with it. */
static void test_damage(void)
{
	start(1);
	for (uint32_t i = 0; i < 5; i++) {
		struct ebt_event *ev = add(0, 10 + i, 0, 0);
		ev->kind = i % 2 ? EBT_DAMAGE : EBT_BEGIN;
		ev->flags = EBT_F_FINAL;
		ev->seq = i;
	}
	drain();
	ok(session->totals.damaged == 2 && session->totals.lost_allocs == 1 + 3 &&
		   session->totals.events == 3,
	   "allocations that are lost with damage are summed up");
	finish();
}

/* Each of two sinks has a limit, whichever comes first. */
static void test_two_limits(size_t first, size_t second)
{
	struct strict a = {.base = {.ops = &strict_ops, .batch_max = first}};
	struct strict b = {.base = {.ops = &strict_ops, .batch_max = second}};
	start(1);
	if (pump_add_sink(pump, &a.base) || pump_add_sink(pump, &b.base))
		abort();
	for (uint32_t i = 0; i < 100; i++)
		add(0, 10 + i, i, EBT_F_RING);
	drain();
	ok(a.longest <= first && b.longest <= second && b.events == 100,
	   "no batch is longer than any of the sinks takes");
	finish();
}

/* What it was told of process 1. */
struct witness {
	struct sink base;
	int events, events_behind_end, ends;
};
static int witness_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct witness *w = (struct witness *)k;
	for (size_t i = 0; i < n; i++) {
		w->events += ev[i].process == 1;
		w->events_behind_end += ev[i].process == 1 && w->ends;
	}
	return 0;
}
static int witness_forget(struct sink *k, uint32_t process)
{
	((struct witness *)k)->ends += process == 1;
	return 0;
}
static const struct sink_ops witness_ops = {.events = witness_events, .forget = witness_forget};

/* A begin of a process that is gone waits for what --min-duration says. */
static void test_gone_while_waiting(void)
{
	enum { LIMIT = 1000000 };
	struct witness sink = {.base = {.ops = &witness_ops}};
	start(2);
	if (filter_set_min_duration(pump_filter(pump), LIMIT) || pump_add_sink(pump, &sink.base))
		abort();
	pump_replay(pump);
	add(0, 10000000, 0, EBT_F_RING)->process = 2;
	add(0, 20000000, 0, EBT_F_RING)->process = 1;
	add(1, 20000000 + LIMIT / 2, 0, EBT_F_RING)->process = 2;
	add(1, 20000000 + 3 * LIMIT, 1, EBT_F_RING)->process = 2;
	src.limit[0] = 2;
	src.horizon[0] = src.horizon[1] = 20000001;
	pump_step(pump);
	processes_end(&session->processes, 1);
	src.horizon[0] = src.horizon[1] = 20000000 + LIMIT / 2;
	pump_step(pump);
	is(sink.ends, 0, "a process that is gone is not released while an event of it waits");
	src.limit[1] = 2;
	src.horizon[0] = src.horizon[1] = 20000000 + 9 * LIMIT;
	pump_step(pump);
	pump_step(pump);
	ok(sink.events == 1 && !sink.events_behind_end && sink.ends == 1,
	   "it is once that event has passed");
	finish();
}

static void check_output(const char *name, int (*make)(const struct session *, int, struct sink **),
			 const char *want)
{
	int fd[2];
	struct sink *k;
	char out[4096] = "";
	start(1);
	processes_set_user_name(&session->processes, 1, 4, "a\"b\xff");
	if (pipe(fd) || make(session, fd[1], &k) || pump_add_sink(pump, k))
		abort();
	add(0, 1000, 0, EBT_F_RING)->id = 11;
	struct ebt_event *custom = add(0, 2000, 1, EBT_F_RING);
	custom->kind = EBT_CUSTOM;
	custom->id = 4;
	session_put_blob(session, custom, "\x01\xab", 2);
	struct ebt_event *end = add(0, 3500, 2, EBT_F_RING);
	end->kind = EBT_END;
	end->id = 11;
	drain();
	sink_end(k);
	close(fd[1]);
	ssize_t n = read(fd[0], out, sizeof(out) - 1);
	close(fd[0]);
	ok(n > 0 && !strcmp(out, want), "%s", name);
	if (strcmp(out, want))
		diag("got %s", out);
	sink_free(k);
	finish();
}

static int make_text(const struct session *s, int fd, struct sink **ret)
{
	return text_new(s, fd, ret);
}

/* A poll of many rings takes longer than the time between two polls of a long step. */
static void test_slow_poll(void)
{
	struct strict sink = {.base = {.ops = &strict_ops}};
	start(2);
	if (pump_add_sink(pump, &sink.base))
		abort();
	for (uint32_t i = 0; i < 2 * MAX; i++)
		add(i % 2, 10 + i, i, EBT_F_RING)->domain = (uint16_t)(i % 2);
	src.poll_us = 20000;
	drain();
	/* Otherwise there is a poll before each batch. Where a batch takes long, before some. */
	ok(got.count == MAX && src.polls < MAX / BATCH_EVENTS,
	   "slow polls leave time for the events that are there (%u polls)", src.polls);
	finish();
}

int main(void)
{
	test_random();
	test_lone_thread();
	test_slow_poll();
	test_horizon();
	test_join();
	test_filter();
	test_batches(0);
	test_batches(1);
	test_batches(7);
	test_damage();
	test_two_limits(3, 50);
	test_two_limits(50, 3);
	test_gone_while_waiting();
	check_output("text shows nesting and durations", make_text,
		     "[   0.000000000] 1/-             d0               begin minor\n"
		     "[   0.000001000] 1/-             d0                 custom a\"b? = 01ab\n"
		     "[   0.000002500] 1/-             d0     2.500 us  end minor\n"
		     "# 3 events, 0 lost\n");
	check_output("NDJSON escapes names and shows payloads", ndjson_new,
		     "{\"kind\":\"header\",\"schema\":1,\"source\":\"ring\",\"pid\":0,"
		     "\"clock\":\"monotonic\",\"start_ns\":1000}\n"
		     "{\"ts\":1000,\"kind\":\"begin\",\"domain\":0,\"id\":11,\"name\":\"minor\","
		     "\"pid\":1,\"pos\":0}\n"
		     "{\"ts\":2000,\"kind\":\"custom\",\"domain\":0,\"id\":4,"
		     "\"name\":\"a\\\"b\xef\xbf\xbd\",\"data\":\"01ab\",\"pid\":1,\"pos\":2}\n"
		     "{\"ts\":3500,\"kind\":\"end\",\"domain\":0,\"id\":11,\"name\":\"minor\","
		     "\"pid\":1,\"pos\":4}\n"
		     "{\"kind\":\"summary\",\"events\":3,\"lost_events\":0,\"lost_words\":0,"
		     "\"history_events\":0,\"history_words\":0,\"late\":0,\"damaged\":0}\n");
	return tap_done();
}
