// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/records.h"

#include "base/clock.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "bpf/abi.h"
#include "codec/ring/ids.h"
#include "proc/process.h"
#include "proc/usage.h"
#include "session/offcpu.h"
#include "session/pause_counts.h"
#include "session/processes.h"
#include "session/versions.h"
#include "source/bpf/kernel_stacks.h"
#include "source/bpf/samples.h"

/* The layout of a record of the ring buffer (bpf/abi.h), by its type: where its body ends, what its
 * time is, whether it is an event. */

/* The bytes of a record of an event or of control before its payload; 0: it is neither. */
static size_t bpf_record_body(const struct ebt_record *head)
{
	switch (head->type) {
	case EBT_RECORD_MARKER:
		return sizeof(struct ebt_marker_record);
	case EBT_RECORD_OCAML:
		return sizeof(struct ebt_ocaml_record);
	case EBT_RECORD_ALLOC:
		return sizeof(struct ebt_alloc_record);
	case EBT_RECORD_PAGES:
		return sizeof(struct ebt_page_record);
	case EBT_RECORD_OFFCPU:
		return sizeof(struct ebt_offcpu_record);
	case EBT_RECORD_STACK:
		return sizeof(struct ebt_stack_record);
	case EBT_RECORD_THREAD:
		return sizeof(struct ebt_thread_record);
	case EBT_RECORD_LANE:
		return sizeof(struct ebt_lane_record);
	case EBT_RECORD_USDT:
		return sizeof(struct ebt_usdt_record);
	case EBT_RECORD_SAMPLE:
		return sizeof(struct ebt_sample_record);
	}
	return 0;
}

/* In all of them the time follows the head, and then the count of what was dropped. */
#define HAS_BOTH(type)                                             \
	(offsetof(struct type, ts) == sizeof(struct ebt_record) && \
	 offsetof(struct type, dropped) == sizeof(struct ebt_record) + sizeof(uint64_t))
_Static_assert(HAS_BOTH(ebt_marker_record) && HAS_BOTH(ebt_ocaml_record) &&
		       HAS_BOTH(ebt_process_record) && HAS_BOTH(ebt_alloc_record) &&
		       HAS_BOTH(ebt_page_record) && HAS_BOTH(ebt_offcpu_record) &&
		       HAS_BOTH(ebt_stack_record) && HAS_BOTH(ebt_thread_record) &&
		       HAS_BOTH(ebt_lane_record) && HAS_BOTH(ebt_usdt_record) &&
		       HAS_BOTH(ebt_sample_record),
	       "time and count are behind the head");

/* Of a record that is not too short. */
static uint64_t bpf_record_ns(const struct ebt_record *head)
{
	return ((const struct ebt_thread_record *)head)->ts;
}

static uint32_t bpf_record_dropped(const struct ebt_record *head)
{
	return ((const struct ebt_thread_record *)head)->dropped;
}

/* True for an event or control of a record that is not too short. */
static bool bpf_record_is_control(const struct ebt_record *head)
{
	return head->type == EBT_RECORD_MARKER && head->site >= EBT_SITE_CONTROL;
}

/* The payload of a record of `size` bytes whose body has `body`; SIZE_MAX: the record is too
 * short. */
static size_t bpf_record_payload(const struct ebt_record *head, size_t size, size_t body)
{
	if (size < body)
		return SIZE_MAX;
	return head->size < size - body ? head->size : size - body;
}

/* The period in which a record that waits for symbols is tried. */
#define RETRY_NS 2000000u

int bpf_records_init(struct bpf_records *s, const struct bpf_records_options *opt)
{
	*s = (struct bpf_records){.opt = *opt};
	return opt->stacks_of ? kernel_stacks_new(opt->session, opt->stacks_of, &s->kernel_stacks)
			      : 0;
}

void bpf_records_done(struct bpf_records *s)
{
	bpf_spool_done(&s->spool);
	kernel_stacks_free(s->kernel_stacks);
}

void bpf_records_begin_poll(struct bpf_records *s, uint64_t now_ns)
{
	s->started_ns = now_ns;
	bpf_losses_begin_poll(s->opt.losses, now_ns);
}

void bpf_records_until(struct bpf_records *s, uint64_t now_ns)
{
	s->until_ns = now_ns;
}

