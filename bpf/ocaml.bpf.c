// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * The program of the probed functions of an OCaml 5 runtime: its own trace points, which are called
 * whether or not the program records events. While the program's own ring is on, that ring has the
 * event, and no record is made here. The thread's domain is read from the runtime's thread-local
 * state. All addresses come from the traced program: they are copied from, never trusted.
 */
#include "counts.bpf.h"
#include "foreign.bpf.h"
#include "ocaml_callbacks.bpf.h"
#include "pause.bpf.h"
#include "phases.bpf.h"
#include "stacks.bpf.h"

/* The tracer sets the sizes before it loads these. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, struct ebt_ocaml_runtime);
} ebt_ocaml SEC(".maps");

/* The data that every hit of a thread needs, cached at the first: one look-up instead of five. */
struct thread {
	uint64_t exec_id; /* of the program that the thread runs */
	uint64_t flag;	  /* address in the process; 0: no matter */
	uint32_t generation;
	uint32_t runtime; /* key in ebt_ocaml */
	uint32_t slot;
	uint16_t domain;
	uint16_t release;
	uint16_t user_event;
	uint16_t numbering;
};

struct thread_state {
	struct thread thread;
	struct pause pause;
	uint32_t in_ring; /* 1: it was told that a ring has the thread's events */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} ebt_thread SEC(".maps");

/* Generation of the threads' caches; in .bss, which the tracer has mapped. */
uint32_t ebt_ocaml_generation = 0;

static __always_inline uint16_t read_domain(const struct ebt_ocaml_runtime *r,
					    struct task_struct *task)
{
	uint64_t state = ocaml_state(r->tls, r->tls_offset, r->tls_module, task);
	uint16_t id = ocaml_domain(state, r->id_offset);
	return id == EBT_NO_DOMAIN ? id : id + r->domain_base;
}

