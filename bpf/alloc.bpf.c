// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * The program of the sites at which sampled allocations are reported, ours and OpenTelemetry's, and
 * pages of a heap. The arguments may be anywhere; the tracer has parsed each site's note. An
 * allocation has its stack. Registers and memory belong to the traced program, which may be
 * hostile: they are copied, never trusted.
 */
#include "c_stack.bpf.h"
#include "foreign.bpf.h"
#include "operands.bpf.h"

/* The tracer sets the size before it loads this. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, struct ebt_alloc_file);
} ebt_alloc_files SEC(".maps");

/* The last argument of our own sites is the program's time. */
static __always_inline void convert_time(struct ebt_alloc_record *rec, uint32_t kind)
{
	if (kind == EBT_ALLOC_SITE_ALLOC)
		rec->arg[5] = clock_of_program(rec->arg[5]);
	else if (kind == EBT_ALLOC_SITE_PROMOTE || kind == EBT_ALLOC_SITE_COLLECT)
		rec->arg[2] = clock_of_program(rec->arg[2]);
	else if (kind >= EBT_ALLOC_SITE_PAGE_ALLOC && kind <= EBT_ALLOC_SITE_PAGE_SCAVENGE)
		rec->arg[3] = clock_of_program(rec->arg[3]);
}

static __always_inline void fill(struct ebt_alloc_record *rec, const void *ctx, uint32_t slot,
				 const struct ebt_alloc_site *site)
{
	channel_head(&rec->head, EBT_RECORD_ALLOC, slot, (uint16_t)site->kind);
	rec->ts = clock_now();
	rec->dropped = channel_dropped();
	rec->reserved = 0;
#pragma unroll
	for (uint32_t i = 0; i < EBT_ALLOC_ARGS; i++)
		if (i < site->args)
			operand_read(ctx, &site->arg[i], &rec->arg[i]);
		else
			rec->arg[i] = 0;
	convert_time(rec, site->kind);
}

static __always_inline int emit(void *ctx, uint32_t slot, const struct ebt_alloc_site *site)
{
	struct ebt_alloc_record *rec = channel_reserve(sizeof(*rec), EBT_NO_POS);
	if (!rec) {
		channel_drop_event(EBT_NO_POS);
		return 0;
	}
	fill(rec, ctx, slot, site);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline int emit_stack(const struct pt_regs *regs, uint32_t slot,
				      const struct ebt_alloc_site *site)
{
	struct ebt_alloc_record *rec =
		channel_reserve(sizeof(*rec) + sizeof(struct c_stack_walk), EBT_NO_POS);
	if (!rec) {
		channel_drop_event(EBT_NO_POS);
		return 0;
	}
	fill(rec, (void *)regs, slot, site);
	rec->head.size = sizeof(struct c_stack_walk);
	struct c_stack_walk *w = (struct c_stack_walk *)(rec + 1);
	c_stack_memory(&w->memory, regs, 0);
	c_stack_links(w);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("uprobe")
int ebt_alloc(struct pt_regs *regs)
{
	uint64_t cookie = bpf_get_attach_cookie(regs);
	uint32_t key = (uint32_t)(cookie >> 16), index = cookie & (EBT_ALLOC_SITES - 1);
	budget_hit(EBT_HITS_ALLOC, 0);
	const struct ebt_alloc_file *file = bpf_map_lookup_elem(&ebt_alloc_files, &key);
	if (!file || (cookie >> EBT_KEY_SHIFT && foreign_leaves(cookie, clock_now())))
		return 0;
	uint32_t slot = file->slot;
	if (slot == EBT_NO_SLOT && foreign_find(key, &slot))
		return 0;
	const struct ebt_alloc_site *site = &file->site[index];
	if (site->kind == EBT_ALLOC_SITE_ALLOC || site->kind == EBT_ALLOC_SITE_OTEL_ALLOC)
		return emit_stack(regs, slot, site);
	return emit(regs, slot, site);
}
