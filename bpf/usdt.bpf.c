// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * The program of the markers that the user asks for, of any program. Their arguments may be
 * anywhere; the tracer has parsed each site's note. Texts are copied only where that was asked for,
 * and cut. Registers and memory belong to the traced program, which may be hostile: they are
 * copied, never trusted.
 */
#include "clock.bpf.h"
#include "foreign.bpf.h"
#include "operands.bpf.h"
#include "registers.bpf.h"
#include "slots.bpf.h"
#include "stacks.bpf.h"

/* The tracer sets the size before it loads this. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EBT_USDT_SPECS);
	__type(key, uint32_t);
	__type(value, struct ebt_usdt_spec);
} ebt_usdt_specs SEC(".maps");

struct hit {
	struct pt_regs *ctx;
	const struct ebt_usdt_spec *spec;
	uint64_t ts;
	uint32_t slot, key;
};

static __always_inline void fill(struct ebt_usdt_record *rec, const struct hit *h)
{
	const struct ebt_usdt_spec *spec = h->spec;
	uint16_t missing = 0;
	channel_head(&rec->head, EBT_RECORD_USDT, h->slot, spec->kind);
	rec->ts = h->ts;
	rec->dropped = channel_dropped();
	rec->request = spec->request;
	rec->spec = h->key;
	rec->args = spec->args;
	rec->is_signed = spec->is_signed;
	rec->reserved[0] = rec->reserved[1] = rec->reserved[2] = 0;
#pragma unroll
	for (uint32_t i = 0; i < EBT_USDT_TEXTS; i++)
		rec->text[i] = 0;
#pragma unroll
	for (uint32_t i = 0; i < EBT_USDT_ARGS; i++) {
		rec->arg[i] = 0;
		if (i < spec->args && operand_read(h->ctx, &spec->arg[i], &rec->arg[i]))
			missing |= (uint16_t)(1u << i);
	}
	rec->missing = missing;
	rec->ip = REGS_IP(h->ctx);
	rec->frame = REGS_SP(h->ctx);
	rec->caller = 0;
	if (spec->caller.size && !operand_read(h->ctx, &spec->caller, &rec->caller))
		rec->frame = operand_address(h->ctx, &spec->caller);
}

static __always_inline int emit(const struct hit *h)
{
	struct ebt_usdt_record *rec = channel_reserve(sizeof(*rec), EBT_NO_POS);
	if (!rec) {
		channel_drop_event(EBT_NO_POS);
		return 0;
	}
	fill(rec, h);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

/* texts must be a compile-time constant: the verifier requires a constant size. */
static __always_inline int emit_texts(const struct hit *h, const uint32_t texts)
{
	struct ebt_usdt_record *rec =
		channel_reserve(sizeof(*rec) + texts * EBT_USDT_TEXT_BYTES, EBT_NO_POS);
	if (!rec) {
		channel_drop_event(EBT_NO_POS);
		return 0;
	}
	fill(rec, h);
	rec->head.size = texts * EBT_USDT_TEXT_BYTES;
	char *text = (char *)(rec + 1);
#pragma unroll
	for (uint32_t i = 0; i < texts; i++) {
		uint64_t at = 0;
		long n = 0;
		if (i < h->spec->texts && !operand_read(h->ctx, &h->spec->text[i], &at) && at)
			n = bpf_probe_read_user_str(text + i * EBT_USDT_TEXT_BYTES,
						    EBT_USDT_TEXT_BYTES, (void *)at);
		rec->text[i] = n > 0 ? (uint16_t)n : 0;
	}
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Of a link that probes all processes. Nonzero: this one is not traced. */
static __always_inline int find_slot(uint32_t key, uint32_t *ret_slot)
{
	if (!ebt_everyone)
		return foreign_find(key, ret_slot);
	return foreign_slot(ret_slot) && slots_adopt(ret_slot);
}

SEC("uprobe")
int ebt_usdt(struct pt_regs *regs)
{
	uint64_t cookie = bpf_get_attach_cookie(regs);
	uint32_t key = cookie & (EBT_USDT_SPECS - 1);
	uint32_t slot = (uint32_t)(cookie >> 16);
	budget_hit(EBT_HITS_MARKER, 0);
	uint64_t ts = clock_now();
	if (foreign_leaves(cookie, ts))
		return 0;
	if (slot == EBT_NO_SLOT && find_slot(EBT_COOKIE_KEY(cookie), &slot))
		return 0;
	const struct ebt_usdt_spec *spec = bpf_map_lookup_elem(&ebt_usdt_specs, &key);
	if (!spec)
		return 0;
	struct hit h = {.ctx = regs, .spec = spec, .ts = ts, .slot = slot, .key = key};
	if (stack_wanted(EBT_NUMBERINGS, spec->kind, 0) && !budget_leaves(EBT_NO_POS))
		stack_emit_c(regs, h.slot, h.ts);
	if (!spec->texts)
		return emit(&h);
	return spec->texts == 1 ? emit_texts(&h, 1) : emit_texts(&h, EBT_USDT_TEXTS);
}
