// SPDX-License-Identifier: BSD-2-Clause
/* What the kernel counts of a pause, from the payload of a record to the arguments of its end. */
#include <unistd.h>

#include "base/log.h"
#include "bpf/abi.h"
#include "session/pause_counts.h"
#include "source/bpf/records.h"
#include "tests/tap.h"

static struct session *session;
static struct bpf_traced traced;
static struct bpf_lanes lanes;
static struct bpf_losses losses;
static struct bpf_records s;

static void begin(void)
{
	uint32_t we;
	if (session_new(&session) || bpf_lanes_init(&lanes) ||
	    processes_of(&session->processes, (uint32_t)getpid(), &we))
		abort();
	bpf_traced_init(&traced, &(struct bpf_traced_options){.processes = &session->processes},
			&(struct bpf_scanner){0});
	bpf_losses_init(&losses, &lanes, &traced, 0);
	if (bpf_traced_reserve_slot(&traced) || !bpf_traced_add(&traced, 0, getpid(), we))
		abort();
	bpf_records_init(&s, &(struct bpf_records_options){.session = session,
							   .traced = &traced,
							   .lanes = &lanes,
							   .losses = &losses,
							   .queue_bytes = 1 << 20});
	bpf_records_begin_poll(&s, UINT64_MAX);
}

/* The event of a record of this kind with so many bytes of the counts as its payload. */
static struct ebt_event receive(uint16_t kind, const struct ebt_pause_counts *counted, size_t bytes)
{
	struct {
		struct ebt_marker_record rec;
		struct ebt_pause_counts counted;
	} r = {{.head = {.type = EBT_RECORD_MARKER, .site = kind, .size = (uint16_t)bytes},
		.ts = 10,
		.pos = EBT_NO_POS,
		.ring = EBT_NO_DOMAIN},
	       *counted};
	struct ebt_event ev;
	if (bpf_records_receive(&s, &r, sizeof(r.rec) + bytes) ||
	    bpf_lanes_read(&lanes, 0, UINT64_MAX, &ev, 1) != 1)
		abort();
	return ev;
}

int main(void)
{
	struct ebt_pause_counts counted = {1, 2, 3, 4, 5, 6, 7};
	struct pause_counts u;
	log_level = LOG_QUIET;
	begin();

	struct ebt_event ev = receive(EBT_END, &counted, sizeof(counted));
	ok(pause_counts_get(session, &ev, &u) && u.count[PAUSE_RUN_DELAY] == 1 &&
		   u.count[PAUSE_VOLUNTARY] == 2 && u.count[PAUSE_INVOLUNTARY] == 3 &&
		   u.count[PAUSE_MINOR_FAULTS] == 4 && u.count[PAUSE_MAJOR_FAULTS] == 5 &&
		   u.count[PAUSE_MIGRATIONS] == 6 && u.count[PAUSE_FAULT_NS] == 7,
	   "the end of a pause has what was counted in it");
	ok(!s.lacks_counts, "nothing lacks");
	session_drop_event(session, &ev);

	counted.run_delay = EBT_PAUSE_UNKNOWN;
	ev = receive(EBT_END, &counted, sizeof(counted));
	ok(pause_counts_get(session, &ev, &u) && u.count[PAUSE_RUN_DELAY] == PAUSE_UNKNOWN &&
		   u.count[PAUSE_VOLUNTARY] == 2,
	   "what the kernel does not count is not known, and the rest is");
	ok(s.lacks_counts, "which is said");
	session_drop_event(session, &ev);

	ev = receive(EBT_END, &counted, sizeof(counted) - 8);
	ok(!pause_counts_get(session, &ev, &u), "a payload that is too short has no counts");
	ev = receive(EBT_INT, &counted, sizeof(counted));
	ok(!(ev.flags & EBT_F_PAYLOAD), "nor has that of another event");

	bpf_records_done(&s);
	bpf_traced_done(&traced);
	bpf_lanes_done(&lanes);
	session_free(session);
	return tap_done();
}
