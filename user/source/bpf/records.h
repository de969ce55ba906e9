/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each type of record of the BPF ring buffer does: events go to lanes, with what was lost
 * before them, forks, execs and exits to the table of traced processes, and changes of rings to
 * their reader. Records that take their time wait in a spool, while the ring buffer is drained.
 */
#ifndef SOURCE_BPF_RECORDS_H
#define SOURCE_BPF_RECORDS_H

#include <ebtrace/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/session.h"
#include "source/bpf/counted.h"
#include "source/bpf/event_stacks.h"
#include "source/bpf/lanes.h"
#include "source/bpf/losses.h"
#include "source/bpf/spool.h"
#include "source/bpf/traced.h"
#include "source/bpf/usdt_events.h"

/* All that the pointers point to outlives the records. */
struct bpf_records_options {
	struct session *session;
	struct bpf_traced *traced;
	struct bpf_lanes *lanes;
	struct bpf_losses *losses;
	struct code_frames *code;
	struct event_stacks *stacks; /* NULL: no event gets a stack */
	struct page_spaces *pages;   /* NULL: pages are not watched */
	struct bpf_counted *counted; /* NULL: events are not counted in maps */
	struct usdt_events *usdt;    /* NULL: the user asks for no markers */
	/* Limit of received events that are not read yet: beyond it records stay in the kernel. */
	size_t queue_bytes;
	int64_t boottime_offset_ns;	    /* of the starts in /proc, from those in records */
	bool threads;			    /* records say when processes begin threads */
	uint64_t sample_ns;		    /* that a sample represents */
	bool offcpu_domain;		    /* times without a CPU have the domain, if a stack */
	const struct bpf_kernel *stacks_of; /* samples get the stacks of the kernel; NULL: none */
};

/* Read it, but do not write it. */
struct bpf_records {
	struct bpf_records_options opt;
	struct kernel_stacks *kernel_stacks; /* NULL: samples get none */
	uint64_t events;		     /* received */
	uint64_t started_ns;		     /* of the current poll */
	uint64_t retry_ns; /* until then a record that was put off is not dispatched again */
	uint64_t
		/* ts of the last record; records are in the order of their reservation */
		received_ns;
	uint32_t dropped; /* of the current record */
	struct bpf_spool spool;
	uint64_t until_ns; /* when removing the probes began; 0: not yet */
	bool stopped;
	bool lacks_counts; /* the kernel does not count all of a pause; it has been said */
};

/* 0 or -ENOMEM; done() follows either. */
int bpf_records_init(struct bpf_records *s, const struct bpf_records_options *opt);
void bpf_records_done(struct bpf_records *s);
void bpf_records_begin_poll(struct bpf_records *s, uint64_t now_ns);
/* The removal of probes begins: from then on events are not complete, and ignored. */
void bpf_records_until(struct bpf_records *s, uint64_t now_ns);
/* The probes are removed: what is left is received whatever room it needs, and no process is
 * added. */
void bpf_records_stop(struct bpf_records *s);
/* Dispatches a record. ctx: a struct bpf_records. 0; -ENOBUFS: the queues are full now; or
 * -errno. */
int bpf_records_receive(void *ctx, const void *data, size_t size);
/* A callback of bpf_channel_read(): dispatches the record, or spools one that takes its time and
 * all behind it. -ENOBUFS: there is no more room; records stay in the kernel, which counts those
 * that it drops. */
int bpf_records_take(void *ctx, const void *data, size_t size);
/* Dispatches spooled records until then. 1: some are left; 0; -ENOBUFS: the queues are full;
 * -EAGAIN: the next waits for symbols; or -errno. */
int bpf_records_dispatch(struct bpf_records *s, uint64_t until_ns);
/* Queues an event outside of any domain. 0 or -ENOMEM. */
int bpf_records_emit(struct bpf_records *s, const struct ebt_event *ev);
/* Memory of received events that are not read yet, in bytes. */
size_t bpf_records_bytes(const struct bpf_records *s);

#endif
