/* SPDX-License-Identifier: BSD-2-Clause */
/* join: what a ring and BPF saw of the same events. What is lost: test_join_loss.c. */
#include "tests/unit/join_fixture.h"

static void test_pairs(void)
{
	for (int order = 0; order < 2; order++) {
		begin();
		push(order ? B : R, 0, 10);
		push(order ? R : B, 0, 10);
		join_flush(join);
		is(outs, 1, order ? "BPF first: one event" : "ring first: one event");
		ok(out[0].tid == 1234 && out[0].cpu == 1 && out[0].size == 2 &&
			   (out[0].flags & (R | B)) == (R | B),
		   "with the thread and CPU of the one and the record of the other");
		end();
	}
	begin();
	struct ebt_event three[3] = {event(R, 0, 10), event(R, 1, 11), event(B, 1, 11)};
	for (int i = 0; i < 3; i++)
		three[i].flags &= (uint16_t)~EBT_F_SEQ;
	join_events(join, three, 3);
	join_flush(join);
	ok(outs == 2 && (out[1].flags & (R | B)) == (R | B),
	   "halves without ordinals are a pair, behind another event of one of them too");
	end();
	begin();
	push(R, 0, 10);
	is(outs, 0, "the first of a pair is held");
	join_flush(join);
	is(outs, 1, "and let go when its partner can no longer come");
	end();
}

static void test_one_sided(void)
{
	begin();
	for (uint32_t i = 0; i < 5; i++)
		push(i % 2 ? R : B, i, 10 + i);
	join_flush(join);
	is(outs, 5, "events that one side alone has seen all come");
	is(session->totals.lost_events, 0, "and none of them is a loss");
	end();
}

static void test_duplicates(void)
{
	begin();
	for (uint32_t i = 0; i < 3; i++)
		push(R, i, 10 + i);
	struct ebt_event late = event(B, 1, 12);
	late.flags |= EBT_F_LATE;
	join_events(join, &late, 1);
	join_flush(join);
	is(outs, 3, "a copy that comes after its event was passed on is dropped");
	end();

	begin();
	push(B, 0, 10);
	push(B, 4, 14);
	late = event(B, 2, 14);
	late.flags |= EBT_F_LATE;
	join_events(join, &late, 1);
	join_events(join, &late, 1);
	join_flush(join);
	is(outs, 4, "an event out of a hole that comes late is delivered, once");
	is(session->totals.lost_events, 2, "and taken off the loss");
	end();
}

static void test_restart_and_wrap(void)
{
	begin();
	push(R, 0, 10);
	push(R, 1, 11);
	push(R, 0, 30);
	push(R, 1, 31);
	join_flush(join);
	is(outs, 4, "a ring that is begun anew is no copy of the old one");
	end();

	begin();
	push(R, 0, 10);
	push(B, 0, 40);
	join_flush(join);
	is(outs, 2, "nor is its first event the other half of the old one's");
	end();

	begin();
	push(R, 0, 10);
	push(R, 1, 10);
	push(B, 0, 10);
	join_flush(join);
	is(outs, 2, "an event of the same moment begins nothing anew");
	end();

	begin();
	struct ebt_event ev = event(R, UINT32_MAX - 1, 10);
	for (uint32_t i = 0; i < 4; i++) {
		ev.seq = UINT32_MAX - 1 + i;
		ev.pos = 1000 + 2 * i;
		ev.ts = 10 + i;
		join_events(join, &ev, 1);
	}
	join_flush(join);
	is(outs, 5, "ordinals may wrap");
	is(out[4].seq, 1, "and go on from zero");
	end();
}

static void push_process(enum ebt_process_change what, uint64_t ts)
{
	struct ebt_event ev = {.ts = ts,
			       .pos = EBT_NO_POS,
			       .pid = 9,
			       .domain = EBT_NO_DOMAIN,
			       .kind = EBT_PROCESS,
			       .id = what,
			       .flags = B};
	join_events(join, &ev, 1);
}

/* Events but those of processes; the losses among them. */
static int delivered(int *ret_lost)
{
	int n = 0;
	*ret_lost = 0;
	for (int i = 0; i < outs; i++) {
		*ret_lost += out[i].kind == EBT_LOST;
		n += out[i].kind == EBT_BEGIN;
	}
	return n;
}