void bpf_records_stop(struct bpf_records *s)
{
	s->stopped = true;
	s->opt.losses->hold_ns = 0;
	bpf_traced_stop(s->opt.traced);
}

int bpf_records_emit(struct bpf_records *s, const struct ebt_event *ev)
{
	s->events++;
	return bpf_lanes_add(s->opt.lanes, 0, ev);
}

/* As stat() has it. */
static uint64_t device(uint64_t of_kernel)
{
	return makedev((unsigned)(of_kernel >> 20), (unsigned)(of_kernel & 0xfffff));
}

/* NULL: not known. */
static const char *exec_path(const struct ebt_process_record *rec, size_t payload)
{
	const char *path = (const char *)(rec + 1);
	return payload && !path[payload - 1] ? path : NULL;
}

/* The start as /proc has it, in ticks. */
static struct process_start start_of(const struct bpf_records *s,
				     const struct ebt_process_record *rec)
{
	uint64_t boot_ns = rec->start_boot_ns + (uint64_t)s->opt.boottime_offset_ns;
	return (struct process_start){.boot_ns = usage_whole_ticks_ns(boot_ns),
				      .known = rec->start_boot_ns != 0};
}

/* Of a record of a process that is not traced, as that of its fork was dropped. */
static int find_process(const struct bpf_records *s, const struct ebt_process_record *rec,
			uint32_t *ret)
{
	struct processes *ps = &s->opt.session->processes;
	struct process_start start = start_of(s, rec);
	bool is_own = start.known && rec->head.site != EBT_PROCESS_FORK;
	int err = is_own ? processes_begin(ps, rec->pid, &start, ret)
			 : processes_of(ps, rec->pid, ret);
	if (!err && rec->head.site == EBT_PROCESS_EXIT)
		processes_end_unused(ps, *ret);
	return err;
}

/* What the old program of a process had allocated is gone. */
static int collect_objects(struct bpf_records *s, struct bpf_process *proc,
			   const struct ebt_event *exec)
{
	uint64_t *object;
	ssize_t n = alloc_process_exec(&proc->allocs, &object);
	struct ebt_event ev = *exec;
	int err = n < 0 ? (int)n : 0;
	ev.kind = EBT_COLLECT;
	ev.id = 0;
	for (ssize_t i = 0; i < n && !err; i++) {
		ev.arg[0] = object[i];
		err = bpf_lanes_add(s->opt.lanes, proc->slot, &ev);
	}
	if (n >= 0)
		free(object);
	return err;
}

/* The name of a process, for its first span: a scan that reads it may come later. */
static void call_process(const struct bpf_records *s, struct bpf_process *proc)
{
	struct process *p = processes_at(&s->opt.session->processes, proc->process);
	if (proc->called || *p->comm)
		return;
	proc->called = true;
	process_read_text(proc->pid, "comm", p->comm, sizeof(p->comm));
	p->comm[strcspn(p->comm, "\n")] = 0;
	proc->was_called = *p->comm;
}

/* It has another name now. */
static void forget_call(const struct bpf_records *s, struct bpf_process *proc)
{
	if (proc->was_called)
		*processes_at(&s->opt.session->processes, proc->process)->comm = 0;
	proc->called = proc->was_called = false;
}

