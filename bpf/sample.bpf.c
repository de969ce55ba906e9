// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* Samples of the threads of traced processes, by a timer of each CPU (sample.bpf.h). */
#define OCAML_FRAMES EBT_SAMPLE_FRAMES
#include "sample.bpf.h"
#include "kernel_stack.bpf.h"
#include "run.bpf.h"

/* Hits of the timers; in .bss, which the tracer has mapped. */
struct ebt_sample_counts ebt_sample_counts = {};

static __always_inline void read_registers(const struct bpf_perf_event_data *ctx,
					   struct task_struct *task, struct registers *ret)
{
	ret->kernel = !REGS_IS_USER(&ctx->regs);
	ret->ip = REGS_IP(&ctx->regs);
	ret->sp = REGS_SP(&ctx->regs);
	ret->fp = REGS_FP(&ctx->regs);
	ret->kept = REGS_KEPT(&ctx->regs);
	/* The compiler would choose between the pointers, which the verifier refuses. */
	asm volatile("" ::: "memory");
	if (ret->kernel)
		read_user_registers(task, ret);
}

static __always_inline void fill(struct ebt_sample_record *rec, uint32_t slot)
{
	channel_head(&rec->head, EBT_RECORD_SAMPLE, slot, 0);
	rec->ts = clock_now();
	rec->dropped = channel_dropped();
}

static __always_inline void emit_c(const struct registers *regs, uint32_t slot, uint16_t domain)
{
	struct ebt_sample_record *rec =
		bpf_ringbuf_reserve(&ebt_channel, sizeof(*rec) + sizeof(struct sample_c), 0);
	if (!rec) {
		channel_drop_event(EBT_NO_POS);
		return;
	}
	fill(rec, slot);
	sample_put_c(rec, (struct sample_c *)(rec + 1), regs, domain);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

static __always_inline void emit_ocaml(const struct registers *regs, uint32_t slot,
				       const struct ebt_ocaml_runtime *r, const struct place *p)
{
	struct ebt_sample_record *rec =
		bpf_ringbuf_reserve(&ebt_channel, sizeof(*rec) + sizeof(struct sample_ocaml), 0);
	if (!rec) {
		channel_drop_event(EBT_NO_POS);
		return;
	}
	fill(rec, slot);
	sample_put_ocaml(rec, (struct sample_ocaml *)(rec + 1), regs, r, p);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

SEC("perf_event")
int ebt_sample(struct bpf_perf_event_data *ctx)
{
	if (!run_has_begun(clock_now()))
		return 0;
	uint32_t pid = pidns_current_process();
	const uint32_t *slot = bpf_map_lookup_elem(&ebt_traced, &pid);
	if (!slot) {
		__sync_fetch_and_add(&ebt_sample_counts.of_others, 1);
		return 0;
	}
	struct registers regs;
	struct place place = {};
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t of = *slot;
	__sync_fetch_and_add(&ebt_sample_counts.taken, 1);
	read_registers(ctx, task, &regs);
	if (regs.kernel)
		regs.kernel = kernel_stack(ctx);
	const struct ebt_ocaml_runtime *r = sample_find(of, task, &regs, &place);
	if (!r || place.where == EBT_SAMPLE_C)
		emit_c(&regs, of, place.domain);
	else
		emit_ocaml(&regs, of, r, &place);
	return 0;
}
