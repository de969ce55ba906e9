/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process executes one program after the other, each with a ring file of its own. A reader finds
 * the file of the program that runs, and those of programs before it earlier or later; BPF sees all
 * programs, or none. However the reader's rounds fall, each event comes once and none is missed.
 */
#include "tests/unit/join_fixture.h"

#include <string.h>

#define PROGRAMS 6
#define EVENTS	 12
#define ROUNDS	 20000

static uint32_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

struct file {
	uint64_t from_ns; /* when its program is executed */
	uint64_t ts[EVENTS];
	uint32_t events, read; /* written by its program; read by the reader */
	bool found;
	uint32_t turn; /* of finding: late files are read in this order */
};

struct history {
	struct file file[PROGRAMS];
	uint32_t programs, found;
	uint64_t end_ns, horizon_ns; /* all before that has been emitted */
	bool bpf;
	uint32_t bpf_program, bpf_event; /* the next that BPF reports */
};

static void live(struct history *h)
{
	uint64_t now = 10;
	*h = (struct history){.programs = 1 + any(PROGRAMS), .bpf = any(2)};
	for (uint32_t p = 0; p < h->programs; p++) {
		struct file *f = &h->file[p];
		f->from_ns = now;
		f->events = any(4) ? 1 + any(EVENTS) : 0; /* some end before their first */
		f->ts[0] = now + 1;
		for (uint32_t i = 0; i < f->events; i++)
			f->ts[i] = now += 1 + any(5);
		now += 2;
	}
	h->end_ns = now;
}

static void put(struct history *h, uint16_t flags, uint32_t program, uint32_t seq)
{
	const struct file *f = &h->file[program];
	struct ebt_event ev = event(flags, seq, f->ts[seq]);
	ev.arg[0] = program * EVENTS + seq;
	if (ev.ts < h->horizon_ns) {
		ev.ts = h->horizon_ns;
		ev.flags |= EBT_F_LATE;
	}
	if (flags & R && !seq)
		ev.flags |= EBT_F_FIRST;
	join_events(join, &ev, 1);
}

static void put_exec(const struct history *h, uint32_t program)
{
	struct ebt_event ev = {.ts = h->file[program].from_ns,
			       .pos = EBT_NO_POS,
			       .pid = 9,
			       .domain = EBT_NO_DOMAIN,
			       .kind = EBT_PROCESS,
			       .id = EBT_PROCESS_EXEC,
			       .flags = B};
	join_events(join, &ev, 1);
}

/* The program that runs, and any of those before it, which are found in their order. */
static void find(struct history *h, uint64_t now)
{
	uint32_t runs = 0;
	for (uint32_t p = 0; p < h->programs && h->file[p].from_ns < now; p++)
		runs = p;
	bool before = any(2);
	for (uint32_t p = 0; p <= runs; p++) {
		struct file *f = &h->file[p];
		if (!f->found && f->ts[0] < now && (p == runs || before)) {
			f->found = true;
			f->turn = ++h->found;
		}
	}
}

/* What files hold of before the horizon: file by file. */
static void read_late(struct history *h)
{
	for (uint32_t turn = 1; turn <= h->found; turn++)
		for (uint32_t p = 0; p < h->programs; p++) {
			struct file *f = &h->file[p];
			while (f->turn == turn && f->read < f->events &&
			       f->ts[f->read] < h->horizon_ns)
				put(h, R, p, f->read++);
		}
}

/* The rest up to now in the order of time, of pairs either half first. */
static void read_new(struct history *h, uint64_t now)
{
	for (uint64_t ts = h->horizon_ns; ts < now; ts++)
		for (uint32_t p = 0; p < h->programs; p++) {
			struct file *f = &h->file[p];
			bool of_bpf = h->bpf && h->bpf_program == p && h->bpf_event < f->events &&
				      f->ts[h->bpf_event] == ts;
			bool of_ring = f->found && f->read < f->events && f->ts[f->read] == ts;
			bool bpf_first = any(2);
			if (h->bpf && p && f->from_ns == ts) {
				put_exec(h, p);
				h->bpf_program = p;
				h->bpf_event = 0;
			}
			if (of_bpf && bpf_first)
				put(h, B, p, h->bpf_event);
			if (of_ring)
				put(h, R, p, f->read++);
			if (of_bpf && !bpf_first)
				put(h, B, p, h->bpf_event);
			h->bpf_event += of_bpf;
		}
	h->horizon_ns = now;
}

/* Whether each event came once, and no loss. */
static bool is_whole(const struct history *h)
{
	unsigned came[PROGRAMS * EVENTS] = {0};
	bool good = true;
	for (int i = 0; i < outs; i++) {
		if (out[i].kind == EBT_BEGIN)
			came[out[i].arg[0]]++;
		good &= out[i].kind != EBT_LOST;
	}
	for (uint32_t p = 0; p < h->programs; p++)
		for (uint32_t i = 0; i < h->file[p].events; i++)
			good &= came[p * EVENTS + i] == 1;
	return good;
}

static bool round_is_right(bool *ret_bpf)
{
	struct history h;
	live(&h);
	begin();
	uint64_t now = 10;
	while (now < h.end_ns) {
		now += 1 + any(30);
		find(&h, now);
		read_late(&h);
		read_new(&h, now);
		if (any(2))
			join_flush(join);
	}
	for (uint32_t p = 0; p < h.programs; p++)
		if (!h.file[p].found) {
			h.file[p].found = true;
			h.file[p].turn = ++h.found;
		}
	read_late(&h);
	join_flush(join);
	bool good = is_whole(&h);
	*ret_bpf = h.bpf;
	end();
	return good;
}

int main(void)
{
	unsigned wrong[2] = {0}, first[2] = {0};
	for (unsigned i = 1; i <= ROUNDS; i++) {
		bool bpf;
		seed = i;
		if (!round_is_right(&bpf)) {
			first[bpf] = wrong[bpf] ? first[bpf] : i;
			wrong[bpf]++;
		}
	}
	ok(!wrong[0], "rings alone: in %u histories each event comes once, and none is missed",
	   ROUNDS / 2);
	ok(!wrong[1], "rings and BPF: so it is in as many");
	diag("wrong: %u from %u on, %u from %u on", wrong[0], first[0], wrong[1], first[1]);
	return tap_done();
}