static int receive_process(struct bpf_records *s, const struct ebt_process_record *rec,
			   size_t payload)
{
	struct bpf_process *proc = bpf_traced_get(s->opt.traced, rec->head.slot);
	pid_t pid = (pid_t)rec->pid;
	struct ebt_event ev = {
		.ts = rec->ts,
		.pos = EBT_NO_POS,
		.process = proc ? proc->process : PROCESS_UNKNOWN,
		.tid = rec->head.tid,
		.kind = EBT_PROCESS,
		.domain = EBT_NO_DOMAIN,
		.cpu = rec->head.cpu,
		.flags = EBT_F_BPF,
		.id = rec->head.site,
		.arg = {rec->head.site == EBT_PROCESS_FORK ? rec->child_pid : 0, 0},
	};
	struct processes *ps = &s->opt.session->processes;
	int err = 0;
	if (!proc)
		err = find_process(s, rec, &ev.process);
	if (!err && proc && rec->head.site == EBT_PROCESS_EXEC)
		err = collect_objects(s, proc, &ev);
	if (s->opt.usdt && rec->head.site != EBT_PROCESS_FORK)
		usdt_events_end(s->opt.usdt, ev.process);
	if (!err && s->opt.counted && rec->head.site == EBT_PROCESS_EXEC)
		err = bpf_counted_end(s->opt.counted, rec->head.slot, rec->ts);
	if (!err)
		err = bpf_lanes_add(s->opt.lanes, rec->head.slot, &ev);
	if (rec->head.site == EBT_PROCESS_FORK) {
		struct bpf_birth birth = {
			.parent = proc,
			.start = start_of(s, rec),
			.ts = rec->shares_memory ? 0 : rec->ts,
			.shares_memory = rec->shares_memory != 0,
			.clock_ahead_ns = rec->clock_ahead_ns,
			.comm = *rec->comm ? rec->comm : NULL,
		};
		bpf_traced_add_child(s->opt.traced, (pid_t)rec->child_pid, rec->child_slot, &birth,
				     s->started_ns);
	} else if (proc && rec->head.site == EBT_PROCESS_EXEC) {
		forget_call(s, proc);
		process_set_clock(processes_at(ps, proc->process), rec->clock_ahead_ns);
		if (s->opt.threads)
			processes_lone(ps, proc->process, rec->ts);
		bpf_traced_exec(s->opt.traced, proc, rec->ts,
				&(struct bpf_program){.dev = device(rec->device),
						      .inode = rec->inode,
						      .path = exec_path(rec, payload)});
		if (s->opt.pages)
			err = page_user_exec(s->opt.pages, &proc->pages, rec->mm, rec->ts);
		bpf_traced_report_exec(s->opt.traced, proc, rec->ts, rec->comm);
	} else if (proc && rec->head.site == EBT_PROCESS_EXIT) {
		bpf_traced_exited(s->opt.traced, proc, rec->ts);
		bpf_traced_report(s->opt.traced, pid, PROCESS_EXITED, rec->ts);
	} else if (!proc && rec->head.site == EBT_PROCESS_EXIT &&
		   bpf_traced_take_slot(s->opt.traced, rec->head.slot)) {
		/* The record of its fork was dropped: its slot has no process. */
		bpf_traced_free_slot(s->opt.traced, rec->head.slot);
	}
	return err;
}

static void receive_control(struct bpf_records *s, struct bpf_process *proc, uint16_t site,
			    uint64_t ts)
{
	if (site == EBT_SITE_RING_START)
		bpf_traced_report(s->opt.traced, proc->pid, PROCESS_RING_STARTED, ts);
	else if (site == EBT_SITE_RING_NEEDED)
		bpf_traced_report(s->opt.traced, proc->pid, PROCESS_RING_NEEDED, ts);
}

/* Names the process's producer before its first event is emitted. */
static void name_runtime(struct bpf_records *s, struct bpf_process *proc,
			 struct runtime_version version)
{
	struct process *p = processes_announce(&s->opt.session->processes, proc->process);
	struct traits traits = versions_traits(version);
	/* What has a ring of another producer besides is of that. */
	if (*p->producer) {
		traits.runtime.language = p->traits.runtime.language;
		traits.hides_user_events = p->traits.hides_user_events;
	}
	p->traits = traits;
	if (!*p->producer)
		snprintf(p->producer, sizeof(p->producer), "%s", versions_text(version).text);
	bpf_process_named(proc);
}

/* Makes an interval without a CPU the arguments of an EBT_OFFCPU. 0 or -ENOMEM. */
static int put_offcpu(struct session *s, struct ebt_event *ev, const struct ebt_offcpu_record *rec,
		      enum ebt_sample_end ends)
{
	struct offcpu o = {
		.begin_ns = rec->from < rec->ts ? rec->from : rec->ts,
		.end_ns = rec->ts,
		.run_delay_ns = rec->run_delay,
		.reason = (enum ebt_offcpu_reason)rec->head.site,
		.syscall = rec->syscall,
		.waker = rec->waker,
		.runner = rec->runner,
		.runner_cpu = rec->runner_cpu,
		.interrupt = rec->interrupt,
		.open = rec->open,
		.ends = ends,
	};
	if (rec->woken && rec->woken < rec->ts)
		o.wait_ns = rec->ts - (rec->woken > o.begin_ns ? rec->woken : o.begin_ns);
	memcpy(o.waker_comm, rec->waker_comm, sizeof(o.waker_comm));
	memcpy(o.runner_comm, rec->runner_comm, sizeof(o.runner_comm));
	return offcpu_put(s, ev, &o);
}

