/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the losses of the BPF source are, without the kernel: records are made here. A model of the
 * ring buffer drops events of several lanes at random, while their times, their records and the
 * reader go past each other as they do on a busy machine; in the merged order each lane must have a
 * loss between two events if anything of it is missing there.
 */
#include <errno.h>
#include <unistd.h>

#include <ebtrace/ring.h>

#include "bpf/abi.h"
#include "source/bpf/records.h"
#include "tests/tap.h"

static struct session *session;
static struct bpf_traced traced;
static struct bpf_lanes lanes;
static struct bpf_losses losses;
static struct bpf_records s;
static uint32_t process[2];

static void begin(unsigned processes)
{
	if (session_new(&session) || bpf_lanes_init(&lanes))
		abort();
	bpf_traced_init(&traced, &(struct bpf_traced_options){.processes = &session->processes},
			&(struct bpf_scanner){0});
	bpf_losses_init(&losses, &lanes, &traced, 0);
	for (unsigned i = 0; i < processes; i++)
		if (processes_of(&session->processes, (uint32_t)getpid() + i, &process[i]) ||
		    bpf_traced_reserve_slot(&traced) != (int)i ||
		    !bpf_traced_add(&traced, i, getpid() + (int)i, process[i]))
			abort();
	bpf_records_init(&s, &(struct bpf_records_options){.session = session,
							   .traced = &traced,
							   .lanes = &lanes,
							   .losses = &losses,
							   .queue_bytes = 1 << 26});
	bpf_records_begin_poll(&s, UINT64_MAX);
}

static void finish(void)
{
	bpf_traced_done(&traced);
	bpf_lanes_done(&lanes);
	session_free(session);
}

static void receive(uint32_t slot, uint16_t domain, uint32_t tid, uint64_t ts, uint32_t dropped)
{
	struct ebt_marker_record rec = {
		.head = {.type = EBT_RECORD_MARKER, .slot = slot, .site = EBT_BEGIN, .tid = tid},
		.ts = ts,
		.dropped = dropped,
		.pos = EBT_NO_POS,
		.ring = domain,
	};
	if (bpf_records_receive(&s, &rec, sizeof(rec)))
		abort();
}

/* The events of a lane: "TS", or "since-ts:lost" with a ! if no process is known. */
static const char *taken(uint32_t lane)
{
	static char text[512];
	struct ebt_event ev[16];
	size_t len = 0, n = bpf_lanes_read(&lanes, lane, UINT64_MAX, ev, 16);
	text[0] = 0;
	for (size_t i = 0; i < n; i++) {
		char *at = text + len;
		size_t room = sizeof(text) - len;
		if (ev[i].kind == EBT_LOST)
			len += (size_t)snprintf(at, room, " %llu-%llu:%lld%s%s",
						(unsigned long long)EBT_LOST_SINCE(&ev[i]),
						(unsigned long long)ev[i].ts,
						(long long)ev[i].arg[0], ev[i].process ? "" : "!",
						ev[i].domain == EBT_NO_DOMAIN ? "" : "d");
		else
			len += (size_t)snprintf(at, room, " %llu", (unsigned long long)ev[i].ts);
	}
	return *text ? text + 1 : text;
}

