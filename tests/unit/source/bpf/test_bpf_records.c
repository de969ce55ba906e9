/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What comes out of the BPF ring buffer, on its way to lanes, without the kernel: records are made
 * here, and the traced processes are this one and a child.
 */
#include <ebtrace/cursor.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ebtrace/ring.h>

#include "base/clock.h"
#include "bpf/abi.h"
#include "session/offcpu.h"
#include "source/bpf/records.h"
#include "tests/tap.h"

#define HOUR_NS 3600000000000ull

static struct session *session;
static struct bpf_traced traced;
static struct bpf_lanes lanes;
static struct bpf_losses losses;
static struct bpf_records s;
static pid_t child;
static uint32_t we, it; /* their indices: the child's is `it` */
static int reports[PROCESS_EVENTS];
static struct process_event reported; /* last */

static void report(void *ctx, const struct process_event *e)
{
	(void)ctx;
	reports[e->kind]++;
	reported = *e;
}

/* Two traced processes, in slots 0 and 1. */
static void begin_with(size_t queue_bytes, bool threads)
{
	memset(reports, 0, sizeof(reports));
	if (session_new(&session) || bpf_lanes_init(&lanes) ||
	    processes_of(&session->processes, (uint32_t)getpid(), &we) ||
	    processes_of(&session->processes, (uint32_t)child, &it))
		abort();
	bpf_traced_init(&traced,
			&(struct bpf_traced_options){.processes = &session->processes,
						     .threads = threads,
						     .report = report},
			&(struct bpf_scanner){0});
	bpf_losses_init(&losses, &lanes, &traced, 0);
	for (int i = 0; i < 2; i++)
		if (bpf_traced_reserve_slot(&traced) != i ||
		    !bpf_traced_add(&traced, (uint32_t)i, i ? child : getpid(), i ? it : we))
			abort();
	bpf_records_init(&s, &(struct bpf_records_options){.session = session,
							   .traced = &traced,
							   .lanes = &lanes,
							   .losses = &losses,
							   .queue_bytes = queue_bytes,
							   .threads = threads});
	bpf_records_begin_poll(&s, now_ns());
}

static void begin(void)
{
	begin_with(1 << 20, false);
}

static void finish(void)
{
	bpf_records_done(&s);
	bpf_traced_done(&traced);
	bpf_lanes_done(&lanes);
	session_free(session);
}

static int mark(uint32_t slot, uint16_t domain, uint64_t ts)
{
	struct ebt_marker_record rec = {
		.head = {.type = EBT_RECORD_MARKER, .slot = slot, .site = EBT_BEGIN},
		.ts = ts,
		.pos = EBT_NO_POS,
		.ring = domain,
	};
	return bpf_records_receive(&s, &rec, sizeof(rec));
}

static int process(uint32_t slot, uint16_t change, uint64_t ts)
{
	struct ebt_process_record rec = {
		.head = {.type = EBT_RECORD_PROCESS, .slot = slot, .site = change},
		.pid = (uint32_t)(slot ? child : getpid()),
		.ts = ts,
	};
	return bpf_records_receive(&s, &rec, sizeof(rec));
}

/* The events of a lane up to a moment: "PID:TS ..." */
static const char *taken(uint32_t lane, uint64_t until)
{
	static char text[512];
	struct ebt_event ev[16];
	size_t len = 0, n = bpf_lanes_read(&lanes, lane, until, ev, 16);
	text[0] = 0;
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s:%llu", i ? " " : "",
					ev[i].process == we   ? "we"
					: ev[i].process == it ? "child"
							      : "?",
					(unsigned long long)ev[i].ts);
	return text;
}

static void test_lanes(void)
{
	begin();
	ok(!mark(0, 3, 10) && !mark(1, 3, 5) && !mark(0, 3, 20) && !mark(0, 4, 15),
	   "events of domains of two processes are taken");
	is(lanes.lanes, 4, "each domain of each process has a lane of its own");
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
	is(lanes.waiting, 0, "nothing is left");
	ok(!mark(2, 0, 1) && !lanes.waiting, "a record of a slot that is none is passed over");
	finish();
}

static bool drained; /* all records were taken, and no event is newer */
static bool future;  /* of the last that was released: an event that claims to be of it */

static bool may_release(void *ctx, const struct bpf_process *proc)
{
	(void)ctx;
	return drained && bpf_lanes_release(&lanes, proc->slot, proc->end_ns, 1000, &future);
}