static void test_pid_again(void)
{
	int lost;
	begin();
	for (uint32_t i = 0; i < 6; i++)
		push(R | (i ? 0 : EBT_F_FIRST), i, 10 + i);
	for (uint32_t i = 0; i < 6; i++)
		push_late(R | (i ? 0 : EBT_F_FIRST), i, 15);
	join_flush(join);
	ok(delivered(&lost) == 12 && !lost,
	   "another file of the pid is another ring, also if it is found late");
	is(out[6].flags & EBT_F_FIRST, 0, "no sink sees how that is known");
	end();

	begin();
	for (uint32_t i = 0; i < 6; i++)
		push(B, i, 10 + i);
	for (uint32_t i = 0; i < 9; i++)
		push_late(R | (i ? 0 : EBT_F_FIRST), i, 15);
	join_flush(join);
	ok(delivered(&lost) == 9 && !lost,
	   "a file that is found behind what BPF has seen of its ring is no other ring");
	end();

	begin();
	for (uint32_t i = 0; i < 3; i++)
		push(B, i, 10 + i);
	push_process(EBT_PROCESS_EXIT, 20);
	push_late(B, 2, 20);
	for (uint32_t i = 3; i < 9; i++)
		push(B, i, 30 + i);
	join_flush(join);
	ok(delivered(&lost) == 9 && lost == 1 && session->totals.lost_events == 3,
	   "behind a process's end its pid is another's, whatever the ordinals go on with");
	push_process(EBT_PROCESS_FORK, 50);
	push(B, 9, 51);
	join_flush(join);
	ok(delivered(&lost) == 10 && lost == 1, "a fork ends nothing");
	push_process(EBT_PROCESS_EXEC, 60);
	for (uint32_t i = 0; i < 4; i++)
		push(i % 2 ? R : B, i, 70 + i);
	join_flush(join);
	ok(delivered(&lost) == 14 && lost == 1, "another program begins anew");
	end();

	begin();
	push(R | EBT_F_FIRST, 0, 10);
	push(R, 1, 11);
	struct ebt_event ev = event(R, 0, 40);
	ev.kind = EBT_LOST;
	ev.flags = R | EBT_F_FIRST | EBT_F_HISTORY;
	ev.arg[0] = 2;
	join_events(join, &ev, 1);
	push(R, 2, 40);
	push(R, 3, 41);
	join_flush(join);
	ok(delivered(&lost) == 4 && lost == 1 && session->totals.history_events == 2,
	   "nor does another ring go on where the first one ended");
	end();
}

static void test_next_program(void)
{
	int lost = 0;
	begin();
	push(B, 4, 10);
	push_process(EBT_PROCESS_EXEC, 20);
	push(B, 2, 21);
	join_flush(join);
	ok(delivered(&lost) == 2 && lost == 2 && session->totals.history_events == 4 &&
		   session->totals.lost_events == 2,
	   "what is missing at the begin of a later program is lost, and not of before the trace");
	end();
}

/* The ring file of a program, all of whose events are late. */
static void push_late_file(int events, uint64_t ts)
{
	for (int i = 0; i < events; i++)
		push_late(R | (i ? 0 : EBT_F_FIRST), (uint32_t)i, ts);
}

/* A process executes itself without BPF: of the last program's ring the beginning is read, then the
 * files of two that were before it, then the rest. */
static void test_ring_behind_late_files(void)
{
	int lost;
	begin();
	push(R | EBT_F_FIRST, 0, 50);
	push_late_file(6, 50);
	push_late_file(4, 50);
	for (uint32_t i = 1; i < 6; i++)
		push(R, i, 60 + i);
	join_flush(join);
	is(delivered(&lost), 16, "a ring goes on behind files that are found late");
	is(lost, 0, "and none of its events is missed");
	push(R, 8, 70);
	join_flush(join);
	ok(delivered(&lost) == 17 && lost == 1 && session->totals.lost_events == 2,
	   "what it loses then is lost");
	push(R | EBT_F_FIRST, 0, 80);
	push_late_file(3, 80);
	push_process(EBT_PROCESS_EXIT, 90);
	push(R | EBT_F_FIRST, 0, 95);
	push(R, 1, 96);
	join_flush(join);
	ok(delivered(&lost) == 23 && lost == 1, "and behind its process's end another begins");
	end();
}

/* A process executes the same file again and again: BPF sees each program, and the files of their
 * rings are found late, in their order, some of them never. */