_Static_assert(EBT_PAUSE_UNKNOWN == PAUSE_UNKNOWN, "both say so in the same way");

/* Makes the counts of a pause, if the payload is these, the arguments of an EBT_END. 0 or
 * -ENOMEM. */
static int put_pause(struct bpf_records *s, struct ebt_event *ev, const void *payload, size_t bytes)
{
	struct ebt_pause_counts u;
	if (ev->kind != EBT_END || bytes < sizeof(u))
		return 0;
	memcpy(&u, payload, sizeof(u));
	if (u.run_delay == EBT_PAUSE_UNKNOWN && !s->lacks_counts) {
		messages_at(&s->opt.session->messages, LOG_NORMAL,
			    "this kernel does not count how long a thread waits for a CPU "
			    "(CONFIG_SCHED_INFO): pauses are shown without");
		s->lacks_counts = true;
	}
	return pause_counts_put(s->opt.session, ev,
				&(struct pause_counts){{
					[PAUSE_RUN_DELAY] = u.run_delay,
					[PAUSE_VOLUNTARY] = u.voluntary,
					[PAUSE_INVOLUNTARY] = u.involuntary,
					[PAUSE_MINOR_FAULTS] = u.minor_faults,
					[PAUSE_MAJOR_FAULTS] = u.major_faults,
					[PAUSE_MIGRATIONS] = u.migrations,
					[PAUSE_FAULT_NS] = u.fault_ns,
				}});
}

static int queue(struct bpf_records *s, struct bpf_process *proc, struct ebt_event *ev)
{
	if (s->opt.stacks)
		event_stacks_give(s->opt.stacks, proc->slot, ev);
	/* Lane 0 holds back what is newer than its horizon: for ever, if the traced program says
	 * that it comes from the future. */
	if (ev->domain == EBT_NO_DOMAIN && ev->ts > s->started_ns) {
		uint64_t now = now_ns();
		if (ev->ts > now)
			ev->ts = now;
	}
	s->events++;
	/* Where an event of a ring is missing, its position says so. */
	bool counts = ev->kind < EBT_LOST && ev->pos == EBT_NO_POS;
	int err = counts ? bpf_losses_event(s->opt.losses, proc->slot, ev, s->dropped) : 0;
	return err ? err : bpf_lanes_add(s->opt.lanes, proc->slot, ev);
}

static struct ebt_event new_event(const struct bpf_process *proc, const struct ebt_record *head,
				  uint64_t ts)
{
	return (struct ebt_event){
		.ts = ts,
		.pos = EBT_NO_POS,
		.process = proc->process,
		.tid = head->tid,
		.cpu = head->cpu,
		.flags = EBT_F_BPF,
	};
}

/* The phase, counter or lifecycle as all releases number it. */
static uint32_t canonical_id(const struct ebt_ocaml_record *rec)
{
	uint32_t known = UINT32_MAX;
	const uint16_t *table = NULL;
	switch (rec->kind) {
	case EBT_BEGIN:
	case EBT_END:
		table = ring_canonical_phases((enum ebt_release)rec->release, &known);
		break;
	case EBT_COUNTER:
		known = ring_counters();
		break;
	case EBT_LIFECYCLE:
		known = ring_lifecycles();
		break;
	case EBT_ALLOC_SIZES:
		return 0;
	}
	if (rec->id >= known)
		return rec->id | EBT_UNKNOWN_ID;
	return table ? table[rec->id] : rec->id;
}

