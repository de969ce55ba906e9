// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Records the intervals in which threads of traced processes do not run, each when the thread runs
 * again. Such a thread has task storage, which it gets at its birth or when its process is attached
 * to, never while the scheduler's locks are held; a switch or a wake-up of any other thread ends at
 * the check for it.
 *
 *	running --switch out--> off --waking--> woken --switch in--> running: record
 *	        --preempted---> woken
 *
 * `from` is 0 exactly while the thread runs. sched_waking rather than sched_wakeup: it is always
 * executed by the waker, while an idle CPU executes the other for a thread that is sent to it. The
 * waking may come before the switch of a thread that is about to sleep; so its time counts from
 * `from` on only, and the last one before a switch in is the one that has woken the thread.
 *
 * If the tracer wants stacks, that of a thread is kept where it leaves its CPU, as its memory is
 * there then, in a room which the thread has from the first time on, and belongs to the record.
 */
#include "faults.bpf.h"
#include "sample.bpf.h"
#include "threads.bpf.h"

/* Of the kernel's task states. */
#define STATE_UNINTERRUPTIBLE 0x0002
#define STATE_STOPPED	      0x800c /* stopped, traced, frozen */
#define STATE_DEAD	      0x0080

#define STACK_BYTES \
	(32 << 10)    /* of a thread in the kernel, at most; none begins so near to another's */
#define CPU_WAITERS 4 /* preempted threads of a CPU for which runners are compared */

/* Set before load. Shorter intervals are not recorded. */
const volatile uint64_t ebt_offcpu_min_ns = 0;
/* And those that are shorter than this without a stack. */
const volatile uint64_t ebt_offcpu_stack_min_ns = 0;
/* Stacks that can be kept; 0: none are wanted. */
const volatile uint32_t ebt_offcpu_stacks = 0;
/* Rooms that have been in use; in .bss. */
uint32_t ebt_offcpu_used = 0;

/* The record of an interval with the stack at its begin. */
struct room {
	struct ebt_offcpu_record rec;
	struct ebt_sample_record sample;
	union {
		struct sample_c c;
		struct sample_ocaml ocaml;
	};
	uint64_t changes; /* odd while the stack is written; behind all that is emitted */
};
#define ROOM_PAYLOAD (offsetof(struct room, changes) - offsetof(struct room, sample))

/* By room; the tracer sets the sizes before it loads these. A thread has its room until it ends. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct room);
} ebt_offcpu_rooms SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, uint32_t);
} ebt_offcpu_free SEC(".maps");

/* Who ran the longest on a CPU since a thread of ours was preempted there. A slot is taken by
 * switches on this CPU alone, and given back by its owner's next run on any: plain stores are
 * enough. */
struct runner {
	uint64_t ns;
	char comm[EBT_COMM_BYTES];
	uint32_t tid;
};
struct cpu_waiters {
	union {
		uint8_t used[CPU_WAITERS];
		uint32_t any_used;
	};
	struct runner runner[CPU_WAITERS];
};

/* By CPU; the tracer sets the size before it loads this. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct cpu_waiters);
} ebt_cpu_waiters SEC(".maps");

typedef uint64_t __attribute__((may_alias)) any_word;

/* By words, each of which is a checked load: of &task->comm[8] the compiler would load the
 * bytes. */
static __always_inline void copy_comm(char *to, const struct task_struct *task)
{
	const any_word *from = (const any_word *)task->comm;
	((any_word *)to)[0] = from[0];
	((any_word *)to)[1] = from[1];
}

/* Of the run queue of the CPU at hand, as the kernel has read it for this switch. 0: not known. */
static __always_inline uint64_t queue_clock(const struct task_struct *next)
{
	if (!bpf_core_field_exists(next->se.cfs_rq->rq))
		return 0;
	return next->se.cfs_rq->rq->clock;
}

static __always_inline int32_t syscall_of(struct task_struct *task)
{
	void *regs = (void *)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_arm64)
	return ((struct pt_regs___arm64 *)regs)->syscallno;
#else
	return (int32_t)((struct pt_regs___x86 *)regs)->orig_ax;
#endif
}

/* Why it does not run from now on. The system call of one that could run on is not read: that is a
 * call into the kernel at each switch. */