static void test_late_files(void)
{
	enum { EVENTS = 4, PROGRAMS = 6 };
	int lost;
	uint64_t ts = 10;
	begin();
	for (int program = 0; program < PROGRAMS; program++) {
		for (uint32_t i = 0; i < EVENTS; i++)
			push(B, i, ts++);
		/* None in the first two; then those of three programs at once. */
		for (int files = program == 2 ? 3 : program > 2; files; files--)
			push_late_file(EVENTS, ts);
		push_process(EBT_PROCESS_EXEC, ts++);
	}
	is(delivered(&lost), PROGRAMS * EVENTS,
	   "events of programs whose rings are read late come once");
	is(lost, 0, "and none is missed");
	/* One whose ring is read in time, behind them. */
	for (uint32_t i = 0; i < EVENTS; i++) {
		push(R | (i ? 0 : EBT_F_FIRST), i, ts);
		push(B, i, ts++);
	}
	is(delivered(&lost), (PROGRAMS + 1) * EVENTS,
	   "so do those of one whose ring is read in time");
	end();
	/* The file of the first is read while the second has had one event. */
	begin();
	for (uint32_t i = 0; i < EVENTS; i++)
		push(B, i, 10 + i);
	push_process(EBT_PROCESS_EXEC, 20);
	push(B, 0, 30);
	push_late_file(EVENTS + 1, 30);
	for (uint32_t i = 1; i < EVENTS; i++)
		push(B, i, 30 + i);
	push_late_file(EVENTS, 40);
	is(delivered(&lost), 2 * EVENTS + 1,
	   "of a file that comes when the next program runs only what BPF has not seen is new");
	is(lost, 0, "and nothing of the next one is taken for it");
	end();
}

/* More programs than the lives without a file that a ring keeps: of program N BPF sees N events,
 * and its file has one more. */
static void test_forgotten_lives(void)
{
	enum { KEPT = 16, PROGRAMS = KEPT + 1 };
	int lost, before, files = 0;
	uint64_t ts = 10;
	begin();
	for (uint32_t program = 1; program <= PROGRAMS; program++) {
		for (uint32_t i = 0; i < program; i++)
			push(B, i, ts++);
		push_process(EBT_PROCESS_EXEC, ts++);
	}
	push(B, 0, ts);
	join_flush(join);
	for (int program = PROGRAMS - KEPT + 1; program <= PROGRAMS; program++) {
		before = delivered(&lost);
		push_late_file(program + 1, ts);
		join_flush(join);
		files += delivered(&lost) == before + 1;
	}
	is(files, KEPT, "of more lives without a file the oldest is forgotten, and no other");
	is(lost, 0, "and none of their events is missed");
	end();
}

/* Of the end of a pause BPF has what the kernel counted, and the ring nothing. */
static void test_payload_of_bpf(void)
{
	static const char counts[] = "counts";
	for (int order = 0; order < 2; order++) {
		begin();
		struct ebt_event pair[2] = {event(order ? B : R, 0, 10),
					    event(order ? R : B, 0, 10)};
		struct ebt_event *of_bpf = &pair[!order];
		pair[0].kind = pair[1].kind = EBT_END;
		session_put_blob(session, of_bpf, counts, sizeof(counts));
		join_events(join, pair, 2);
		join_flush(join);
		ok(outs == 1 && out[0].flags & EBT_F_PAYLOAD && out[0].arg[1] == sizeof(counts),
		   "a payload that BPF alone has, as the counts of a pause, is kept");
		is(session_blob_bytes(session), 0, "and there is no other");
		end();
	}
}