static int receive_ocaml(struct bpf_records *s, struct bpf_process *proc,
			 const struct ebt_ocaml_record *rec, size_t payload)
{
	char name[EBT_ROOM_NAME + 1];
	struct ebt_event ev = new_event(proc, &rec->head, rec->ts);
	ev.kind = rec->kind;
	ev.domain = rec->domain;
	ev.id = canonical_id(rec);
	if (rec->kind == EBT_COUNTER || rec->kind == EBT_LIFECYCLE || rec->kind == EBT_INT)
		ev.arg[0] = rec->value;
	/* A value of the program's own type, and the sizes that it has not counted, are not
	 * there. */
	if (rec->kind == EBT_CUSTOM || rec->kind == EBT_ALLOC_SIZES)
		ev.flags |= EBT_F_CUT;
	int err = 0;
	processes_announce(&s->opt.session->processes, proc->process);
	if (!proc->named)
		name_runtime(s, proc, versions_by_release(rec->release));
	if (payload && ev.kind != EBT_END) {
		size_t bytes = payload < EBT_ROOM_NAME ? payload : EBT_ROOM_NAME;
		memcpy(name, rec + 1, bytes);
		name[bytes] = 0;
		err = processes_set_user_name(&s->opt.session->processes, ev.process, ev.id, name);
	}
	if (!err)
		err = put_pause(s, &ev, rec + 1, payload);
	if (!err)
		err = queue(s, proc, &ev);
	if (err)
		session_drop_event(s->opt.session, &ev);
	return err;
}

/* The kinds whose value is one; in the others the register holds whatever the caller left there. */
#define KINDS_WITH_VALUE (1u << EBT_COUNTER | 1u << EBT_LIFECYCLE | 1u << EBT_INT)

static int receive_marker(struct bpf_records *s, struct bpf_process *proc,
			  const struct ebt_marker_record *rec, size_t payload)
{
	struct ebt_event ev = new_event(proc, &rec->head, rec->ts);
	ev.pos = rec->pos;
	ev.kind = rec->head.site;
	ev.domain = (uint16_t)rec->ring;
	ev.id = (uint32_t)rec->id;
	ev.seq = (uint32_t)(rec->ring >> 32);
	if (rec->pos != EBT_NO_POS)
		ev.flags |= EBT_F_SEQ;
	if (ev.kind < 32 && KINDS_WITH_VALUE >> ev.kind & 1)
		ev.arg[0] = rec->value;
	int err = 0;
	processes_announce(&s->opt.session->processes, proc->process);
	if (ev.kind == EBT_SPAN_BEGIN)
		call_process(s, proc);
	if (ev.kind == EBT_CUSTOM || ev.kind == EBT_ALLOC_SIZES) {
		if (rec->value > payload)
			ev.flags |= EBT_F_CUT;
		err = session_put_blob(s->opt.session, &ev, rec + 1, payload);
	}
	if (!err)
		err = put_pause(s, &ev, rec + 1, payload);
	if (!err)
		err = queue(s, proc, &ev);
	if (err)
		session_drop_event(s->opt.session, &ev);
	return err;
}

static int receive_alloc(struct bpf_records *s, struct bpf_process *proc,
			 const struct ebt_alloc_record *rec, size_t payload)
{
	struct ebt_event ev[ALLOC_EVENTS_MAX] = {new_event(proc, &rec->head, rec->ts)};
	struct alloc_context of = {s->opt.session, s->opt.code, proc->process, proc->pid};
	ev->domain = EBT_NO_DOMAIN;
	int n = alloc_process_receive(&proc->allocs, &of, rec, payload, ev);
	processes_announce(&s->opt.session->processes, proc->process);
	for (int i = 0; i < n; i++) {
		int err = queue(s, proc, &ev[i]);
		if (err) {
			session_drop_event(s->opt.session, &ev[n - 1]);
			return err;
		}
	}
	return n < 0 ? n : 0;
}

static int receive_usdt(struct bpf_records *s, struct bpf_process *proc,
			const struct ebt_usdt_record *rec, size_t payload)
{
	struct ebt_event ev = new_event(proc, &rec->head, rec->ts);
	if (!s->opt.usdt)
		return 0;
	processes_announce(&s->opt.session->processes, proc->process);
	call_process(s, proc);
	int err = usdt_events_make(s->opt.usdt, rec, payload, &ev);
	if (err == -ENOENT)
		return 0;
	if (!err)
		err = queue(s, proc, &ev);
	if (err)
		session_drop_event(s->opt.session, &ev);
	return err;
}