static void test_counted(void)
{
	begin(2);
	ok(!bpf_losses_count(&losses, 0, 90, 100) && !*taken(0),
	   "nothing was dropped, nothing is lost");
	receive(0, 0, 1, 110, 0);
	receive(0, 0, 1, 150, 7);
	receive(0, 0, 1, 160, 7);
	is_str(taken(1), "110 110-150:7! 150 160",
	       "what was dropped is lost between the records that have the counts, whosever it "
	       "was");
	ok(!bpf_losses_count(&losses, 9, 200, 205),
	   "what no record follows is counted by the poll");
	is_str(taken(0), "160-205:2!", "from the last record to the time behind the count");
	ok(!bpf_losses_count(&losses, 9, 300, 305) && !*taken(0), "each once");
	ok(!bpf_losses_count(&losses, 10, 400, 405), "and what was dropped later");
	is_str(taken(0), "300-405:1!", "was dropped since the count before");
	receive(9, 0, 1, 450, 10);
	ok(!bpf_losses_count(&losses, 10, 500, 505),
	   "an event of a process that is not known is lost");
	is_str(taken(0), "400-505:1!", "too");
	ok(!bpf_losses_count(&losses, 10, 600, 605) && !*taken(0), "and reported once");
	receive(9, 0, 1, 650, 10);
	receive(0, 0, 1, 680, 10);
	ok(!bpf_losses_count(&losses, 10, 700, 705),
	   "one that came before the last record of those that are known");
	is_str(taken(0), "600-705:1!", "was lost since the count before");
	finish();

	begin(1);
	receive(0, EBT_NO_DOMAIN, 1, 110, 0);
	receive(0, EBT_NO_DOMAIN, 1, 150, 1);
	is_str(taken(0), "110 110-150:1 150", "where one process is traced it is its own");
	finish();

	begin(1);
	bpf_records_begin_poll(&s, 1000);
	receive(0, 0, 1, 900, 0);
	receive(0, 0, 1, 5000, 0);
	ok(!bpf_losses_count(&losses, 2, 950, 1100),
	   "a time behind the poll is one that the program made up");
	is_str(taken(0), "900-1100:2", "no loss begins there");
	finish();
}

static void test_cut(void)
{
	begin(1);
	receive(0, 0, 1, 100, 0);
	receive(0, 1, 2, 140, 0);
	receive(0, 0, 1, 130, 3);
	receive(0, 1, 2, 150, 3);
	is_str(taken(1), "100 130-130:3 130", "a lane that finds the loss has it");
	is_str(taken(2), "140 140-150:0d 150",
	       "one whose last event is later than it has a loss of its own, of none");
	receive(0, 0, 1, 160, 5);
	receive(0, 1, 2, 170, 5);
	is_str(taken(2), "170", "but not one that the counted loss cuts");
	receive(0, 2, 3, 180, 5);
	is_str(taken(3), "180", "nor one that begins");
	finish();

	begin(1);
	receive(0, EBT_NO_DOMAIN, 1, 100, 0);
	receive(0, EBT_NO_DOMAIN, 2, 140, 0);
	receive(0, EBT_NO_DOMAIN, 1, 130, 3);
	receive(0, EBT_NO_DOMAIN, 2, 150, 3);
	is_str(taken(0), "100 130-130:3 130 140 140-150:0 150",
	       "threads outside of any domain have each a last event");
	finish();

	struct ebt_event ev[16];
	begin(1);
	receive(0, EBT_NO_DOMAIN, 1, 100, 0);
	receive(0, EBT_NO_DOMAIN, 2, 140, 0);
	receive(0, EBT_NO_DOMAIN, 1, 130, 3);
	receive(0, EBT_NO_DOMAIN, 2, 150, 3);
	ok(bpf_lanes_read(&lanes, 0, UINT64_MAX, ev, 16) == 6 && ev[4].kind == EBT_LOST &&
		   ev[4].tid == 2 && ev[4].domain == EBT_NO_DOMAIN && ev[1].kind == EBT_LOST &&
		   !ev[1].tid,
	   "a loss that cuts one thread alone names it");
	finish();
}

/* ---- a model ---- */

#define LANES  6
#define EVENTS 60000