static void release(void)
{
	bpf_traced_release(&traced, may_release, NULL);
}

static void test_mapped(void)
{
	begin();
	struct ebt_mapped_record rec = {
		.head = {.type = EBT_RECORD_MAPPED, .slot = EBT_NO_SLOT}, .ts = 30, .pid = 77};
	ok(!bpf_records_receive(&s, &rec, sizeof(rec)) && reports[PROCESS_MAPPED] == 1 &&
		   reported.pid == 77 && reported.ts == 30,
	   "code that some process has mapped is reported");
	ok(!bpf_records_receive(&s, &rec, sizeof(rec) - 1) && reports[PROCESS_MAPPED] == 1,
	   "a record that is cut is not");
	finish();
}

static void test_exit(void)
{
	begin();
	drained = false;
	ok(!mark(1, 0, 10) && !mark(0, 0, 12) && !process(1, EBT_PROCESS_EXIT, 20),
	   "a process ends");
	is(reports[PROCESS_EXITED], 1, "that is told");
	ok(!bpf_traced_find(&traced, child), "its pid is free for another one");
	ok(!mark(1, 0, 15), "a record of it that was dropped behind comes late");
	release();
	ok(bpf_traced_get(&traced, 1) != NULL, "its slot is kept while its records may come");
	drained = true;
	release();
	ok(bpf_traced_get(&traced, 1) != NULL, "and while its events wait");
	is_str(taken(1, 0), "child:10 child:15", "its lane gives all of them");
	release();
	ok(bpf_traced_get(&traced, 1) != NULL, "lane 0 has the event of its end still");
	is_str(taken(0, UINT64_MAX), "child:20", "and gives it");
	release();
	ok(!bpf_traced_get(&traced, 1) && !future, "then its slot is free");
	is(bpf_traced_reserve_slot(&traced), 1, "for the next process");
	ok(!mark(1, 0, 25) && lanes.waiting == 1,
	   "to which no record of the slot goes before that");
	ok(bpf_traced_add(&traced, 1, child, it) && !mark(1, 7, 40), "its events");
	is(lanes.lanes, 3, "come in the lane that is free");
	is_str(taken(1, 0), "child:40", "and in no other");
	is_str(taken(2, 0), "we:12", "which the first process keeps");
	finish();
}

static void test_future_end(void)
{
	begin();
	drained = true;
	ok(!mark(1, 0, 2000) && !process(1, EBT_PROCESS_EXIT, 20) && *taken(1, 0) &&
		   *taken(0, UINT64_MAX),
	   "a process says that its last event is of the future, and ends");
	release();
	ok(!bpf_traced_get(&traced, 1) && future,
	   "its slot is free, but its process has an event to come");
	ok(!mark(0, 0, 30), "but the next one's events");
	is_str(taken(2, 0), "we:30", "do not come behind it");
	finish();
}

static void test_fork(void)
{
	struct ebt_process_record rec = {
		.head = {.type = EBT_RECORD_PROCESS, .slot = 0, .site = EBT_PROCESS_FORK},
		.pid = (uint32_t)getpid(),
		.child_pid = (uint32_t)child,
		.shares_memory = 1,
		.ts = 10,
	};
	begin();
	rec.child_slot = (uint32_t)bpf_traced_reserve_slot(&traced);
	bpf_traced_offer_slot(&traced, rec.child_slot);
	ok(!bpf_records_receive(&s, &rec, sizeof(rec)), "a fork names its child's slot");
	struct bpf_process *proc = bpf_traced_find(&traced, child);
	ok(proc && proc->slot == rec.child_slot && traced.in_kernel == 0,
	   "which is the child's from then on");
	ok(bpf_traced_get(&traced, 1)->ended, "a process that had its pid has ended: nobody told");
	int slot = bpf_traced_reserve_slot(&traced);
	bpf_traced_offer_slot(&traced, (uint32_t)slot);
	ok(!process((uint32_t)slot, EBT_PROCESS_EXIT, 20) && traced.in_kernel == 0,
	   "the end of a child whose fork was not told");
	is(bpf_traced_reserve_slot(&traced), slot, "gives its slot back");
	uint32_t frees = traced.frees;
	ok(!process((uint32_t)slot, EBT_PROCESS_EXIT, 21) && traced.frees == frees,
	   "once: a second end of the same slot is nobody's");
	is(bpf_records_receive(&s, &rec, sizeof(rec) - 1), 0, "a record that is too short is none");
	finish();
}