/* BPF's half was cut, and it may come first; both may be part of what is held. */
static void test_cut_half(void)
{
	static const char whole[] = "payload", part[] = "pay";
	for (int order = 0; order < 2; order++) {
		begin();
		struct ebt_event ring = event(R, 0, 10), bpf = event(B, 0, 10);
		ring.kind = bpf.kind = EBT_CUSTOM;
		session_put_blob(session, &ring, whole, sizeof(whole));
		session_put_blob(session, &bpf, part, sizeof(part));
		bpf.flags |= EBT_F_CUT;
		join_events(join, order ? &ring : &bpf, 1);
		join_events(join, order ? &bpf : &ring, 1);
		join_flush(join);
		ok(outs == 1 && !(out[0].flags & EBT_F_CUT) && out[0].arg[1] == sizeof(whole),
		   "of a pair whose BPF half is cut the ring's payload is kept, and nothing is "
		   "cut");
		is(out[0].flags & (R | B), R | B, "it was seen by both");
		is(session_blob_bytes(session), 0, "and the other payload is given back");
		end();
	}
	for (int order = 0; order < 2; order++) {
		begin();
		push(R, 0, 5);
		join_flush(join);
		struct ebt_event pair[2] = {event(order ? B : R, 1, 10),
					    event(order ? R : B, 1, 10)};
		for (int i = 0; i < 2; i++) {
			bool is_ring = pair[i].flags & R;
			pair[i].kind = EBT_CUSTOM;
			session_put_blob(session, &pair[i], whole,
					 is_ring ? sizeof(whole) : sizeof(part));
			pair[i].flags |= is_ring ? 0 : EBT_F_CUT;
		}
		join_events(join, pair, 2);
		ok(outs == 2 && !(out[1].flags & EBT_F_CUT) && out[1].arg[1] == sizeof(whole) &&
			   !session_blob_bytes(session),
		   "a pair in one batch is delivered at once, and BPF's payload is dropped");
		end();
	}
	begin();
	struct ebt_event ring = event(R, 0, 10), bpf = event(B, 0, 10);
	ring.flags |= EBT_F_CUT;
	join_events(join, &bpf, 1);
	join_events(join, &ring, 1);
	join_flush(join);
	ok(outs == 1 && out[0].flags & EBT_F_CUT, "what the ring itself cut is cut");
	end();
}

static void test_late_half(void)
{
	struct ebt_event ring, bpf;
	begin();
	ring = event(R, 0, 10), bpf = event(B, 0, 10);
	ring.flags |= EBT_F_LATE;
	bpf.flags |= EBT_F_LATE;
	join_events(join, &ring, 1);
	join_events(join, &bpf, 1);
	join_flush(join);
	ok(outs == 1 && out[0].flags & EBT_F_LATE && out[0].tid,
	   "two halves that come late are a pair");
	end();
	begin();
	push(B, 0, 10);
	push_late_file(1, 10);
	push_process(EBT_PROCESS_EXEC, 20);
	push(B, 0, 30);
	push(B, 1, 40);
	push_late(R, 1, 40);
	push(R, 1, 40);
	join_flush(join);
	is(out[outs - 1].flags & EBT_F_LATE, 0,
	   "what has the time of the last event because it is late is no half of it");
	end();
}

static void test_others(void)
{
	begin();
	struct ebt_event ev = event(R, 0, 10);
	ev.flags = R;
	ev.pos = 77;
	join_events(join, &ev, 1);
	ev.kind = EBT_LOST;
	ev.arg[0] = EBT_LOST_UNCOUNTED;
	join_events(join, &ev, 1);
	join_flush(join);
	is(outs, 2, "events and losses of a producer that does not count pass unchanged");

	outs = 0;
	for (uint32_t pid = 1; pid <= 3; pid++) {
		ev = event(R, 0, 20);
		ev.pid = pid;
		join_events(join, &ev, 1);
		ev = event(B, 0, 20);
		ev.pid = pid;
		join_events(join, &ev, 1);
	}
	join_flush(join);
	is(outs, 3, "the same position in other processes is another event");
	outs = 0;
	for (uint32_t pid = 4; pid <= 5; pid++) {
		ev = event(pid == 4 ? R : B, 0, 20);
		ev.pid = pid;
		join_events(join, &ev, 1);
	}
	join_flush(join);
	is(outs, 2, "also if one was seen by the ring alone, the other by BPF alone");

	outs = 0;
	ev = event(B, 0, 30);
	ev.pos = EBT_NO_POS;
	ev.flags = B;
	ev.domain = EBT_NO_DOMAIN;
	for (int i = 0; i < 3; i++)
		join_events(join, &ev, 1);
	is(outs, 3, "events without a position are never taken for copies");
	end();
}

int main(void)
{
	test_pairs();
	test_one_sided();
	test_duplicates();
	test_restart_and_wrap();
	test_pid_again();
	test_next_program();
	test_late_files();
	test_ring_behind_late_files();
	test_forgotten_lives();
	test_payload_of_bpf();
	test_cut_half();
	test_late_half();
	test_others();
	return tap_done();
}
