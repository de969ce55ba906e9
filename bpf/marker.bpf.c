// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * The program of every marker of provider `ebtrace`. All markers have their arguments in the same
 * registers, so one program copies them straight from pt_regs, and the cookie identifies the
 * marker: half the cost of decoding argument strings. The registers belong to the traced program,
 * which may be hostile: they are copied, never trusted.
 */
#include "channel.bpf.h"
#include "counts.bpf.h"
#include "foreign.bpf.h"
#include "pause.bpf.h"
#include "phases.bpf.h"
#include "registers.bpf.h"
#include "stacks.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct pause);
} ebt_pauses SEC(".maps");

static __always_inline void fill(struct ebt_marker_record *rec, const struct pt_regs *regs,
				 uint64_t cookie, uint64_t ts)
{
	channel_head(&rec->head, EBT_RECORD_MARKER, (uint32_t)(cookie >> 16), (uint16_t)cookie);
	rec->ts = ts;
	rec->dropped = channel_dropped();
	rec->pos = REGS_POS(regs);
	rec->ring = REGS_RING(regs);
	rec->id = (uint32_t)REGS_ID(regs);
	rec->value = REGS_VALUE(regs);
}

static __always_inline int emit(const struct pt_regs *regs, uint64_t cookie, uint64_t ts)
{
	struct ebt_marker_record *rec = channel_reserve(sizeof(*rec), REGS_POS(regs));
	if (!rec) {
		channel_drop_event(REGS_POS(regs));
		return 0;
	}
	fill(rec, regs, cookie, ts);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The phases of a thread, which nest: the first one that stops the mutator begins its pause. */
static __always_inline int emit_begin(const struct pt_regs *regs, uint64_t cookie, uint64_t ts)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t phase = (uint32_t)REGS_ID(regs);
	if (phase_stops(0, phase)) {
		struct pause *p =
			bpf_task_storage_get(&ebt_pauses, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (p)
			pause_begin(p, phase, ts, task);
	}
	return emit(regs, cookie, ts);
}

static __always_inline int emit_end(const struct pt_regs *regs, uint64_t cookie, uint64_t ts)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pause *p = bpf_task_storage_get(&ebt_pauses, task, 0, 0);
	if (!p || !pause_end(p, (uint32_t)REGS_ID(regs), task))
		return emit(regs, cookie, ts);
	if (stack_wanted_of_pause(p->begin_ts, ts) && !budget_leaves(REGS_POS(regs)) &&
	    !stack_wanted(0, EBT_END, (uint32_t)REGS_ID(regs)))
		stack_emit_c(regs, (uint32_t)(cookie >> 16), ts);

	struct ebt_pause_counts *u;
	struct ebt_marker_record *rec = channel_reserve(sizeof(*rec) + sizeof(*u), REGS_POS(regs));
	if (!rec) {
		channel_drop_event(REGS_POS(regs));
		return 0;
	}
	fill(rec, regs, cookie, ts);
	rec->head.size = sizeof(*u);
	u = (struct ebt_pause_counts *)(rec + 1);
	pause_of(u, p, task);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

/* room must be a compile-time constant: the verifier requires a constant size. A page of the
 * payload that is not in memory cannot be read here; the event then has no payload and is marked as
 * cut. */
static __always_inline int emit_payload(const struct pt_regs *regs, uint64_t cookie, uint64_t ts,
					const uint32_t room, uint64_t bytes)
{
	struct ebt_marker_record *rec = channel_reserve(sizeof(*rec) + room, REGS_POS(regs));
	if (!rec) {
		channel_drop_event(REGS_POS(regs));
		return 0;
	}
	fill(rec, regs, cookie, ts);
	rec->value = bytes;
	if (bytes > room)
		bytes = room;
	if (bytes && bpf_probe_read_user(rec + 1, (uint32_t)bytes, (void *)REGS_VALUE(regs)))
		bytes = 0;
	rec->head.size = (uint16_t)bytes;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline int control(const struct pt_regs *regs, uint64_t cookie, uint64_t ts)
{
	if ((uint16_t)cookie == EBT_SITE_RING_REQUEST)
		return 0;
	struct ebt_marker_record *rec = bpf_ringbuf_reserve(&ebt_channel, sizeof(*rec), 0);
	if (!rec) {
		__sync_fetch_and_add(&ebt_dropped.control, 1);
		return 0;
	}
	fill(rec, regs, cookie, ts);
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* Of a thread without a ring the number is EBT_NO_DOMAIN. */
static __always_inline struct count_hit count_of(const struct pt_regs *regs, uint64_t cookie,
						 uint64_t ts)
{
	uint16_t ring = (uint16_t)REGS_RING(regs);
	return (struct count_hit){
		.key = {.slot = (uint32_t)(cookie >> 16),
			.where = ring == EBT_NO_DOMAIN ? EBT_COUNT_THREAD | pidns_current_thread()
						       : ring,
			.exec = count_exec(bpf_get_current_task_btf())},
		.row = count_row(0, (uint32_t)REGS_ID(regs)),
		.ts = ts,
	};
}

/* Between the events of a ring that come as records others would be missing. */
static __always_inline void emit_alone(const struct pt_regs *regs, uint64_t cookie, uint64_t ts)
{
	struct ebt_marker_record *rec = bpf_ringbuf_reserve(&ebt_channel, sizeof(*rec), 0);
	if (!rec) {
		channel_drop_event(EBT_NO_POS);
		return;
	}
	fill(rec, regs, cookie, ts);
	rec->pos = EBT_NO_POS;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

static __always_inline int count(const struct pt_regs *regs, uint64_t cookie, uint64_t ts)
{
	struct count_hit hit = count_of(regs, cookie, ts);
	uint32_t id = (uint32_t)REGS_ID(regs);
	switch ((uint16_t)cookie) {
	case EBT_BEGIN:
		return count_begin(&hit);
	case EBT_END:
		return count_end(&hit);
	case EBT_COUNTER:
		return count_counter(&hit, id, REGS_VALUE(regs));
	case EBT_LIFECYCLE:
		emit_alone(regs, cookie, ts);
		return count_lifecycle(&hit, id);
	}
	return 0;
}

/* The cookie of a probe that is in all processes gets the slot of this one. Nonzero: it is not
 * traced, or not yet. */
static __always_inline int find_slot(uint64_t *cookie)
{
	uint32_t slot;
	if (foreign_find(EBT_COOKIE_KEY(*cookie), &slot))
		return 1;
	*cookie = EBT_COOKIE(slot, (uint16_t)*cookie);
	return 0;
}

SEC("uprobe")
int ebt_marker(struct pt_regs *regs)
{
	uint64_t cookie = bpf_get_attach_cookie(regs);
	budget_hit(EBT_HITS_MARKER,
		   (uint16_t)cookie < EBT_SITE_CONTROL && REGS_POS(regs) != EBT_NO_POS);
	uint64_t ts = clock_of_program(REGS_TS(regs));
	if (foreign_leaves(cookie, ts))
		return 0;
	if ((uint32_t)(cookie >> 16) == EBT_NO_SLOT && find_slot(&cookie))
		return 0;
	uint16_t site = (uint16_t)cookie;

	if (ebt_counting && site < EBT_SITE_CONTROL)
		return count(regs, cookie, ts);
	if (stack_wanted(0, site, (uint32_t)REGS_ID(regs)) && !budget_leaves(REGS_POS(regs)))
		stack_emit_c(regs, (uint32_t)(cookie >> 16), ts);
	if (site == EBT_BEGIN)
		return emit_begin(regs, cookie, ts);
	if (site == EBT_END)
		return emit_end(regs, cookie, ts);
	if (site != EBT_CUSTOM && site != EBT_ALLOC_SIZES && site < EBT_SITE_CONTROL)
		return emit(regs, cookie, ts);
	if (site >= EBT_SITE_CONTROL)
		return control(regs, cookie, ts);

	uint64_t bytes = REGS_BYTES(regs);
	if (site == EBT_ALLOC_SIZES)
		return emit_payload(regs, cookie, ts, EBT_ROOM_BUCKETS,
				    bytes < EBT_ALLOC_BUCKETS ? bytes * 8 : EBT_ROOM_BUCKETS);
	if (bytes <= EBT_ROOM_TINY)
		return emit_payload(regs, cookie, ts, EBT_ROOM_TINY, bytes);
	if (bytes <= EBT_ROOM_SMALL)
		return emit_payload(regs, cookie, ts, EBT_ROOM_SMALL, bytes);
	return emit_payload(regs, cookie, ts, EBT_ROOM_LARGE, bytes);
}
