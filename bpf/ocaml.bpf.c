// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * The program behind the functions of an OCaml 5 runtime: its own trace points, which are called
 * whether or not the program records events. Where the program's own ring is on, that one has the
 * event, and nothing is told here. The thread's domain is read out of the runtime's thread-local
 * state. All addresses come from the traced program: they are copied from, never trusted.
 */
#include "channel.bpf.h"

#include <bpf/bpf_core_read.h>

#ifndef NULL
#define NULL ((void *)0)
#endif

#define MAX_DOMAINS 4096 /* of a runtime; a larger number is none */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EBT_OCAML_MAX);
	__type(key, uint32_t);
	__type(value, struct ebt_ocaml_runtime);
} ebt_ocaml SEC(".maps");

/* Hits of shared runtimes by processes that are not traced. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EBT_OCAML_MAX);
	__type(key, uint32_t);
	__type(value, uint64_t);
} ebt_foreign SEC(".maps");

struct thread_domain {
	uint64_t memory;  /* of the program that it runs */
	uint32_t runtime; /* its serial number */
	uint16_t domain;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_domain);
} ebt_domain SEC(".maps");

static __always_inline uint64_t user_word(uint64_t address)
{
	uint64_t word = 0;
	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

static __always_inline uint16_t read_domain(const struct ebt_ocaml_runtime *r,
					    struct task_struct *task)
{
	uint64_t at = BPF_CORE_READ(task, thread.fsbase);
	if (r->tls == EBT_OCAML_TLS_NONE)
		return EBT_NO_DOMAIN;
	if (r->tls == EBT_OCAML_TLS_MODULE)
		at = user_word(user_word(at + 8) + 16 * r->tls_module);
	uint64_t state = user_word(at + r->tls_offset);
	uint32_t id;
	if (!state || bpf_probe_read_user(&id, sizeof(id), (void *)(state + r->id_offset)) ||
	    id >= MAX_DOMAINS)
		return EBT_NO_DOMAIN;
	return (uint16_t)id + r->domain_base;
}

/* A thread belongs to one domain as long as it lives: asked once, remembered with the thread. */
static __always_inline uint16_t domain_of(const struct ebt_ocaml_runtime *r)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_domain *known = bpf_task_storage_get(&ebt_domain, task, NULL, 0);
	uint64_t memory = (uint64_t)BPF_CORE_READ(task, mm);
	if (known && known->runtime == r->serial && known->memory == memory)
		return known->domain;
	uint16_t domain = read_domain(r, task);
	if (domain == EBT_NO_DOMAIN)
		return domain;
	known = bpf_task_storage_get(&ebt_domain, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (known) {
		known->runtime = r->serial;
		known->memory = memory;
		known->domain = domain;
	}
	return domain;
}

static __always_inline void fill(struct ebt_event *ev, uint64_t ts, uint16_t domain,
				 const struct ebt_ocaml_runtime *r, uint32_t index)
{
	ev->ts = ts;
	ev->pos = EBT_NO_POS;
	ev->pid = r->shared ? channel_pid() : r->slot;
	ev->tid = channel_tid();
	ev->domain = domain;
	ev->cpu = (uint16_t)bpf_get_smp_processor_id();
	ev->flags = EBT_F_BPF;
	ev->stack = r->shared;
	ev->seq = 0;
	ev->size = index + 1;
	ev->arg[0] = 0;
	ev->arg[1] = 0;
}

static __always_inline int emit(const struct pt_regs *regs, uint16_t kind,
				const struct ebt_ocaml_runtime *r, uint32_t index)
{
	/* The time first, and the room after it: records of a domain are in order of both. */
	uint64_t ts = bpf_ktime_get_ns();
	uint16_t domain = domain_of(r);
	struct ebt_event *ev = bpf_ringbuf_reserve(&ebt_channel, sizeof(*ev), 0);
	if (!ev) {
		channel_drop_event(EBT_NO_POS);
		return 0;
	}
	fill(ev, ts, domain, r, index);
	ev->kind = kind;
	ev->id = (uint32_t)regs->di;
	if (kind == EBT_COUNTER || kind == EBT_LIFECYCLE)
		ev->arg[0] = regs->si;
	bpf_ringbuf_submit(ev, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The kind of a user event: its type is a constant, or a block for the types of the user. */
static __always_inline uint16_t user_kind(uint64_t type, uint64_t value)
{
	if (!(type & 1))
		return EBT_CUSTOM;
	if (type >> 1 == 0)
		return EBT_UNIT;
	if (type >> 1 == 1)
		return EBT_INT;
	return value >> 1 ? EBT_SPAN_END : EBT_SPAN_BEGIN;
}

/* An event is a block: number, name, type, tag. What a user's type holds only its own code can
 * tell, which has not run yet. */
static __always_inline int emit_user(const struct pt_regs *regs, const struct ebt_ocaml_runtime *r,
				     uint32_t index)
{
	uint64_t ts = bpf_ktime_get_ns();
	uint64_t di = regs->di, si = regs->si, dx = regs->dx;
	/* The verifier refuses a load from a register of the context that is chosen at run time. */
	asm volatile("" : "+r"(di), "+r"(si), "+r"(dx));
	uint64_t event = r->user_event ? si : di;
	uint64_t value = r->user_event ? dx : si;
	uint64_t field[3];
	if (bpf_probe_read_user(field, sizeof(field), (void *)event)) {
		channel_drop_event(EBT_NO_POS);
		return 0;
	}
	uint16_t domain = domain_of(r);
	uint8_t *rec =
		bpf_ringbuf_reserve(&ebt_channel, sizeof(struct ebt_event) + EBT_ROOM_NAME, 0);
	if (!rec) {
		channel_drop_event(EBT_NO_POS);
		return 0;
	}
	struct ebt_event *ev = (struct ebt_event *)rec;
	fill(ev, ts, domain, r, index);
	ev->kind = user_kind(field[2], value);
	ev->id = (uint32_t)(field[0] >> 1);
	if (ev->kind == EBT_INT)
		ev->sarg[0] = (int64_t)value >> 1;
	long bytes = bpf_probe_read_user_str(rec + sizeof(*ev), EBT_ROOM_NAME, (void *)field[1]);
	ev->arg[1] = bytes > 0 ? (uint64_t)bytes : 0;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline int is_foreign(uint32_t index)
{
	uint32_t pid = channel_pid();
	if (bpf_map_lookup_elem(&ebt_traced, &pid))
		return 0;
	uint64_t *n = bpf_map_lookup_elem(&ebt_foreign, &index);
	if (n)
		*n += 1;
	return 1;
}

SEC("uprobe")
int ebt_ocaml_function(struct pt_regs *regs)
{
	uint64_t cookie = bpf_get_attach_cookie(regs);
	uint32_t index = (uint32_t)(cookie >> 16);
	const struct ebt_ocaml_runtime *r = bpf_map_lookup_elem(&ebt_ocaml, &index);
	if (!r || r->dead)
		return 0;
	if (r->shared && is_foreign(index))
		return 0;
	uint64_t flag = r->flag;
	if (r->shared && flag)
		flag += regs->ip - r->site[cookie & 7];
	if (cookie & EBT_OCAML_FLAG_IN_AX ? regs->ax : flag && user_word(flag))
		return 0;

	switch ((uint8_t)cookie) {
	case EBT_OCAML_BEGIN:
		return emit(regs, EBT_BEGIN, r, index);
	case EBT_OCAML_END:
		return emit(regs, EBT_END, r, index);
	case EBT_OCAML_COUNTER:
		return emit(regs, EBT_COUNTER, r, index);
	case EBT_OCAML_LIFECYCLE:
		return emit(regs, EBT_LIFECYCLE, r, index);
	case EBT_OCAML_ALLOC_FLUSH:
		return emit(regs, EBT_ALLOC_SIZES, r, index);
	case EBT_OCAML_USER_WRITE:
		return emit_user(regs, r, index);
	}
	return 0;
}
