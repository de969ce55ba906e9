/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was lost on the way from the BPF programs, as EBT_LOST events in their place in time. Each
 * record has the count of the events that had been dropped when it was reserved (bpf/abi.h):
 *
 *   counted   The first record with a higher count is preceded by a loss of the difference, of the
 *             process if only one is traced, in the lane of the record and of its time. It cuts
 *             all spans that no ring has. Events dropped behind the last record are counted at
 *             the end of a poll.
 *   cut       Lanes are not in the order of the records. Where the count has grown between two
 *             events of a lane, and no counted loss is between their times, a loss of 0 events
 *             precedes the second one: of the domain, or of the process for threads outside of any.
 *
 * So a lane has a loss between two events if anything of it may be missing there, wherever the
 * tracer was when it was dropped. `since` is a time before which none of it was dropped.
 */
#ifndef SOURCE_BPF_LOSSES_H
#define SOURCE_BPF_LOSSES_H

#include <ebtrace/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "source/bpf/lanes.h"
#include "source/bpf/traced.h"

/* Fields are private. */
struct bpf_losses {
	struct bpf_lanes *lanes;
	const struct bpf_traced *traced;
	uint64_t poll_ns;  /* when the current poll began */
	uint64_t strays;   /* events of unknown processes that are in no ring */
	uint64_t reported; /* of these */
	uint64_t seen;	   /* dropped events that a counted loss has reported */
	uint64_t since_ns; /* all others were dropped later */
	uint64_t read_ns;  /* all records from before were received, unless strays are among them */
	uint64_t last_ns;  /* of the last counted loss; 0: none */
	uint64_t hold_ns;  /* counts are reported so rarely, unless a record follows them */
	bool is_here;	   /* the last record was preceded by one, in its lane */
};

/* Losses are queued in these lanes; nothing was dropped before begin_ns. Both must outlive *l. */
void bpf_losses_init(struct bpf_losses *l, struct bpf_lanes *lanes, const struct bpf_traced *traced,
		     uint64_t begin_ns);
void bpf_losses_begin_poll(struct bpf_losses *l, uint64_t now_ns);
/* A record of a lane with this count of dropped events was received. 0 or -ENOMEM. */
int bpf_losses_record(struct bpf_losses *l, uint32_t slot, uint16_t domain, uint64_t ts,
		      uint32_t dropped);
/* The event of such a record is queued next, of the program and in no ring. 0 or -ENOMEM. */
int bpf_losses_event(struct bpf_losses *l, uint32_t slot, const struct ebt_event *ev,
		     uint32_t dropped);
/* An event of an unknown process was received that is in no ring: the next count reports it. */
void bpf_losses_stray(struct bpf_losses *l);
/* dropped: the number of events dropped so far, read between from_ns and now_ns; all records that
 * were there have been received. Reports those that no record has followed. 0 or -ENOMEM. */
int bpf_losses_count(struct bpf_losses *l, uint64_t dropped, uint64_t from_ns, uint64_t now_ns);
/* A process ran from since_ns to until_ns without its probes: emitted as history. 0 or -ENOMEM. */
int bpf_losses_unwatched(struct bpf_losses *l, uint32_t process, uint64_t since_ns,
			 uint64_t until_ns);
/* The probes of a process were gone between these times. 0 or -ENOMEM. */
int bpf_losses_cut(struct bpf_losses *l, uint32_t process, uint64_t since_ns, uint64_t until_ns);
/* Children of traced processes were not traced: what they did since then is lost. 0 or -ENOMEM. */
int bpf_losses_children(struct bpf_losses *l, uint64_t since_ns);

#endif