static int receive_stack(struct bpf_records *s, struct bpf_process *proc,
			 const struct ebt_stack_record *rec, size_t payload)
{
	struct c_stack_of of = {s->opt.code, &proc->allocs.code, &proc->allocs.calls, proc->pid};
	return s->opt.stacks ? event_stacks_receive(s->opt.stacks, &of, rec, payload) : 0;
}

/* Queues an event of a thread that has its stack and its domain. A helper of a domain's thread has
 * that domain, too: such events of one domain may be of one time. */
static int queue_sample(struct bpf_records *s, const struct bpf_process *proc,
			const struct ebt_event *ev)
{
	struct ebt_event outside = *ev;
	outside.domain = EBT_NO_DOMAIN;
	int err = bpf_losses_event(s->opt.losses, proc->slot, &outside, s->dropped);
	if (!err)
		err = bpf_lanes_put(s->opt.lanes, proc->slot, EBT_NO_DOMAIN, ev);
	s->events += !err;
	return err;
}

static int receive_sample(struct bpf_records *s, struct bpf_process *proc,
			  const struct ebt_sample_record *rec, size_t payload)
{
	struct c_stack_of of = {s->opt.code, &proc->allocs.code, &proc->allocs.calls, proc->pid};
	struct ebt_event ev = new_event(proc, &rec->head, rec->ts);
	processes_announce(&s->opt.session->processes, proc->process);
	int err = samples_make(&of, rec, payload, s->opt.sample_ns, &ev);
	if (!err && s->kernel_stacks)
		err = kernel_stacks_add(s->kernel_stacks, rec->kernel, &ev);
	if (!err)
		err = queue_sample(s, proc, &ev);
	if (err)
		session_drop_event(s->opt.session, &ev);
	return err;
}

/* The stack at the begin of an interval, if its record has one. */
static int put_stack(struct bpf_records *s, struct bpf_process *proc,
		     const struct ebt_offcpu_record *rec, size_t payload, struct ebt_event *ev,
		     enum ebt_sample_end *ret)
{
	struct c_stack_of of = {s->opt.code, &proc->allocs.code, &proc->allocs.calls, proc->pid};
	const struct ebt_sample_record *sample = (const void *)(rec + 1);
	if (payload < sizeof(*sample))
		return 0;
	if (s->opt.offcpu_domain)
		ev->domain = sample->domain;
	return samples_put_stack(&of, sample, payload - sizeof(*sample), ev, ret);
}

static int receive_offcpu(struct bpf_records *s, struct bpf_process *proc,
			  const struct ebt_offcpu_record *rec, size_t payload)
{
	enum ebt_sample_end ends = EBT_SAMPLE_WHOLE;
	if ((pid_t)rec->pid != proc->pid)
		return 0;
	struct ebt_event ev = new_event(proc, &rec->head, rec->ts);
	ev.kind = EBT_OFFCPU;
	ev.domain = EBT_NO_DOMAIN;
	processes_announce(&s->opt.session->processes, proc->process);
	int err = put_stack(s, proc, rec, payload, &ev, &ends);
	if (!err)
		err = put_offcpu(s->opt.session, &ev, rec, ends);
	if (!err)
		err = payload ? queue_sample(s, proc, &ev) : queue(s, proc, &ev);
	if (err)
		session_drop_event(s->opt.session, &ev);
	return err;
}

/* Its event opens the lane for those that read: it has no other meaning. */
static int receive_lane(struct bpf_records *s, struct bpf_process *proc,
			const struct ebt_lane_record *rec)
{
	struct ebt_event ev = new_event(proc, &rec->head, rec->ts);
	ev.kind = EBT_ALLOC_SIZES;
	ev.flags |= EBT_F_CUT;
	ev.domain = rec->where & EBT_COUNT_THREAD ? EBT_NO_DOMAIN : (uint16_t)rec->where;
	processes_announce(&s->opt.session->processes, proc->process);
	if (rec->release && !proc->named)
		name_runtime(s, proc, versions_by_release(rec->release));
	if (!s->opt.counted)
		return 0;
	int err = bpf_counted_add(s->opt.counted, proc->slot, proc->pid, proc->process, rec);
	return err ? err : queue(s, proc, &ev);
}

size_t bpf_records_bytes(const struct bpf_records *s)
{
	return s->opt.lanes->waiting * sizeof(struct ebt_event) +
	       session_blob_bytes(s->opt.session);
}

