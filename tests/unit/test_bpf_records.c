/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What comes out of the BPF ring buffer, on its way to lanes, without the kernel: records are made
 * here, and the traced processes are this one and a child.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ebtrace/ring.h>

#include "base/clock.h"
#include "bpf/abi.h"
#include "source/bpf_source.h"
#include "tests/tap.h"

#define HOUR_NS 3600000000000ull

static struct bpf_source s;
static pid_t child;
static int changes[8];

static void changed(void *ctx, pid_t pid, enum bpf_change change)
{
	(void)ctx;
	(void)pid;
	changes[change]++;
}

/* Two targets, in slots 0 and 1. */
static void begin(void)
{
	memset(&s, 0, sizeof(s));
	memset(changes, 0, sizeof(changes));
	if (session_new(&s.session) || bpf_lanes_init(&s.lanes) ||
	    bpf_targets_add(&s.targets, getpid()) != 0 || bpf_targets_add(&s.targets, child) != 1)
		abort();
	s.opt.queue_bytes = 1 << 20;
	s.opt.changed = changed;
	s.started_ns = now_ns();
}

static void finish(void)
{
	bpf_targets_done(&s.targets);
	bpf_lanes_done(&s.lanes);
	session_free(s.session);
}

static int record(struct ebt_event ev)
{
	return bpf_records_take(&s, &ev, sizeof(ev));
}

static int mark(uint32_t slot, uint16_t domain, uint64_t ts)
{
	return record((struct ebt_event){.kind = EBT_BEGIN,
					 .pid = slot,
					 .domain = domain,
					 .ts = ts,
					 .pos = EBT_NO_POS,
					 .flags = EBT_F_BPF});
}

static int process(uint32_t pid, uint32_t change, uint64_t child_pid, uint64_t ts)
{
	return record((struct ebt_event){.kind = EBT_PROCESS,
					 .pid = pid,
					 .domain = EBT_NO_DOMAIN,
					 .id = change,
					 .ts = ts,
					 .arg = {child_pid}});
}

/* The events of a lane up to a moment: "PID:TS ..." */
static const char *taken(uint32_t lane, uint64_t until)
{
	static char text[512];
	struct ebt_event ev[16];
	size_t len = 0, n = bpf_lanes_take(&s.lanes, lane, until, ev, 16);
	text[0] = 0;
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s:%llu", i ? " " : "",
					ev[i].pid == (uint32_t)getpid() ? "we"
					: ev[i].pid == (uint32_t)child	? "child"
									: "?",
					(unsigned long long)ev[i].ts);
	return text;
}

static void test_lanes(void)
{
	begin();
	ok(!mark(0, 3, 10) && !mark(1, 3, 5) && !mark(0, 3, 20) && !mark(0, 4, 15),
	   "events of domains of two processes are taken");
	is(s.lanes.lanes, 4, "each domain of each process has a lane of its own");
	is_str(taken(1, 0), "we:10 we:20",
	       "its events are in order, with the pid of their process");
	is_str(taken(2, 0), "child:5", "the other process's are apart");
	is_str(taken(3, 0), "we:15", "and the other domain's");
	ok(!mark(0, EBT_NO_DOMAIN, 30) && !mark(1, EBT_NO_DOMAIN, 28) &&
		   !mark(0, EBT_RING_MAX_DOMAINS, 29) && !mark(1, EBT_NO_DOMAIN, 30),
	   "events without a domain, or one that cannot be, are taken");
	is_str(taken(0, 29), "child:28 we:29",
	       "lane 0 puts them in order, and gives those up to a time");
	is_str(taken(0, 30), "we:30 child:30",
	       "and the later ones later; equal times as they came");
	is(s.lanes.waiting, 0, "nothing is left");
	ok(!mark(2, 0, 1) && !s.lanes.waiting, "a record of a slot that is none is passed over");
	finish();
}

static void test_exit(void)
{
	begin();
	ok(!mark(1, 0, 10) && !mark(0, 0, 12) && !process((uint32_t)child, EBT_PROCESS_EXIT, 0, 20),
	   "a process ends");
	is(changes[BPF_EXITED], 1, "that is told");
	ok(!mark(1, 0, 15), "an event of it comes behind its end");
	is_str(taken(1, 0), "child:10", "its lane gives what came before, and has ended");
	ok(s.lanes.lane[1].ended && !s.lanes.lane[1].count, "nothing is added to it");
	is_str(taken(0, UINT64_MAX), "child:15 child:20",
	       "what came behind is not lost: lane 0 has it");
	ok(!mark(0, 0, 30), "another process goes on");
	is_str(taken(2, 0), "we:12 we:30", "in its own lane");
	ok(!s.lanes.lane[2].ended, "which has not ended");
	finish();
}