static __always_inline void note_reason(struct sched_thread *t, struct task_struct *task,
					uint32_t state)
{
	t->syscall = -1;
	t->reason = EBT_OFFCPU_PREEMPTED;
	if (!state)
		return;
	int32_t syscall = syscall_of(task);
	if (syscall >= 0)
		t->syscall = syscall;
	if (state & STATE_STOPPED)
		t->reason = EBT_OFFCPU_STOPPED;
	else if (syscall < 0)
		t->reason = EBT_OFFCPU_FAULT;
	else if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		t->reason = EBT_OFFCPU_IOWAIT;
	else
		t->reason = state & STATE_UNINTERRUPTIBLE ? EBT_OFFCPU_UNINTERRUPTIBLE
							  : EBT_OFFCPU_SLEEP;
}

/* ---- who ran instead ---- */

/* `task` has run until now. */
static __always_inline void note_run(struct cpu_waiters *w, struct task_struct *task,
				     uint64_t clock)
{
	uint64_t arrival = task->sched_info.last_arrival;
	uint64_t ns = clock > arrival ? clock - arrival : 1;
	if (!task->pid)
		return;
	for (uint32_t i = 0; i < CPU_WAITERS; i++) {
		if (!w->used[i] || w->runner[i].ns >= ns)
			continue;
		w->runner[i].ns = ns;
		w->runner[i].tid = pidns_thread(task);
		copy_comm(w->runner[i].comm, task);
	}
}

/* Until one has run, the runner is the one that begins to. */
static __always_inline void begin_waiting(struct sched_thread *t, struct cpu_waiters *w,
					  struct task_struct *next)
{
	for (uint32_t i = 0; i < CPU_WAITERS; i++) {
		if (w->used[i])
			continue;
		w->runner[i].ns = 0;
		w->runner[i].tid = pidns_thread(next);
		copy_comm(w->runner[i].comm, next);
		w->used[i] = 1;
		t->waiter = i + 1;
		t->wait_cpu = bpf_get_smp_processor_id();
		return;
	}
}

static __always_inline void end_waiting(struct sched_thread *t, struct ebt_offcpu_record *rec)
{
	uint32_t cpu = t->wait_cpu, i = t->waiter - 1;
	t->waiter = 0;
	struct cpu_waiters *w = bpf_map_lookup_elem(&ebt_cpu_waiters, &cpu);
	if (!w || i >= CPU_WAITERS)
		return;
	if (rec) {
		rec->runner = w->runner[i].tid;
		rec->runner_cpu = (uint16_t)cpu;
		__builtin_memcpy(rec->runner_comm, w->runner[i].comm, EBT_COMM_BYTES);
	}
	w->used[i] = 0;
}

/* ---- stacks ---- */

static __always_inline struct room *room_of(const struct sched_thread *t)
{
	uint32_t i = t->room - 1;
	return t->room ? bpf_map_lookup_elem(&ebt_offcpu_rooms, &i) : 0;
}

/* The room with the stack at the begin of the interval; 0: there is none. */
static __always_inline struct room *kept_of(const struct sched_thread *t)
{
	return ebt_offcpu_stacks && t->kept ? room_of(t) : 0;
}

/* Where all rooms are in use, the thread's intervals are recorded without stacks. */
static __always_inline void take_room(struct sched_thread *t)
{
	uint32_t i;
	if (bpf_map_pop_elem(&ebt_offcpu_free, &i)) {
		if (*(volatile uint32_t *)&ebt_offcpu_used >= ebt_offcpu_stacks)
			return;
		i = __sync_fetch_and_add(&ebt_offcpu_used, 1);
		if (i >= ebt_offcpu_stacks)
			return;
	}
	t->room = i + 1;
}

static __always_inline void leave_room(struct sched_thread *t)
{
	uint32_t i = t->room - 1;
	if (!ebt_offcpu_stacks || !t->room)
		return;
	t->room = 0;
	bpf_map_push_elem(&ebt_offcpu_free, &i, BPF_ANY);
}

/* The current thread leaves its CPU. */
static __always_inline void keep_stack(struct sched_thread *t, struct task_struct *task)
{
	struct registers regs;
	struct place place = {};
	t->kept = 0;
	if (ebt_offcpu_in_pauses && !t->pauses)
		return;
	if (!t->room)
		take_room(t);
	struct room *k = room_of(t);
	if (!k)
		return;
	k->changes |= 1;
	read_user_registers(task, &regs);
	const struct ebt_ocaml_runtime *r = sample_find(t->slot, task, &regs, &place);
	if (!r || place.where == EBT_SAMPLE_C)
		sample_put_c(&k->sample, &k->c, &regs, place.domain);
	else
		sample_put_ocaml(&k->sample, &k->ocaml, &regs, r, &place);
	k->changes++;
	t->kept = 1;
}

/* ---- records ---- */