/* A fork whose record has the start that /proc would show, in whole ticks of 10 ms. */
static struct process *fork_at(uint64_t start_boot_ns, uint64_t ts)
{
	struct ebt_process_record rec = {
		.head = {.type = EBT_RECORD_PROCESS, .slot = 0, .site = EBT_PROCESS_FORK},
		.pid = (uint32_t)getpid(),
		.child_pid = (uint32_t)child,
		.child_slot = (uint32_t)bpf_traced_reserve_slot(&traced),
		.start_boot_ns = start_boot_ns,
		.clock_ahead_ns = -77,
		.shares_memory = 1,
		.ts = ts,
	};
	bpf_traced_offer_slot(&traced, rec.child_slot);
	if (bpf_records_receive(&s, &rec, sizeof(rec)))
		abort();
	struct processes *ps = &session->processes;
	return processes_at(ps, processes_find(ps, (uint32_t)child));
}

static void test_incarnations(void)
{
	uint32_t same;
	begin();
	const struct process *p = fork_at(5 * HOUR_NS + 12345678, 10);
	ok(p->start.known && p->start.boot_ns == 5 * HOUR_NS + 10000000,
	   "a fork names the start of the child, as /proc has it");
	is(p->parent_pid, (uint32_t)getpid(), "and its parent");
	ok(p->clock_known && p->clock_ahead_ns == -77, "and its clock");
	struct process_start start = p->start;
	ok(!processes_begin(&session->processes, (uint32_t)child, &start, &same) &&
		   same == p->index,
	   "whoever reads its start in /proc finds the same process");
	const struct process *next = fork_at(6 * HOUR_NS, 20);
	ok(next != p && next->older == p->index && p->ended,
	   "with another start it is another, also if no exit was reported");
	finish();
}

/* Of a slot that no process has: the record of its fork was dropped. */
static const struct process *change_unknown(uint16_t change, uint64_t ts)
{
	struct ebt_process_record rec = {
		.head = {.type = EBT_RECORD_PROCESS, .slot = 9, .site = change},
		.pid = 4242,
		.ts = ts,
	};
	if (bpf_records_receive(&s, &rec, sizeof(rec)))
		abort();
	return processes_at(&session->processes, processes_find(&session->processes, 4242));
}

static void test_unknown(void)
{
	begin();
	const struct process *p = change_unknown(EBT_PROCESS_EXEC, 10);
	ok(p && p->pid == 4242 && !p->ended, "a process that is not traced runs another program");
	ok(change_unknown(EBT_PROCESS_EXIT, 20) == p && p->ended, "and has ended with its exit");
	finish();
}

static void test_lost_slots(void)
{
	bool found[8] = {false};
	begin();
	for (uint32_t i = 2; i < 5; i++)
		if (bpf_traced_reserve_slot(&traced) != (int)i)
			abort();
		else
			bpf_traced_offer_slot(&traced, i);
	found[2] = true;
	ok(bpf_traced_free_lost_slots(&traced, found) && traced.in_kernel == 3 && !traced.frees,
	   "slots that are not found in the kernel may be on their way in a record");
	found[3] = true;
	ok(bpf_traced_take_slot(&traced, 2) && !bpf_traced_free_lost_slots(&traced, found) &&
		   traced.in_kernel == 1,
	   "the second time they are free again, but those that were found or named meanwhile");
	is(bpf_traced_reserve_slot(&traced), 4, "and used again");
	ok(!bpf_traced_take_slot(&traced, 4) && !bpf_traced_take_slot(&traced, 1000),
	   "a slot that the kernel does not have is not taken from it");
	finish();
}

static void test_future(void)
{
	begin();
	uint64_t before = now_ns(), later = before + HOUR_NS;
	ok(!mark(0, EBT_NO_DOMAIN, later) && !mark(0, 1, later), "events come from the future");
	struct ebt_event ev[2];
	is(bpf_lanes_read(&lanes, 0, now_ns(), ev, 2), 1,
	   "lane 0 does not hold one back until its time has come");
	ok(ev[0].ts >= before && ev[0].ts < later, "it is of now");
	is(bpf_lanes_read(&lanes, 1, 0, ev, 2), 1, "a domain's lane gives it as it is");
	ok(ev[0].ts == later, "with the time that it says");
	uint64_t past = s.started_ns - 5;
	ok(!mark(0, EBT_NO_DOMAIN, past), "an event of the past");
	ok(bpf_lanes_read(&lanes, 0, now_ns(), ev, 2) == 1 && ev[0].ts == past, "keeps its time");
	finish();
}

