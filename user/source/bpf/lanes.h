/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events received from the BPF ring buffer and not read yet. Each domain of each process has a
 * lane, a queue: a domain is one thread at a time, so its events arrive in order of time. Lane 0
 * has all events of threads that have no ring, and sorts them by time. Memory is proportional to
 * the events that wait. Lanes never end before their source: when the slot of a process is
 * released, its lanes are reused.
 */
#ifndef SOURCE_BPF_LANES_H
#define SOURCE_BPF_LANES_H

#include <ebtrace/event.h>
#include <stdbool.h>
#include <stddef.h>

/* The last event that came of a domain or thread, and the count of its record (bpf/abi.h). */
struct bpf_last {
	uint64_t ts;
	uint32_t dropped;
	bool is_known;
};

struct bpf_lane {
	struct ebt_event *ev; /* [first, first + count) are waiting */
	size_t first, count, cap;
	uint64_t newest_ns; /* of its events since it was given to a domain */
	uint32_t next_free; /* lane 0 ends the list */
	bool is_filled;	    /* it is among `filled` */
	struct bpf_last last;
};

struct bpf_lanes {
	struct bpf_lane *lane;
	uint32_t lanes;
	uint32_t first_free; /* 0: none */
	size_t waiting;	     /* in all of them */
	uint32_t *filled;    /* of bpf_lanes_wakes(); room for all */
	uint32_t filled_count, wake_at;
	struct bpf_slot_lanes *slot;
	uint32_t slots;
};

int bpf_lanes_init(struct bpf_lanes *l); /* makes lane 0; 0 or -ENOMEM */
void bpf_lanes_done(struct bpf_lanes *l);
/* Queues an event of a process; domains that cannot be go to lane 0. 0 or -ENOMEM. */
int bpf_lanes_add(struct bpf_lanes *l, uint32_t slot, const struct ebt_event *ev);
/* Queues it in the lane of a domain of the process. 0 or -ENOMEM. */
int bpf_lanes_put(struct bpf_lanes *l, uint32_t slot, uint16_t domain, const struct ebt_event *ev);
/* What is known of the domain, or of the thread outside of any, which the caller keeps up to date:
 * valid until the next call. NULL: no memory. */
struct bpf_last *bpf_lanes_last(struct bpf_lanes *l, uint32_t slot, uint16_t domain, uint32_t tid);
/* Reads up to `cap` events, of lane 0 only those up to `until` ns. */
size_t bpf_lanes_read(struct bpf_lanes *l, uint32_t lane, uint64_t until, struct ebt_event *ev,
		      size_t cap);
/* From wake_at 0 on: lane 0, which may hold events that are too new, and each lane that has been
 * empty and has had events since it was returned last; or all lanes. False: there is no other. */
bool bpf_lanes_wakes(struct bpf_lanes *l, bool all, uint32_t *ret);
/* Releases the lanes of a process. No event of it is newer than end_ns. False, and nothing is done,
 * while events of it may wait. A lane with an event that claims to be of after now_ns is not
 * reused; *ret_future: there is such a lane, and its event may not have been emitted yet. */
bool bpf_lanes_release(struct bpf_lanes *l, uint32_t slot, uint64_t end_ns, uint64_t now_ns,
		       bool *ret_future);

#endif
