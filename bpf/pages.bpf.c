// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Watches the pages of traced processes: faults by perf events of their own threads, at the end of
 * the fault, when the page is mapped, so that no other process pays for it; and the system calls
 * that unmap, return and move pages. Addresses and lengths are the program's own, unchecked.
 */
#include "channel.bpf.h"

#include <bpf/bpf_core_read.h>

/* Of the kernel's interface to programs. */
#define MAP_FIXED	    0x10
#define MAP_FIXED_NOREPLACE 0x100000
#define MAP_LOCKED	    0x2000
#define MAP_POPULATE	    0x8000
#define MADV_DONTNEED	    4
#define MADV_FREE	    8
#define MADV_REMOVE	    9
#define MADV_PAGEOUT	    21
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#define MADV_DONTNEED_LOCK  24 /* MADV_DONTNEED_LOCKED */
#define MADV_COLLAPSE	    25
#define MADV_GUARD_INSTALL  102

/* Set before load. */
const volatile uint64_t ebt_page_bytes = 4096;

/* A call that a thread is in; change: an enum ebt_page_change, NO_CALL: none that matters. */
#define NO_CALL UINT32_MAX
struct call {
	uint32_t change;
	uint32_t confirmed; /* its record is made when it has succeeded */
	uint64_t addr, bytes, to_bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call);
} ebt_page_calls SEC(".maps");

/* 0: the current process is not traced. */
static __always_inline int traced_slot(uint32_t *ret)
{
	uint32_t pid = pidns_current_process();
	const uint32_t *slot = bpf_map_lookup_elem(&ebt_traced, &pid);
	if (!slot)
		return 0;
	*ret = *slot;
	return 1;
}