static void test_until(void)
{
	begin();
	bpf_records_until(&s, 100);
	ok(!mark(0, 0, 100) && !mark(0, 0, 101) && !process(0, EBT_PROCESS_EXIT, 102),
	   "events come while probes are taken off");
	is_str(taken(1, UINT64_MAX), "we:100",
	       "those that came before are taken, the others are not");
	is_str(taken(0, UINT64_MAX), "we:102", "the end of a process is");
	ok(!mark(7, 0, 101) && !bpf_losses_count(&losses, 0, 105, 110) && !*taken(0, UINT64_MAX),
	   "of a process that is not known those that come behind are not lost");
	ok(!mark(7, 0, 100) && !bpf_losses_count(&losses, 0, 115, 120) && *taken(0, UINT64_MAX),
	   "but those before are");
	finish();
}

static uint32_t lone(uint64_t ts)
{
	return processes_lone_thread(&session->processes, it, ts);
}

static void test_threads(void)
{
	struct ebt_thread_record rec = {.head = {.type = EBT_RECORD_THREAD, .slot = 1}, .ts = 2000};
	begin();
	process(1, EBT_PROCESS_EXEC, 1000);
	is(lone(5000), 0, "where threads are not recorded it is not known that there is one");
	finish();
	begin_with(1 << 20, true);
	process(1, EBT_PROCESS_EXEC, 1000);
	ok(!lone(999) && lone(1000) == (uint32_t)child && lone(5000),
	   "behind exec a process has one thread");
	bpf_records_receive(&s, &rec, sizeof(rec));
	ok(lone(1999) && !lone(2000), "up to its next one");
	is(losses.strays, 0, "which is no event");
	rec.head.slot = 7;
	bpf_records_receive(&s, &rec, sizeof(rec));
	is(losses.strays, 0, "nor is that of a process that is not known a loss");
	process(1, EBT_PROCESS_EXEC, 3000);
	ok(lone(5000), "exec ends the others");
	bpf_losses_count(&losses, 0, 4000, 4500);
	bpf_losses_count(&losses, 1, 4800, 5000);
	ok(lone(3999) && !lone(4000), "what was lost may have been of a thread");
	bpf_traced_end(&traced, bpf_traced_get(&traced, 1));
	bpf_traced_begin(&traced, (uint32_t)bpf_traced_reserve_slot(&traced), child, NULL);
	ok(!lone(4000) && lone(now_ns()), "of a process that runs already /proc says so");
	finish();
}

static void test_full(void)
{
	begin_with(3 * sizeof(struct ebt_event), false);
	ok(!mark(0, 1, 10) && !mark(0, 1, 11), "events are taken while there is room");
	is(mark(0, 1, 12), -ENOBUFS, "the one that fills the queues says so");
	is_str(taken(1, 0), "we:10 we:11 we:12", "and is taken itself");
	bpf_records_stop(&s);
	ok(!mark(0, 1, 20) && !mark(0, 1, 21) && !mark(0, 1, 22), "at the end all are taken");
	is(s.received_ns, 22, "the last one's time is kept");
	finish();
}

static void test_payload(void)
{
	struct {
		struct ebt_marker_record rec;
		char bytes[8];
	} r = {{.head = {.type = EBT_RECORD_MARKER, .site = EBT_CUSTOM, .size = 100}, .value = 100},
	       "payload"};
	struct ebt_event ev;
	size_t bytes;
	begin();
	ok(!bpf_records_receive(&s, &r, sizeof(r)),
	   "a payload that says to be longer than its record");
	ok(bpf_lanes_read(&lanes, 1, 0, &ev, 1) == 1 && ev.arg[1] == 8 && ev.flags & EBT_F_CUT,
	   "is as long as the record, and cut");
	const void *data = session_blob(session, &ev, &bytes);
	ok(data && bytes == 8 && !memcmp(data, "payload", 8), "and holds its bytes");
	session_drop_event(session, &ev);
	r.rec.value = r.rec.head.size = 5;
	ok(!bpf_records_receive(&s, &r, sizeof(r)) && bpf_lanes_read(&lanes, 1, 0, &ev, 1) == 1 &&
		   ev.arg[1] == 5 && !(ev.flags & EBT_F_CUT),
	   "one that is shorter than its room is whole");
	session_drop_event(session, &ev);
	is(bpf_records_receive(&s, &r, sizeof(r.rec) - 1), 0, "a record that is too short is none");
	is(bpf_records_receive(&s, &r, sizeof(r.rec.head) - 1), 0,
	   "nor is one without a whole head");
	r.rec.head.type = 0;
	is(bpf_records_receive(&s, &r, sizeof(r)), 0, "nor one of a type that nobody knows");
	is(lanes.waiting, 0, "and they leave nothing");
	finish();
}