static uint16_t domain_of(const struct ebt_record *head)
{
	if (head->type == EBT_RECORD_MARKER)
		return (uint16_t)((const struct ebt_marker_record *)head)->ring;
	if (head->type == EBT_RECORD_OCAML)
		return ((const struct ebt_ocaml_record *)head)->domain;
	return EBT_NO_DOMAIN;
}

/* A record of a process; its time in *ret_ts. */
static int receive_event(struct bpf_records *s, struct bpf_process *proc,
			 const struct ebt_record *head, size_t size, uint64_t *ret_ts)
{
	size_t body = bpf_record_body(head), payload = bpf_record_payload(head, size, body);
	if (!body || payload == SIZE_MAX)
		return 0;
	*ret_ts = bpf_record_ns(head);
	if (bpf_record_is_control(head)) {
		receive_control(s, proc, head->site, *ret_ts);
		return 0;
	}
	/* While probes are removed, one at a time, the records are not complete. */
	if (s->until_ns && *ret_ts > s->until_ns)
		return 0;
	s->dropped = bpf_record_dropped(head);
	/* That of a stack is one of the event that follows. */
	int err = head->type == EBT_RECORD_STACK
			  ? 0
			  : bpf_losses_record(s->opt.losses, proc->slot, domain_of(head), *ret_ts,
					      s->dropped);
	if (err)
		return err;
	switch (head->type) {
	case EBT_RECORD_OCAML:
		return receive_ocaml(s, proc, (const void *)head, payload);
	case EBT_RECORD_ALLOC:
		return receive_alloc(s, proc, (const void *)head, payload);
	case EBT_RECORD_PAGES:
		return s->opt.pages
			       ? page_user_receive(s->opt.pages, &proc->pages, (const void *)head)
			       : 0;
	case EBT_RECORD_STACK:
		return receive_stack(s, proc, (const void *)head, payload);
	case EBT_RECORD_OFFCPU:
		return receive_offcpu(s, proc, (const void *)head, payload);
	case EBT_RECORD_SAMPLE:
		return receive_sample(s, proc, (const void *)head, payload);
	case EBT_RECORD_LANE:
		return receive_lane(s, proc, (const void *)head);
	case EBT_RECORD_USDT:
		return receive_usdt(s, proc, (const void *)head, payload);
	case EBT_RECORD_THREAD:
		processes_not_lone(&s->opt.session->processes, proc->process, *ret_ts);
		return 0;
	}
	return receive_marker(s, proc, (const void *)head, payload);
}

/* An event of a process that is not known, as the record of its fork was dropped. */
static void count_stray(struct bpf_records *s, const struct ebt_record *head, size_t size)
{
	const struct ebt_marker_record *marker = (const void *)head;
	size_t body = bpf_record_body(head);
	if (!body || size < body || bpf_record_is_control(head) || head->type == EBT_RECORD_STACK ||
	    head->type == EBT_RECORD_THREAD || (s->until_ns && bpf_record_ns(head) > s->until_ns))
		return;
	/* What has a position is in a ring. */
	if (head->type != EBT_RECORD_MARKER || marker->pos == EBT_NO_POS)
		bpf_losses_stray(s->opt.losses);
}

static int receive_mapped(struct bpf_records *s, const struct ebt_mapped_record *rec, size_t size)
{
	if (size < sizeof(*rec))
		return 0;
	s->received_ns = rec->ts;
	bpf_traced_report(s->opt.traced, (pid_t)rec->pid, PROCESS_MAPPED, rec->ts);
	return 0;
}

/* Of a process that was not traced, where all are. */
static void receive_unknown(struct bpf_records *s, const struct ebt_process_record *rec)
{
	const struct bpf_birth found = {.start = start_of(s, rec),
					.clock_ahead_ns = rec->clock_ahead_ns,
					.was_there = true};
	if (rec->head.site != EBT_PROCESS_FORK) {
		bpf_traced_report(s->opt.traced, (pid_t)rec->pid, PROCESS_EXECED, rec->ts);
		return;
	}
	bpf_traced_add_child(s->opt.traced, (pid_t)rec->child_pid, rec->child_slot, &found,
			     s->started_ns);
	struct bpf_process *proc = bpf_traced_get(s->opt.traced, rec->child_slot);
	if (!proc)
		return;
	struct process *p = processes_at(&s->opt.session->processes, proc->process);
	snprintf(p->comm, sizeof(p->comm), "%.*s", (int)sizeof(rec->comm), rec->comm);
	proc->called = proc->was_called = true;
}

