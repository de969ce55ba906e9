// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * The program behind every marker of provider `ebtrace`. All of them keep their values in the same
 * registers, so one program reads them straight from pt_regs and the cookie tells which marker it
 * was: that halves the cost of a hit over decoding argument strings. The registers belong to the
 * traced program, which may be hostile: nothing here trusts them further than to copy.
 */
#include "channel.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The kinds whose rdx is a value; in the others it holds whatever the caller left there. */
#define KINDS_WITH_VALUE (1u << EBT_COUNTER | 1u << EBT_LIFECYCLE | 1u << EBT_INT)

static __always_inline void fill(struct ebt_event *ev, const struct pt_regs *regs, uint64_t cookie)
{
	ev->ts = regs->r8;
	ev->pos = regs->r9;
	ev->pid = (uint32_t)(cookie >> 16);
	ev->tid = channel_tid();
	ev->kind = (uint16_t)cookie;
	ev->domain = (uint16_t)regs->cx;
	ev->cpu = (uint16_t)bpf_get_smp_processor_id();
	ev->flags = EBT_F_BPF | (regs->r9 == EBT_NO_POS ? 0 : EBT_F_SEQ);
	ev->id = (uint32_t)regs->di;
	ev->stack = 0;
	ev->seq = (uint32_t)(regs->cx >> 32);
	ev->size = 0;
	ev->arg[0] = 0;
	ev->arg[1] = 0;
}

static __always_inline int emit(const struct pt_regs *regs, uint64_t cookie)
{
	struct ebt_event *ev = bpf_ringbuf_reserve(&ebt_channel, sizeof(*ev), 0);
	if (!ev) {
		channel_drop_event(regs->r9);
		return 0;
	}
	fill(ev, regs, cookie);
	if (KINDS_WITH_VALUE >> (cookie & 31) & 1)
		ev->arg[0] = regs->dx;
	bpf_ringbuf_submit(ev, BPF_RB_NO_WAKEUP);
	return 0;
}

/* `room` must be known to the compiler: the verifier wants a constant size. A page of the payload
 * that is not in memory cannot be read from here; the event then comes without it, cut. */
static __always_inline int emit_payload(const struct pt_regs *regs, uint64_t cookie,
					const uint32_t room, uint64_t bytes)
{
	uint8_t *rec = bpf_ringbuf_reserve(&ebt_channel, sizeof(struct ebt_event) + room, 0);
	if (!rec) {
		channel_drop_event(regs->r9);
		return 0;
	}
	struct ebt_event *ev = (struct ebt_event *)rec;
	fill(ev, regs, cookie);
	ev->flags |= EBT_F_PAYLOAD;
	if (bytes > room) {
		bytes = room;
		ev->flags |= EBT_F_CUT;
	}
	if (bytes && bpf_probe_read_user(rec + sizeof(*ev), (uint32_t)bytes, (void *)regs->dx)) {
		bytes = 0;
		ev->flags |= EBT_F_CUT;
	}
	ev->arg[1] = bytes;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline int control(const struct pt_regs *regs, uint64_t cookie)
{
	uint16_t site = (uint16_t)cookie;
	if (site != EBT_SITE_RING_REQUEST)
		channel_control(regs->r8, regs->r9, (uint32_t)(cookie >> 16), site,
				(uint16_t)regs->cx, 0);
	return 0;
}

SEC("uprobe")
int ebt_marker(struct pt_regs *regs)
{
	uint64_t cookie = bpf_get_attach_cookie(regs);
	uint16_t site = (uint16_t)cookie;

	if (site != EBT_CUSTOM && site != EBT_ALLOC_SIZES && site < EBT_SITE_CONTROL)
		return emit(regs, cookie);
	if (site >= EBT_SITE_CONTROL)
		return control(regs, cookie);

	uint64_t bytes = regs->r10;
	if (site == EBT_ALLOC_SIZES)
		return emit_payload(regs, cookie, EBT_ROOM_BUCKETS,
				    bytes < EBT_ALLOC_BUCKETS ? bytes * 8 : EBT_ROOM_BUCKETS);
	if (bytes <= EBT_ROOM_TINY)
		return emit_payload(regs, cookie, EBT_ROOM_TINY, bytes);
	if (bytes <= EBT_ROOM_SMALL)
		return emit_payload(regs, cookie, EBT_ROOM_SMALL, bytes);
	return emit_payload(regs, cookie, EBT_ROOM_LARGE, bytes);
}