static __always_inline void emit(uint32_t slot, uint32_t change, const struct call *c, uint64_t to)
{
	struct ebt_page_record *rec = bpf_ringbuf_reserve(&ebt_channel, sizeof(*rec), 0);
	if (!rec) {
		channel_drop_event(EBT_NO_POS);
		return;
	}
	struct task_struct *task = (void *)bpf_get_current_task();
	channel_head(&rec->head, EBT_RECORD_PAGES, slot, (uint16_t)change);
	rec->ts = clock_now();
	rec->dropped = channel_dropped();
	rec->reserved = 0;
	rec->mm = (uint64_t)BPF_CORE_READ(task, mm);
	rec->addr = c->addr;
	rec->bytes = c->bytes;
	rec->to = to;
	rec->to_bytes = c->to_bytes;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

/* ---- faults ---- */

static __always_inline int fault(uint64_t addr, uint64_t bytes)
{
	uint32_t slot;
	if (!traced_slot(&slot))
		return 0;
	struct call page = {.addr = addr & ~(bytes - 1), .bytes = bytes};
	emit(slot, EBT_PAGES_FAULT, &page, 0);
	return 0;
}

/*
 * The kernel has read the page table for the sample (Linux 6.3). A page without a physical address
 * is no memory: the page of zeroes, which is mapped when memory is read before it is written, or a
 * device. The context is the kernel's own structure, and read as other memory of the kernel. A cast
 * function (Linux 6.2) is not used: on older kernels libbpf searches all modules for it, which
 * needs CAP_SYS_ADMIN.
 */
SEC("perf_event")
int ebt_page_fault(struct bpf_perf_event_data *ctx)
{
	struct bpf_perf_event_data_kern *kern = (void *)ctx;
	struct perf_sample_data *data = BPF_CORE_READ(kern, data);
	if (!BPF_CORE_READ(data, phys_addr))
		return 0;
	uint64_t bytes = BPF_CORE_READ(data, data_page_size);
	if (!bytes || bytes & (bytes - 1))
		bytes = ebt_page_bytes;
	return fault(ctx->addr, bytes);
}

SEC("perf_event")
int ebt_page_fault_plain(struct bpf_perf_event_data *ctx)
{
	return fault(ctx->addr, ebt_page_bytes);
}

/* ---- system calls ---- */

/* The call is under way; unless it is to be confirmed, its record is made now. */
static __always_inline int enter(const struct call *c)
{
	uint32_t slot;
	if (!traced_slot(&slot))
		return 0;
	if (!c->confirmed)
		emit(slot, c->change, c, 0);
	struct call *kept = bpf_task_storage_get(&ebt_page_calls, bpf_get_current_task_btf(), 0,
						 BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (kept)
		*kept = *c;
	return 0;
}

static __always_inline int leave(const struct trace_event_raw_sys_exit *ctx)
{
	long ret = ctx->ret;
	struct call *kept = bpf_task_storage_get(&ebt_page_calls, bpf_get_current_task_btf(), 0, 0);
	uint32_t slot;
	if (!kept || kept->change == NO_CALL)
		return 0;
	struct call c = *kept;
	kept->change = NO_CALL;
	int failed = ret < 0 && ret >= -4095;
	if ((failed && c.confirmed) || !traced_slot(&slot))
		return 0;
	/* What has failed may have been done in part. */
	if (failed)
		emit(slot, EBT_PAGES_CHECK, &c, 0);
	else
		emit(slot, c.confirmed ? c.change : EBT_PAGES_DONE, &c, (uint64_t)ret);
	return 0;
}

SEC("tp/syscalls/sys_enter_munmap")
int ebt_enter_munmap(struct trace_event_raw_sys_enter *ctx)
{
	struct call c = {.change = EBT_PAGES_UNMAP, .addr = ctx->args[0], .bytes = ctx->args[1]};
	return enter(&c);
}

SEC("tp/syscalls/sys_enter_mmap")
int ebt_enter_mmap(struct trace_event_raw_sys_enter *ctx)
{
	uint64_t flags = ctx->args[3];
	struct call c = {.change = EBT_PAGES_UNMAP, .addr = ctx->args[0], .bytes = ctx->args[1]};
	if (flags & MAP_FIXED && !(flags & MAP_FIXED_NOREPLACE))
		enter(&c);
	if (!(flags & (MAP_LOCKED | MAP_POPULATE)))
		return 0;
	c.change = EBT_PAGES_CHECK;
	c.confirmed = 1;
	return enter(&c);
}

SEC("tp/syscalls/sys_enter_mremap")
int ebt_enter_mremap(struct trace_event_raw_sys_enter *ctx)
{
	struct call c = {.change = EBT_PAGES_MOVE,
			 .confirmed = 1,
			 .addr = ctx->args[0],
			 .bytes = ctx->args[1],
			 .to_bytes = ctx->args[2]};
	return enter(&c);
}

/* It returns the end that the heap then has, whether or not it could be changed. */
SEC("tp/syscalls/sys_enter_brk")
int ebt_enter_brk(struct trace_event_raw_sys_enter *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	uint64_t end = ctx->args[0], is = BPF_CORE_READ(task, mm, brk);
	if (end < BPF_CORE_READ(task, mm, start_brk) || end >= is)
		return 0;
	uint64_t from = (end + ebt_page_bytes - 1) & ~(ebt_page_bytes - 1);
	uint64_t to = (is + ebt_page_bytes - 1) & ~(ebt_page_bytes - 1);
	struct call c = {.change = EBT_PAGES_UNMAP, .addr = from, .bytes = to - from};
	return from < to ? enter(&c) : 0;
}

SEC("tp/syscalls/sys_enter_madvise")
int ebt_enter_madvise(struct trace_event_raw_sys_enter *ctx)
{
	struct call c = {.addr = ctx->args[0], .bytes = ctx->args[1]};
	switch ((int)ctx->args[2]) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCK:
	case MADV_REMOVE:
	case MADV_GUARD_INSTALL:
		c.change = EBT_PAGES_DROP;
		break;
	case MADV_FREE:
		c.change = EBT_PAGES_LAZY;
		break;
	case MADV_PAGEOUT:
	case MADV_POPULATE_READ:
	case MADV_POPULATE_WRITE:
	case MADV_COLLAPSE:
		c.change = EBT_PAGES_CHECK;
		c.confirmed = 1;
		break;
	default:
		return 0;
	}
	return enter(&c);
}

SEC("tp/syscalls/sys_exit_munmap")
int ebt_leave_munmap(struct trace_event_raw_sys_exit *ctx)
{
	return leave(ctx);
}

SEC("tp/syscalls/sys_exit_mmap")
int ebt_leave_mmap(struct trace_event_raw_sys_exit *ctx)
{
	return leave(ctx);
}

SEC("tp/syscalls/sys_exit_mremap")
int ebt_leave_mremap(struct trace_event_raw_sys_exit *ctx)
{
	return leave(ctx);
}

SEC("tp/syscalls/sys_exit_brk")
int ebt_leave_brk(struct trace_event_raw_sys_exit *ctx)
{
	return leave(ctx);
}

SEC("tp/syscalls/sys_exit_madvise")
int ebt_leave_madvise(struct trace_event_raw_sys_exit *ctx)
{
	return leave(ctx);
}