/* A thread that has left its CPU at `from`: what is known of the interval that ends at ts. */
static __always_inline void fill(struct ebt_offcpu_record *rec, const struct sched_thread *t,
				 struct task_struct *task, uint64_t from, uint64_t ts)
{
	uint64_t woken = t->woken;
	rec->head.type = EBT_RECORD_OFFCPU;
	rec->head.size = 0;
	rec->head.slot = t->slot;
	rec->head.site = (uint16_t)t->reason;
	rec->head.tid = pidns_thread(task);
	rec->ts = ts;
	rec->dropped = channel_dropped();
	rec->from = from;
	rec->pid = pidns_process_of(task);
	rec->syscall = t->syscall;
	rec->runner = rec->waker = 0;
	rec->interrupt = rec->runner_cpu = 0;
	__builtin_memset(rec->runner_comm, 0, EBT_COMM_BYTES);
	__builtin_memset(rec->waker_comm, 0, EBT_COMM_BYTES);
	if (t->reason == EBT_OFFCPU_PREEMPTED) {
		rec->woken = from;
		return;
	}
	rec->woken = woken > from && woken < ts ? woken : 0;
	rec->waker = t->waker;
	rec->interrupt = t->interrupt;
	__builtin_memcpy(rec->waker_comm, t->waker_comm, EBT_COMM_BYTES);
}

/* before: the thread that ran on this CPU until then; NULL: not known. */
static __always_inline void fill_end(struct ebt_offcpu_record *rec, struct sched_thread *t,
				     struct task_struct *task, struct task_struct *before,
				     uint64_t from, uint64_t ts, uint64_t run_delay)
{
	fill(rec, t, task, from, ts);
	rec->head.cpu = (uint16_t)bpf_get_smp_processor_id();
	rec->open = 0;
	rec->run_delay = run_delay;
	/* Woken before its switch was seen. */
	if (!rec->woken)
		rec->woken = from;
	if (t->waiter) {
		end_waiting(t, rec);
	} else if (t->reason != EBT_OFFCPU_PREEMPTED && before && before->pid) {
		rec->runner = pidns_thread(before);
		rec->runner_cpu = rec->head.cpu;
		copy_comm(rec->runner_comm, before);
	}
}

/* The record in the room, with the stack. Nonzero: it was dropped. */
static __always_inline long emit_room(struct room *k)
{
	uint64_t payload = sizeof(k->sample) + k->sample.head.size;
	payload = payload < ROOM_PAYLOAD ? payload : ROOM_PAYLOAD;
	k->rec.head.size = (uint16_t)payload;
	if (budget_leaves(EBT_NO_POS))
		return 1;
	return bpf_ringbuf_output(&ebt_channel, &k->rec, sizeof(k->rec) + payload,
				  BPF_RB_NO_WAKEUP);
}

/* It runs since ts. */
static __always_inline void emit(struct sched_thread *t, struct task_struct *task,
				 struct task_struct *before, uint64_t from, uint64_t ts,
				 uint64_t run_delay)
{
	long dropped = 0;
	faults_leave_out(task, ts - from);
	struct room *k = ts - from >= ebt_offcpu_stack_min_ns ? kept_of(t) : 0;
	if (k) {
		fill_end(&k->rec, t, task, before, from, ts, run_delay);
		dropped = emit_room(k);
	} else if (ts - from >= ebt_offcpu_min_ns) {
		struct ebt_offcpu_record *rec = channel_reserve(sizeof(*rec), EBT_NO_POS);
		/* Tested once, or Linux 6.1 does not see that it is always submitted. */
		if (rec) {
			fill_end(rec, t, task, before, from, ts, run_delay);
			bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
			return;
		}
		dropped = 1;
	}
	if (dropped)
		channel_drop_event(EBT_NO_POS);
	if (t->waiter)
		end_waiting(t, 0);
}

/* The thread has run and its switch in was not seen: some kernels hide switches out of some
 * threads, and a program is not run inside itself. The kernel's own account has both times. */
static __always_inline void emit_late(struct sched_thread *t, struct task_struct *task,
				      uint64_t now)
{
	uint64_t from = t->from, clock = queue_clock(task), arrival = task->sched_info.last_arrival;
	uint64_t ts = now - (clock > arrival ? clock - arrival : 0);
	if (!clock || ts <= from || __sync_val_compare_and_swap(&t->from, from, 0) != from)
		return;
	emit(t, task, 0, from, ts, task->sched_info.run_delay - t->run_delay);
}

/* ---- switches ---- */