static uint32_t seed;
static uint32_t any(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

struct made {
	uint64_t ts;
	uint32_t lane, dropped;
};

/* What an event's time hides from the reader: how many of its lane had been dropped before it. */
static uint64_t dropped_before[EVENTS];

/* Each thread takes a time, may be interrupted, then reserves a record, and may be interrupted
 * again before it reads the count. Returns how many events were dropped. */
static uint32_t make(struct made *ret, uint32_t *ret_count)
{
	struct {
		int step;
		uint64_t ts;
		uint32_t at, of_lane;
	} t[LANES] = {0};
	uint32_t dropped = 0, n = 0;
	bool full = false;
	for (uint64_t now = 1; now <= EVENTS; now++) {
		uint32_t i = any(LANES);
		if (!any(20))
			full = !full;
		switch (t[i].step) {
		case 0:
			t[i].ts = now;
			break;
		case 1:
			if (full) {
				dropped++;
				t[i].of_lane++;
				t[i].step = -1;
				break;
			}
			t[i].at = n;
			dropped_before[t[i].ts - 1] = t[i].of_lane;
			ret[n++] = (struct made){t[i].ts, i, 0};
			break;
		case 2:
			ret[t[i].at].dropped = dropped;
			t[i].step = -1;
			break;
		}
		t[i].step++;
	}
	for (uint32_t i = 0; i < LANES; i++)
		if (t[i].step == 2)
			ret[t[i].at].dropped = dropped;
	*ret_count = n;
	return dropped;
}

/* Merges the lanes by time; where times are equal the first lane is first, or the last. Returns the
 * events that pair across a hole of their lane; *ret_lost: the sum of the losses. */
static unsigned count_wrong(bool last_first, uint64_t *ret_lost)
{
	static struct ebt_event ev[LANES + 1][2 * EVENTS];
	size_t at[LANES + 1] = {0}, n[LANES + 1];
	struct ebt_event last[LANES] = {0};
	bool cut[LANES] = {0};
	unsigned wrong = 0;
	*ret_lost = 0;
	for (uint32_t l = 0; l < lanes.lanes; l++)
		n[l] = bpf_lanes_read(&lanes, l, UINT64_MAX, ev[l], 2 * EVENTS);
	for (;;) {
		int first = -1;
		for (int l = 0; l < (int)lanes.lanes; l++)
			if (at[l] < n[l] &&
			    (first < 0 || ev[l][at[l]].ts < ev[first][at[first]].ts ||
			     (last_first && ev[l][at[l]].ts == ev[first][at[first]].ts)))
				first = l;
		if (first < 0)
			return wrong;
		const struct ebt_event *e = &ev[first][at[first]++];
		uint32_t lane = e->domain == EBT_NO_DOMAIN ? e->tid : e->domain;
		bool is_loss = e->kind == EBT_LOST;
		*ret_lost += is_loss ? e->arg[0] : 0;
		wrong += is_loss && EBT_LOST_SINCE(e) > e->ts;
		for (uint32_t i = 0; is_loss && i < LANES; i++)
			cut[i] |= e->domain == EBT_NO_DOMAIN || lane == i;
		if (is_loss)
			continue;
		bool hole = last[lane].ts &&
			    dropped_before[e->ts - 1] != dropped_before[last[lane].ts - 1];
		wrong += hole && !cut[lane];
		cut[lane] = false;
		last[lane] = *e;
	}
}

/* domains: lanes below this are domains, the others threads outside of any. */
static void test_model(uint32_t domains, bool last_first)
{
	static struct made made[EVENTS];
	unsigned wrong = 0, wrong_sums = 0;
	for (seed = 1; seed <= 20; seed++) {
		uint32_t was = seed, n, polled = 0;
		begin(1);
		uint64_t dropped = make(made, &n), lost;
		for (uint32_t i = 0; i < n; i++) {
			bool of_domain = made[i].lane < domains;
			receive(0, of_domain ? (uint16_t)made[i].lane : EBT_NO_DOMAIN,
				of_domain ? 100 : made[i].lane, made[i].ts, made[i].dropped);
			/* A poll counts before it reads, and its time is no later than its
			 * count. */
			if (!any(50) && made[i].dropped > polled) {
				polled = made[i].dropped;
				bpf_losses_count(&losses, polled, made[i].ts, made[i].ts);
			}
		}
		bpf_losses_count(&losses, dropped, EVENTS, EVENTS);
		wrong += count_wrong(last_first, &lost);
		wrong_sums += lost != dropped;
		finish();
		seed = was;
	}
	ok(!wrong, "with %u domains of %u lanes, %s first: no event follows one from before a hole",
	   domains, LANES, last_first ? "the last lane" : "the first lane");
	is(wrong_sums, 0, "and each dropped event is counted once");
}

int main(void)
{
	test_counted();
	test_cut();
	for (uint32_t domains = 0; domains <= LANES; domains += 3) {
		test_model(domains, false);
		test_model(domains, true);
	}
	return tap_done();
}
