/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dispatches the records of the BPF ring buffer: events to lanes, forks, execs and exits to the
 * table of traced processes, and changes of rings to the callback of their reader.
 */
#ifndef SOURCE_BPF_RECORDS_H
#define SOURCE_BPF_RECORDS_H

#include <ebtrace/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/session.h"
#include "source/bpf/lanes.h"
#include "source/bpf/spool.h"
#include "source/bpf/traced.h"

/* Fields are private, but for strays and poll_ns. */
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
	bool is_here;	   /* the last record was preceded by one, in its lane */
};
/* At now_ns so many events had been dropped, at from_ns not more; all records that were there have
 * been received. 0 or -ENOMEM. */
int bpf_losses_count(struct bpf_losses *l, uint64_t dropped, uint64_t from_ns, uint64_t now_ns);
/* Losses are queued in these lanes; nothing was dropped before begin_ns. Both must outlive *l. */
void bpf_losses_init(struct bpf_losses *l, struct bpf_lanes *lanes, const struct bpf_traced *traced,
		     uint64_t begin_ns);
/* A process ran from since_ns to until_ns without its probes: emitted as history. 0 or -ENOMEM. */
int bpf_losses_unwatched(struct bpf_losses *l, uint32_t process, uint64_t since_ns,
			 uint64_t until_ns);
/* The probes of a process were gone between these times. 0 or -ENOMEM. */
int bpf_losses_cut(struct bpf_losses *l, uint32_t process, uint64_t since_ns, uint64_t until_ns);
/* Children of traced processes were not followed: what they did since then is lost. 0 or
 * -ENOMEM. */
int bpf_losses_children(struct bpf_losses *l, uint64_t since_ns);

/* Changes that the reader of rings is notified of. */
enum bpf_change {
	BPF_RING_STARTED,
	BPF_RING_STOPPED,
	BPF_RING_FILLS, /* another part of a ring was written: read it before it wraps */
	BPF_RING_NEEDED, /* its ring alone has what it does from ts on; 0: what it did before its probes stood */
	BPF_FORKED, /* pid is the child */
	BPF_EXECED,
	BPF_EXITED,
};

struct bpf_records {
	struct session *session;
	struct bpf_traced traced;
	struct bpf_lanes lanes;
	struct code_frames *code;    /* the owner of this frees it */
	struct event_stacks *stacks; /* likewise; NULL: no event gets a stack */
	struct page_spaces *pages;   /* likewise; NULL: pages are not watched */
	size_t queue_bytes; /* limit of received events not read yet: beyond it records stay in the kernel */
	/* ts: when it changed, ns; 0: not known. May be NULL. */
	void (*changed)(void *ctx, pid_t pid, enum bpf_change change, uint64_t ts);
	void *ctx;
	uint64_t events;     /* received */
	uint64_t started_ns; /* of the current poll */
	uint64_t retry_ns;   /* until then a record that was put off is not looked at again */
	uint64_t
		received_ns; /* ts of the last record; records are in the order of their reservation */
	uint32_t dropped;    /* of the current record */
	struct bpf_spool spool;
	struct bpf_losses losses;
	uint64_t until_ns;	    /* when removing the probes began; 0: not yet */
	int64_t boottime_offset_ns; /* of the starts in /proc, from those in records */
	bool threads;		    /* records say when processes begin threads */
	bool stopped;
	bool lacks_usage; /* the kernel does not count all; it has been said */
	int error;	  /* the first one of events that no record stands for: poll() returns it */
};

/* How a process came to be. */
struct bpf_birth {
	const struct bpf_process *parent; /* NULL: not known */
	struct process_start start;
	uint64_t ts;		/* of the fork; 0: it gets its links when it has called exec */
	bool shares_memory;	/* with its parent, until it calls exec */
	int64_t clock_ahead_ns; /* as of struct process */
};

/* Dispatches a record. ctx: a struct bpf_records. 0; -ENOBUFS: the queues are full now; or -errno. */
int bpf_records_receive(void *ctx, const void *data, size_t size);
/* A callback of bpf_channel_read(): dispatches the record, or spools one that takes its time and all
 * behind it. -ENOBUFS: there is no more room; records stay in the kernel, which counts those that it
 * drops. */
int bpf_records_take(void *ctx, const void *data, size_t size);
/* Dispatches spooled records until then. 1: some are left; 0; -ENOBUFS: the queues are full; -EAGAIN: the
 * next waits for symbols; or -errno. */
int bpf_records_dispatch(struct bpf_records *s, uint64_t until_ns);
/* Adds a living process that is not traced, in a reserved slot. start: NULL if
 * not known. NULL: no memory. */
struct bpf_process *bpf_records_add(struct bpf_records *s, pid_t pid, uint32_t slot,
				    const struct process_start *start);
/* The process has ended, at ts. */
void bpf_records_end(struct bpf_records *s, struct bpf_process *proc, uint64_t ts);
/* Queues an event outside of any domain. 0 or -ENOMEM. */
int bpf_records_emit(struct bpf_records *s, const struct ebt_event *ev);
/* A process that the kernel follows already in this slot: it gets its links at the next
 * bpf_traced_scan_young(). */
void bpf_records_add_child(struct bpf_records *s, pid_t pid, uint32_t slot,
			   const struct bpf_birth *birth);
/* Memory of received events that are not read yet, in bytes. */
size_t bpf_records_bytes(const struct bpf_records *s);

#endif