/* Nonzero: the hit is not of a traced process. *ret_state: what is kept of the thread, or NULL. */
static __always_inline int learn(const struct pt_regs *regs, uint64_t cookie,
				 struct task_struct *task, struct thread *ret,
				 struct thread_state **ret_state)
{
	uint32_t key = (uint32_t)(cookie >> 16), slot;
	uint32_t generation = ebt_ocaml_generation;
	/* Read before the look-up: a runtime removed after it makes this an earlier generation. */
	asm volatile("" ::: "memory");
	const struct ebt_ocaml_runtime *r = bpf_map_lookup_elem(&ebt_ocaml, &key);
	if (!r)
		return 1;
	slot = r->slot;
	uint64_t flag = r->flag;
	if (slot == EBT_NO_SLOT) {
		if (foreign_find(key, &slot))
			return 1;
		if (flag)
			flag += REGS_IP(regs) - r->site[cookie & 7];
	}
	*ret_state = NULL;
	ret->exec_id = task->self_exec_id;
	ret->flag = flag;
	ret->generation = generation;
	ret->runtime = key;
	ret->slot = slot;
	ret->domain = read_domain(r, task);
	ret->release = r->release;
	ret->user_event = r->user_event;
	ret->numbering = r->numbering;
	/* A thread belongs to one domain for life, but may have none yet. */
	if (ret->domain == EBT_NO_DOMAIN && r->tls != EBT_OCAML_TLS_NONE)
		return 0;
	struct thread_state *known =
		bpf_task_storage_get(&ebt_thread, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (known) {
		known->thread = *ret;
		pause_drop(&known->pause, task);
		known->in_ring = 0;
	}
	*ret_state = known;
	return 0;
}

static __always_inline void fill(struct ebt_ocaml_record *rec, uint64_t ts, uint16_t site,
				 const struct thread *t)
{
	channel_head(&rec->head, EBT_RECORD_OCAML, t->slot, site);
	rec->ts = ts;
	rec->dropped = channel_dropped();
	rec->domain = t->domain;
	rec->release = t->release;
}

/* What is recorded of a stack; the walk begins with its frames. */
struct stack_body {
	struct ebt_stack_memory memory;
	struct ebt_ocaml_callbacks callbacks;
	struct ocaml_walk walk;
};

/* The stack of a domain, from where its OCaml code has called C, and that of C since. */
static __always_inline void emit_stack(const struct pt_regs *regs, uint64_t cookie, uint64_t ts,
				       const struct thread *t)
{
	uint32_t key = t->runtime;
	const struct ebt_ocaml_runtime *r = bpf_map_lookup_elem(&ebt_ocaml, &key);
	if (!r || !r->stacks.frames)
		return;
	uint64_t frames = r->stacks.frames;
	if (r->slot == EBT_NO_SLOT)
		frames += REGS_IP(regs) - r->site[cookie & 7];
	uint64_t state =
		ocaml_state(r->tls, r->tls_offset, r->tls_module, bpf_get_current_task_btf());
	struct ebt_stack_record *rec =
		bpf_ringbuf_reserve(&ebt_channel, sizeof(*rec) + sizeof(struct stack_body), 0);
	if (!rec) {
		__sync_fetch_and_add(&ebt_dropped.stacks, 1);
		return;
	}
	channel_head(&rec->head, EBT_RECORD_STACK, t->slot, 0);
	rec->ts = ts;
	rec->dropped = channel_dropped();
	rec->release = t->release;
	struct stack_body *b = (struct stack_body *)(rec + 1);
	struct ocaml_walk *w = &b->walk;
	c_stack_memory(&b->memory, regs,
		       ocaml_begin_of_c(user_word(state + r->stacks.c_stack), REGS_SP(regs),
					bpf_get_current_task_btf()));
	ocaml_stack(w, &r->stacks, frames, state);
	ocaml_callbacks(&b->callbacks, w);
	rec->head.site = w->whole ? EBT_STACK_OF_OCAML : EBT_STACK_OF_OCAML_CUT;
	rec->head.size = (uint16_t)(offsetof(struct stack_body, walk) +
				    w->frames * sizeof(struct ebt_ocaml_frame));
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

static __always_inline int emit(const struct pt_regs *regs, uint64_t ts, uint16_t site,
				uint16_t kind, const struct thread *t)
{
	struct ebt_ocaml_record *rec = channel_reserve(sizeof(*rec), EBT_NO_POS);
	if (!rec) {
		channel_drop_event(EBT_NO_POS);
		return 0;
	}
	fill(rec, ts, site, t);
	rec->kind = kind;
	rec->id = (uint32_t)REGS_CALL_0(regs);
	rec->value = REGS_CALL_1(regs);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The end of a pause. */
static __always_inline int emit_pause(const struct pt_regs *regs, uint64_t ts,
				      const struct thread *t, const struct pause *p,
				      struct task_struct *task)
{
	struct ebt_pause_counts *u;
	struct ebt_ocaml_record *rec = channel_reserve(sizeof(*rec) + sizeof(*u), EBT_NO_POS);
	if (!rec) {
		channel_drop_event(EBT_NO_POS);
		return 0;
	}
	fill(rec, ts, EBT_OCAML_END, t);
	rec->head.size = sizeof(*u);
	rec->kind = EBT_END;
	rec->id = (uint32_t)REGS_CALL_0(regs);
	rec->value = 0;
	u = (struct ebt_pause_counts *)(rec + 1);
	pause_of(u, p, task);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline void begin_phase(struct pause *p, uint32_t phase, uint64_t ts,
					const struct thread *t, struct task_struct *task)
{
	if (phase_stops(t->numbering, phase))
		pause_begin(p, phase, ts, task);
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

/* An event is a block: number, name, type, tag. The payload of a user's type is produced by its own
 * code, which has not run yet. */
static __always_inline int emit_user(const struct pt_regs *regs, uint64_t ts,
				     const struct thread *t)
{
	uint64_t first = REGS_CALL_0(regs), second = REGS_CALL_1(regs), third = REGS_CALL_2(regs);
	/* The verifier refuses a load from a register of the context that is chosen at run time. */
	asm volatile("" : "+r"(first), "+r"(second), "+r"(third));
	uint64_t event = t->user_event ? second : first;
	uint64_t value = t->user_event ? third : second;
	uint64_t field[3];
	if (bpf_probe_read_user(field, sizeof(field), (void *)event)) {
		channel_drop_event(EBT_NO_POS);
		return 0;
	}
	struct ebt_ocaml_record *rec = channel_reserve(sizeof(*rec) + EBT_ROOM_NAME, EBT_NO_POS);
	if (!rec) {
		channel_drop_event(EBT_NO_POS);
		return 0;
	}
	fill(rec, ts, EBT_OCAML_USER_WRITE, t);
	rec->kind = user_kind(field[2], value);
	rec->id = (uint32_t)(field[0] >> 1);
	rec->value = (uint64_t)((int64_t)value >> 1);
	long bytes = bpf_probe_read_user_str(rec + 1, EBT_ROOM_NAME, (void *)field[1]);
	rec->head.size = bytes > 0 ? (uint16_t)bytes : 0;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Which kind a user event has costs a read of memory: they are chosen together. */
#define USER_KINDS                                                                            \
	(1ull << EBT_UNIT | 1ull << EBT_INT | 1ull << EBT_SPAN_BEGIN | 1ull << EBT_SPAN_END | \
	 1ull << EBT_CUSTOM)

static __always_inline int is_chosen(const struct pt_regs *regs, uint64_t cookie,
				     const struct thread *t)
{
	uint32_t id = (uint32_t)REGS_CALL_0(regs);
	if (!ebt_stacks_on || budget_leaves(EBT_NO_POS))
		return 0;
	switch ((uint8_t)cookie) {
	case EBT_OCAML_BEGIN:
		return stack_wanted(t->numbering, EBT_BEGIN, id);
	case EBT_OCAML_END:
		return stack_wanted(t->numbering, EBT_END, id);
	case EBT_OCAML_COUNTER:
		return stack_wanted(t->numbering, EBT_COUNTER, id);
	case EBT_OCAML_LIFECYCLE:
		return stack_wanted(t->numbering, EBT_LIFECYCLE, id);
	case EBT_OCAML_ALLOC_FLUSH:
		return ebt_stacks.kinds >> EBT_ALLOC_SIZES & 1;
	case EBT_OCAML_USER_WRITE:
		return (ebt_stacks.kinds & USER_KINDS) != 0;
	}
	return 0;
}

/* The tracer may not know the ring yet, and the process may end before it does. What is kept of the
 * thread may be of another program, but not of another process. */
static __always_inline void tell_of_ring(struct thread_state *known, uint64_t ts)
{
	uint32_t pid = pidns_current_process();
	const uint32_t *slot = bpf_map_lookup_elem(&ebt_traced, &pid);
	struct ebt_marker_record *rec =
		slot ? bpf_ringbuf_reserve(&ebt_channel, sizeof(*rec), 0) : 0;
	if (!rec)
		return; /* the next event tries again */
	__builtin_memset(rec, 0, sizeof(*rec));
	channel_head(&rec->head, EBT_RECORD_MARKER, *slot, EBT_SITE_RING_NEEDED);
	rec->ts = ts;
	rec->dropped = channel_dropped();
	known->in_ring = 1;
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
}

/* Its own ring has the event, as it will have the end of a pause that has begun. */
static __always_inline int leave_to_ring(struct thread_state *known, struct task_struct *task,
					 uint64_t ts)
{
	if (!known)
		return 0;
	pause_drop(&known->pause, task);
	if (!known->in_ring)
		tell_of_ring(known, ts);
	return 0;
}

static __always_inline int count(const struct pt_regs *regs, uint16_t site, uint64_t ts,
				 const struct thread *t)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid(), id = (uint32_t)REGS_CALL_0(regs);
	struct count_hit hit = {
		.key = {.slot = t->slot,
			.where = t->domain == EBT_NO_DOMAIN
					 ? EBT_COUNT_THREAD | pidns_current_thread()
					 : t->domain,
			.exec = (uint32_t)t->exec_id},
		.tid = tid,
		.release = t->release,
		.row = count_row(t->numbering, id),
		.ts = ts,
	};
	switch (site) {
	case EBT_OCAML_BEGIN:
		return count_begin(&hit);
	case EBT_OCAML_END:
		return count_end(&hit);
	case EBT_OCAML_COUNTER:
		return count_counter(&hit, id, REGS_CALL_1(regs));
	case EBT_OCAML_LIFECYCLE:
		emit(regs, ts, EBT_OCAML_LIFECYCLE, EBT_LIFECYCLE, t);
		return count_lifecycle(&hit, id);
	}
	return 0;
}

SEC("uprobe")
int ebt_ocaml_function(struct pt_regs *regs)
{
	uint64_t cookie = bpf_get_attach_cookie(regs);
	budget_hit(EBT_HITS_RUNTIME, 0);
	/* Time stamp first, then the reservation: records of a domain are in order of both. */
	uint64_t ts = clock_now();
	if (foreign_leaves(cookie, ts))
		return 0;
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *known = bpf_task_storage_get(&ebt_thread, task, NULL, 0);
	struct thread t;
	if (cookie & EBT_OCAML_FLAG_IN_AX && REGS_RESULT(regs))
		return leave_to_ring(known, task, ts);
	if (known && known->thread.runtime == (uint32_t)(cookie >> 16) &&
	    known->thread.generation == ebt_ocaml_generation &&
	    known->thread.exec_id == task->self_exec_id)
		t = known->thread;
	else if (learn(regs, cookie, task, &t, &known))
		return 0;
	if (!(cookie & EBT_OCAML_FLAG_IN_AX) && t.flag && user_word(t.flag))
		return leave_to_ring(known, task, ts);
	if (ebt_counting)
		return count(regs, (uint8_t)cookie, ts, &t);

	int pause_ends = (uint8_t)cookie == EBT_OCAML_END && known &&
			 pause_end(&known->pause, (uint32_t)REGS_CALL_0(regs), task);
	if (is_chosen(regs, cookie, &t) ||
	    (pause_ends && stack_wanted_of_pause(known->pause.begin_ts, ts) &&
	     !budget_leaves(EBT_NO_POS)))
		emit_stack(regs, cookie, ts, &t);
	switch ((uint8_t)cookie) {
	case EBT_OCAML_BEGIN:
		if (known)
			begin_phase(&known->pause, (uint32_t)REGS_CALL_0(regs), ts, &t, task);
		return emit(regs, ts, EBT_OCAML_BEGIN, EBT_BEGIN, &t);
	case EBT_OCAML_END:
		if (pause_ends)
			return emit_pause(regs, ts, &t, &known->pause, task);
		return emit(regs, ts, EBT_OCAML_END, EBT_END, &t);
	case EBT_OCAML_COUNTER:
		return emit(regs, ts, EBT_OCAML_COUNTER, EBT_COUNTER, &t);
	case EBT_OCAML_LIFECYCLE:
		return emit(regs, ts, EBT_OCAML_LIFECYCLE, EBT_LIFECYCLE, &t);
	case EBT_OCAML_ALLOC_FLUSH:
		return emit(regs, ts, EBT_OCAML_ALLOC_FLUSH, EBT_ALLOC_SIZES, &t);
	case EBT_OCAML_USER_WRITE:
		return emit_user(regs, ts, &t);
	}
	return 0;
}
