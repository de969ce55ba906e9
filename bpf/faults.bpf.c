// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Measures the page faults in pauses by perf events of the traced threads: one where the kernel
 * begins to handle a fault, one where it has mapped a page. A fault that fails has no end: the next
 * one begins anew, and its time is not counted.
 */
#include "faults.bpf.h"

SEC("perf_event")
int ebt_fault_begin(void *ctx)
{
	struct fault_time *f = bpf_task_storage_get(&ebt_faults, bpf_get_current_task_btf(), 0, 0);
	(void)ctx;
	if (f)
		f->from = f->pauses ? bpf_ktime_get_ns() : 0;
	return 0;
}

SEC("perf_event")
int ebt_fault_end(void *ctx)
{
	struct fault_time *f = bpf_task_storage_get(&ebt_faults, bpf_get_current_task_btf(), 0, 0);
	(void)ctx;
	if (!f || !f->from)
		return 0;
	f->ns += bpf_ktime_get_ns() - f->from;
	f->from = 0;
	return 0;
}