static __always_inline void leave(struct sched_thread *t, struct task_struct *prev,
				  struct task_struct *next, struct cpu_waiters *w, uint32_t state,
				  uint64_t now)
{
	if (t->slot == EBT_NO_SLOT)
		return;
	if (t->from)
		emit_late(t, prev, now);
	if (state & STATE_DEAD)
		return;
	note_reason(t, prev, state);
	t->run_delay = prev->sched_info.run_delay;
	if (w && !state)
		begin_waiting(t, w, next);
	if (ebt_offcpu_stacks)
		keep_stack(t, prev);
	t->from = now;
}

/* clock: that of the run queue. */
static __always_inline void arrive(struct sched_thread *t, struct task_struct *prev,
				   struct task_struct *next, uint64_t clock, uint64_t now)
{
	/* Atomic: a flush of open intervals may be at it. */
	uint64_t from = __sync_lock_test_and_set(&t->from, 0);
	if (!from)
		return;
	/* The kernel adds the wait that ends now to its account after this. */
	uint64_t queued = next->sched_info.last_queued;
	uint64_t delay = next->sched_info.run_delay - t->run_delay;
	if (!clock)
		delay += t->woken > from ? now - t->woken : 0;
	else if (queued && clock > queued)
		delay += clock - queued;
	emit(t, next, prev, from, now, delay);
}

/* Arguments: whether it is preempted, who runs until now and from now on, and the state of the
 * former (Linux 5.18). */
SEC("tp_btf/sched_switch")
int ebt_offcpu_switch(uint64_t *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct sched_thread *out = 0, *in = 0;
	uint32_t cpu = bpf_get_smp_processor_id();
	struct cpu_waiters *w = bpf_map_lookup_elem(&ebt_cpu_waiters, &cpu);
	if (prev->bpf_storage)
		out = bpf_task_storage_get(&ebt_threads, prev, 0, 0);
	if (next->bpf_storage)
		in = bpf_task_storage_get(&ebt_threads, next, 0, 0);
	int waited_for = w && w->any_used;
	uint64_t clock = in || waited_for ? queue_clock(next) : 0;
	if (waited_for)
		note_run(w, prev, clock);
	/* The compiler would combine the pointers, which the verifier refuses. */
	uint64_t any = in != 0;
	asm volatile("" : "+r"(any));
	if (!out && !any)
		return 0;
	uint64_t now = clock_now();
	if (out)
		leave(out, prev, next, w, ctx[0] & 1 ? 0 : (uint32_t)ctx[3], now);
	if (in)
		arrive(in, prev, next, clock, now);
	return 0;
}

/* Not by the current thread itself: on the stack of interrupts, or on the thread's own above its
 * user mode, as faults are, too. The kernel's count of interrupts is not to be had by all of its
 * builds. */
static __always_inline uint32_t in_interrupt(struct sched_thread *t, struct task_struct *task)
{
	uint64_t here;
	/* Of a program that has little on its stack, this is the thread's, or that of interrupts.
	 * Through memory, or the verifier does not let an address be a number. */
	*(void *volatile *)&t->scratch = &here;
	uint64_t depth = *(volatile any_word *)&t->scratch - (uint64_t)task->stack;
	return depth >= STACK_BYTES || syscall_of(task) < 0;
}

SEC("tp_btf/sched_waking")
int ebt_offcpu_waking(uint64_t *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	if (!task->bpf_storage)
		return 0;
	struct sched_thread *t = bpf_task_storage_get(&ebt_threads, task, 0, 0);
	if (!t)
		return 0;
	struct task_struct *waker = bpf_get_current_task_btf();
	t->woken = clock_now();
	t->waker = pidns_thread(waker);
	t->interrupt = in_interrupt(t, waker);
	copy_comm(t->waker_comm, waker);
	return 0;
}

/* ---- threads ---- */