static void test_future(void)
{
	begin();
	uint64_t before = now_ns(), later = before + HOUR_NS;
	ok(!mark(0, EBT_NO_DOMAIN, later) && !mark(0, 1, later), "events come from the future");
	struct ebt_event ev[2];
	is(bpf_lanes_take(&s.lanes, 0, now_ns(), ev, 2), 1,
	   "lane 0 does not hold one back until its time has come");
	ok(ev[0].ts >= before && ev[0].ts < later, "it is of now");
	is(bpf_lanes_take(&s.lanes, 1, 0, ev, 2), 1, "a domain's lane gives it as it is");
	ok(ev[0].ts == later, "with the time that it says");
	uint64_t past = s.started_ns - 5;
	ok(!mark(0, EBT_NO_DOMAIN, past), "an event of the past");
	ok(bpf_lanes_take(&s.lanes, 0, now_ns(), ev, 2) == 1 && ev[0].ts == past, "keeps its time");
	finish();
}

static void test_until(void)
{
	begin();
	s.until_ns = 100;
	ok(!mark(0, 0, 100) && !mark(0, 0, 101) &&
		   !process((uint32_t)getpid(), EBT_PROCESS_EXIT, 0, 102),
	   "events come while probes are taken off");
	is_str(taken(1, UINT64_MAX), "we:100",
	       "those that came before are taken, the others are not");
	is_str(taken(0, UINT64_MAX), "we:102", "the end of a process is");
	finish();
}

static void test_loss(void)
{
	struct ebt_event ev[4];
	begin();
	s.lost_since_ns = 100;
	ok(!bpf_records_lost(&s, 0, 200), "nothing was dropped");
	is(bpf_lanes_take(&s.lanes, 0, UINT64_MAX, ev, 4), 0, "nothing is told");
	ok(!bpf_records_lost(&s, 7, 300), "seven were dropped");
	is(bpf_lanes_take(&s.lanes, 0, UINT64_MAX, ev, 4), 1, "one loss is told");
	ok(ev[0].kind == EBT_LOST && ev[0].arg[0] == 7 && !ev[0].arg[1], "of seven events");
	ok(ev[0].ts == 300 && EBT_LOST_SINCE(&ev[0]) == 200, "from the look before to this one");
	is(ev[0].pid, 0, "of two processes: nobody knows whose they were");
	ok(ev[0].domain == EBT_NO_DOMAIN && !EBT_LOST_ANYWHERE(&ev[0]), "of what no ring holds");
	ok(!bpf_records_lost(&s, 9, 400), "two more");
	is(bpf_lanes_take(&s.lanes, 0, UINT64_MAX, ev, 4), 1, "one more loss");
	ok(ev[0].arg[0] == 2 && EBT_LOST_SINCE(&ev[0]) == 300, "of those alone");
	bpf_targets_done(&s.targets);
	bpf_targets_add(&s.targets, child);
	ok(!bpf_records_lost(&s, 10, 500) && bpf_lanes_take(&s.lanes, 0, UINT64_MAX, ev, 4) == 1 &&
		   ev[0].pid == (uint32_t)child,
	   "where one process is traced they were its own");
	finish();
}

static void test_full(void)
{
	begin();
	s.opt.queue_bytes = 3 * sizeof(struct ebt_event);
	ok(!mark(0, 1, 10) && !mark(0, 1, 11), "events are taken while there is room");
	is(mark(0, 1, 12), -ENOBUFS, "the one that fills the queues says so");
	is_str(taken(1, 0), "we:10 we:11 we:12", "and is taken itself");
	s.stopped = true;
	ok(!mark(0, 1, 20) && !mark(0, 1, 21) && !mark(0, 1, 22), "at the end all are taken");
	is(s.taken_ns, 22, "the last one's time is kept");
	finish();
}

static void test_payload(void)
{
	struct {
		struct ebt_event ev;
		char bytes[8];
	} r = {{.kind = EBT_CUSTOM, .flags = EBT_F_BPF | EBT_F_PAYLOAD, .arg = {0, 100}},
	       "payload"};
	struct ebt_event ev;
	size_t bytes;
	begin();
	ok(!bpf_records_take(&s, &r, sizeof(r)),
	   "a payload that says to be longer than its record");
	ok(bpf_lanes_take(&s.lanes, 1, 0, &ev, 1) == 1 && ev.arg[1] == 8,
	   "is as long as the record");
	const void *data = session_blob(s.session, &ev, &bytes);
	ok(data && bytes == 8 && !memcmp(data, "payload", 8), "and holds its bytes");
	session_drop_event(s.session, &ev);
	is(bpf_records_take(&s, &r, sizeof(r.ev) - 1), 0, "a record that is too short is none");
	is(s.lanes.waiting, 0, "and leaves nothing");
	finish();
}

int main(void)
{
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	test_lanes();
	test_exit();
	test_future();
	test_until();
	test_loss();
	test_full();
	test_payload();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return tap_done();
}