static int take(uint32_t slot, uint16_t site, uint64_t ts)
{
	struct ebt_marker_record rec = {
		.head = {.type = EBT_RECORD_MARKER, .slot = slot, .site = site},
		.ts = ts,
		.pos = EBT_NO_POS,
	};
	return bpf_records_take(&s, &rec, sizeof(rec));
}

static int take_exec(uint64_t ts)
{
	struct ebt_process_record rec = {
		.head = {.type = EBT_RECORD_PROCESS, .site = EBT_PROCESS_EXEC},
		.pid = (uint32_t)getpid(),
		.ts = ts,
	};
	return bpf_records_take(&s, &rec, sizeof(rec));
}

/* While records are dispatched that take their time, the buffer is drained. */
static void test_spool(void)
{
	begin();
	bpf_records_stop(&s); /* exec attaches nothing */
	ok(!take(0, EBT_BEGIN, 10) && lanes.waiting == 1, "a record is dispatched at once");
	ok(!take_exec(20) && !take(0, EBT_END, 30) && lanes.waiting == 1,
	   "one that takes its time is spooled, and all behind it");
	is(bpf_records_dispatch(&s, 0), 1, "they are dispatched up to a time");
	is(lanes.waiting, 2, "one at least");
	ok(!take(0, EBT_BEGIN, 40) && lanes.waiting == 2, "what comes meanwhile waits behind");
	is(bpf_records_dispatch(&s, UINT64_MAX), 0, "and then all");
	is_str(taken(1, 0), "we:10 we:30 we:40", "in their order");
	ok(!take(0, EBT_END, 50) && lanes.waiting == 2, "then nothing is spooled");
	finish();
	begin_with(3 * sizeof(struct ebt_event), false);
	ok(!take_exec(60) && !take(0, EBT_BEGIN, 70) && take(0, EBT_END, 80) == -ENOBUFS,
	   "a full spool says so");
	finish();
}

/* The event of a marker, from the registers of a hit. */
static void test_marker(void)
{
	struct ebt_marker_record rec = {
		.head = {.type = EBT_RECORD_MARKER, .site = EBT_COUNTER, .cpu = 3, .tid = 42},
		.ts = 1000000007,
		.pos = 4096,
		.ring = 7ull << 32 | 0xabcd0002ull, /* above 16 bits it is not ours */
		.id = 0x11,
		.value = 0x1122334455667788ull,
	};
	struct ebt_event ev, want = {
				     .ts = 1000000007,
				     .pos = 4096,
				     .tid = 42,
				     .kind = EBT_COUNTER,
				     .domain = 2,
				     .cpu = 3,
				     .flags = EBT_F_BPF | EBT_F_SEQ,
				     .id = 0x11,
				     .seq = 7,
				     .arg = {0x1122334455667788ull, 0},
			     };
	begin();
	want.process = we;
	ok(!bpf_records_receive(&s, &rec, sizeof(rec)) &&
		   bpf_lanes_read(&lanes, 1, 0, &ev, 1) == 1 && !memcmp(&ev, &want, sizeof(ev)),
	   "of a marker's registers every field of its event comes");
	rec.head.site = want.kind = EBT_BEGIN;
	want.arg[0] = 0;
	rec.pos = want.pos = EBT_NO_POS;
	want.flags = EBT_F_BPF;
	ok(!bpf_records_receive(&s, &rec, sizeof(rec)) &&
		   bpf_lanes_read(&lanes, 1, 0, &ev, 1) == 1 && ev.kind == EBT_BEGIN &&
		   !ev.arg[0] && ev.flags == EBT_F_BPF && ev.pos == EBT_NO_POS,
	   "without what the register of a value is left with, and no ordinal without a ring");
	finish();
}