int bpf_records_receive(void *ctx, const void *data, size_t size)
{
	struct bpf_records *s = ctx;
	const struct ebt_record *head = data;
	uint64_t ts = s->received_ns;
	int err = 0;
	if (size < sizeof(*head))
		return 0;
	if (head->type == EBT_RECORD_MAPPED)
		return receive_mapped(s, data, size);
	struct bpf_process *proc = bpf_traced_get(s->opt.traced, head->slot);
	size_t payload = bpf_record_payload(head, size, sizeof(struct ebt_process_record));
	if (head->type == EBT_RECORD_PROCESS && payload != SIZE_MAX && head->slot == EBT_NO_SLOT) {
		ts = bpf_record_ns(head);
		receive_unknown(s, data);
	} else if (head->type == EBT_RECORD_PROCESS && payload != SIZE_MAX) {
		ts = bpf_record_ns(head);
		err = bpf_losses_record(s->opt.losses, head->slot, EBT_NO_DOMAIN, ts,
					bpf_record_dropped(head));
		err = err ? err : receive_process(s, data, payload);
	} else if (proc) {
		err = receive_event(s, proc, head, size, &ts);
	} else {
		count_stray(s, head, size);
	}
	if (err)
		return err;
	bool full = bpf_records_bytes(s) >= s->opt.queue_bytes;
	s->received_ns = ts;
	return full && !s->stopped ? -ENOBUFS : 0;
}

static bool has_stack(const struct ebt_record *head)
{
	return head->type == EBT_RECORD_STACK || head->type == EBT_RECORD_ALLOC ||
	       head->type == EBT_RECORD_SAMPLE || (head->type == EBT_RECORD_OFFCPU && head->size);
}

/* A record that takes its time: frames are looked up, files are inspected, probes are attached. */
static bool is_slow(const struct ebt_record *head)
{
	return has_stack(head) || head->type == EBT_RECORD_PROCESS || bpf_record_is_control(head);
}

/* Mappings that were never read, which the process may not have any more when it is dispatched. */
static void read_mappings(struct bpf_records *s, const struct ebt_record *head)
{
	struct bpf_process *proc = bpf_traced_get(s->opt.traced, head->slot);
	if (has_stack(head) && s->opt.code && proc && !proc->allocs.code.read_ns)
		code_map_read(s->opt.code, &proc->allocs.code, proc->pid, false);
}

int bpf_records_take(void *ctx, const void *data, size_t size)
{
	struct bpf_records *s = ctx;
	if (size < sizeof(struct ebt_record))
		return 0;
	bool slow = is_slow(data);
	if (!slow && !bpf_spool_bytes(&s->spool))
		return bpf_records_receive(s, data, size);
	if (slow)
		read_mappings(s, data);
	int err = bpf_spool_put(&s->spool, data, size);
	bool full = bpf_spool_bytes(&s->spool) >= s->opt.queue_bytes;
	return err ? err : full && !s->stopped ? -ENOBUFS : 0;
}

int bpf_records_dispatch(struct bpf_records *s, uint64_t until_ns)
{
	const void *record;
	size_t bytes;
	if (bpf_records_bytes(s) >= s->opt.queue_bytes && !s->stopped)
		return bpf_spool_bytes(&s->spool) ? -ENOBUFS : 0;
	if (now_ns() < s->retry_ns && !s->stopped)
		return -EAGAIN;
	while ((record = bpf_spool_next(&s->spool, &bytes))) {
		int err = bpf_records_receive(s, record, bytes);
		if (err == -EAGAIN) { /* a process reads symbols for it meanwhile */
			bpf_spool_return(&s->spool, bytes);
			s->retry_ns = now_ns() + RETRY_NS;
		}
		if (err)
			return err;
		if (now_ns() >= until_ns)
			return bpf_spool_bytes(&s->spool) != 0;
	}
	return 0;
}