static __always_inline struct sched_thread *adopt(struct task_struct *task)
{
	uint32_t pid = pidns_process(task);
	const uint32_t *slot = bpf_map_lookup_elem(&ebt_traced, &pid);
	struct sched_thread *t = 0;
	if (slot)
		t = bpf_task_storage_get(&ebt_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (t)
		t->slot = *slot;
	return t;
}

/* Until then the process may have had one thread alone. */
static __always_inline void emit_thread(struct task_struct *task)
{
	uint32_t pid = pidns_process(task);
	const uint32_t *slot = bpf_map_lookup_elem(&ebt_traced, &pid);
	if (!slot)
		return;
	struct ebt_thread_record *rec = bpf_ringbuf_reserve(&ebt_channel, sizeof(*rec), 0);
	if (!rec) {
		channel_drop_event(EBT_NO_POS);
		return;
	}
	channel_head(&rec->head, EBT_RECORD_THREAD, *slot, 0);
	rec->ts = clock_now();
	rec->dropped = channel_dropped();
	rec->reserved = 0;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

/* Attached behind ebt_process_fork, which adds a child to the traced ones. */
SEC("tp_btf/sched_process_fork")
int ebt_offcpu_fork(uint64_t *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *task = (void *)ctx[1];
	if (parent->tgid == task->tgid)
		emit_thread(task);
	adopt(task);
	return 0;
}

/* No record follows that of the process's end. */
SEC("tp_btf/sched_process_exit")
int ebt_offcpu_exit(uint64_t *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct sched_thread *t = bpf_task_storage_get(&ebt_threads, task, 0, 0);
	if (!t)
		return 0;
	if (t->from)
		emit_late(t, task, clock_now());
	t->slot = EBT_NO_SLOT;
	leave_room(t);
	return 0;
}

/* The threads of processes that were attached to. What they wait for they have begun before. */
SEC("iter/task")
int ebt_offcpu_begin(uint64_t *ctx)
{
	struct task_struct *task = (void *)ctx[1];
	if (!task)
		return 0;
	if (bpf_task_storage_get(&ebt_threads, task, 0, 0))
		return 0;
	struct sched_thread *t = adopt(task);
	uint32_t state = task->__state;
	if (!t || task->on_cpu || state & STATE_DEAD)
		return 0;
	note_reason(t, task, state);
	t->run_delay = task->sched_info.run_delay;
	__sync_val_compare_and_swap(&t->from, 0, clock_now());
	return 0;
}

static __always_inline void fill_open(struct ebt_offcpu_record *rec, struct sched_thread *t,
				      struct task_struct *task, uint64_t from, uint64_t now)
{
	fill(rec, t, task, from, now);
	rec->head.cpu = EBT_NO_CPU;
	rec->open = 1;
	if (!rec->woken)
		rec->waker = rec->interrupt = 0;
	if (!rec->woken)
		__builtin_memset(rec->waker_comm, 0, EBT_COMM_BYTES);
	rec->run_delay = task->sched_info.run_delay - t->run_delay;
	t->run_delay += rec->run_delay;
}

/* Nonzero: there is no room. */
static __always_inline long emit_open(struct sched_thread *t, struct task_struct *task,
				      uint64_t from, uint64_t now)
{
	struct ebt_offcpu_record *rec = channel_reserve(sizeof(*rec), EBT_NO_POS);
	if (!rec)
		return 1;
	fill_open(rec, t, task, from, now);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The thread may run on meanwhile, and keep another stack: this one is without, then. */
static __always_inline long emit_open_room(const struct room *k, struct sched_thread *t,
					   struct task_struct *task, uint64_t from, uint64_t now)
{
	uint64_t changes = *(volatile uint64_t *)&k->changes;
	struct ebt_offcpu_record *rec = channel_reserve(sizeof(*rec) + ROOM_PAYLOAD, EBT_NO_POS);
	if (!rec)
		return 1;
	fill_open(rec, t, task, from, now);
	struct ebt_sample_record *sample = (struct ebt_sample_record *)(rec + 1);
	if (!bpf_probe_read_kernel(sample, ROOM_PAYLOAD, &k->sample) && !(changes & 1) &&
	    changes == *(volatile uint64_t *)&k->changes)
		rec->head.size = (uint16_t)(sizeof(*sample) + sample->head.size);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Records the intervals that are open, which go on as new ones. */
SEC("iter/task")
int ebt_offcpu_flush(uint64_t *ctx)
{
	struct task_struct *task = (void *)ctx[1];
	if (!task)
		return 0;
	struct sched_thread *t = bpf_task_storage_get(&ebt_threads, task, 0, 0);
	if (!t || t->slot == EBT_NO_SLOT)
		return 0;
	uint64_t now = clock_now(), from = t->from;
	if (from && task->on_cpu)
		emit_late(t, task, now);
	if (!from || task->on_cpu || now - from < ebt_offcpu_min_ns ||
	    __sync_val_compare_and_swap(&t->from, from, now) != from)
		return 0;
	faults_leave_out(task, now - from);
	const struct room *k = now - from >= ebt_offcpu_stack_min_ns ? kept_of(t) : 0;
	if (k ? emit_open_room(k, t, task, from, now) : emit_open(t, task, from, now))
		channel_drop_event(EBT_NO_POS);
	return 0;
}