static void test_ocaml(void)
{
	struct {
		struct ebt_ocaml_record rec;
		char name[8];
	} r = {{.head = {.type = EBT_RECORD_OCAML, .site = EBT_OCAML_BEGIN},
		.kind = EBT_BEGIN,
		.release = EBT_RELEASE_OCAML_5_3,
		.id = 1000,
		.value = 99,
		.ts = 5,
		.domain = 1},
	       "name"};
	struct ebt_event ev;
	begin();
	ok(!bpf_records_receive(&s, &r.rec, sizeof(r.rec)) &&
		   bpf_lanes_read(&lanes, 1, 0, &ev, 1) == 1 && ev.id == (1000 | EBT_UNKNOWN_ID) &&
		   !ev.arg[0] && ev.domain == 1,
	   "a phase that no release has is unknown, and has no value");
	is_str(processes_at(&session->processes, we)->producer, "ocaml 5.3",
	       "the process is named after the release");
	r.rec.kind = EBT_INT;
	r.rec.id = 3;
	r.rec.head.size = 5;
	ok(!bpf_records_receive(&s, &r, sizeof(r)) && bpf_lanes_read(&lanes, 1, 0, &ev, 1) == 1 &&
		   ev.arg[0] == 99 && ev.id == 3 && !(ev.flags & EBT_F_PAYLOAD),
	   "a user event has its value");
	is_str(processes_user_name(&session->processes, we, 3), "name",
	       "and its name comes with it");
	finish();

	begin();
	struct process *p = processes_at(&session->processes, we);
	strcpy(p->producer, "of a ring");
	p->traits.hides_user_events = true;
	r.rec.kind = EBT_BEGIN;
	r.rec.id = 1;
	r.rec.release = EBT_RELEASE_OCAML_5_1; /* which does not hide them */
	ok(!bpf_records_receive(&s, &r.rec, sizeof(r.rec)) && !strcmp(p->producer, "of a ring") &&
		   p->traits.hides_user_events && !p->traits.runtime.language,
	   "what has a ring of another producer besides is of that");
	finish();
}

/* What is known of an interval without a CPU is in its event. */
static void test_offcpu(void)
{
	struct ebt_offcpu_record rec = {
		.head = {.type = EBT_RECORD_OFFCPU, .site = EBT_OFFCPU_SLEEP, .tid = 7, .cpu = 3},
		.ts = 900,
		.from = 300,
		.pid = (uint32_t)getpid(),
		.woken = 800,
		.run_delay = 90,
		.syscall = 35,
		.waker = 11,
		.runner = 12,
		.runner_cpu = 2,
		.interrupt = 1,
		.open = 1,
		.waker_comm = "waker",
		.runner_comm = "runner"};
	struct ebt_event ev;
	struct offcpu o;
	begin();
	ok(!bpf_records_receive(&s, &rec, sizeof(rec)) &&
		   bpf_lanes_read(&lanes, 0, UINT64_MAX, &ev, 1) == 1 && ev.kind == EBT_OFFCPU &&
		   ev.tid == 7 && ev.cpu == 3 && ev.process == we,
	   "an interval without a CPU is an event of its thread");
	offcpu_get(session, &ev, &o);
	ok(o.begin_ns == 300 && o.end_ns == 900 && o.wait_ns == 100 && o.run_delay_ns == 90 &&
		   o.reason == EBT_OFFCPU_SLEEP && o.syscall == 35 && o.open && o.interrupt,
	   "with its times and its reason");
	ok(o.waker == 11 && o.runner == 12 && o.runner_cpu == 2 && !strcmp(o.waker_comm, "waker") &&
		   !strcmp(o.runner_comm, "runner"),
	   "and with who woke it, and who ran");
	session_drop_event(session, &ev);
	rec.pid++;
	ok(!bpf_records_receive(&s, &rec, sizeof(rec)) &&
		   !bpf_lanes_read(&lanes, 0, UINT64_MAX, &ev, 1),
	   "one of a process that has the slot no more is none of it");
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
	test_mapped();
	test_exit();
	test_future_end();
	test_fork();
	test_incarnations();
	test_unknown();
	test_lost_slots();
	test_future();
	test_until();
	test_threads();
	test_full();
	test_payload();
	test_spool();
	test_marker();
	test_offcpu();
	test_ocaml();
	kill_child(child, SIGKILL);
	waitpid(child, NULL, 0);
	return tap_done();
}
