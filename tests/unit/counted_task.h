/* SPDX-License-Identifier: BSD-2-Clause */
/* The running thread with what the kernel counts of it, for the BPF programs that count pauses. */
#ifndef TESTS_COUNTED_TASK_H
#define TESTS_COUNTED_TASK_H

#include <stdint.h>

#define BPF_MAP_TYPE_TASK_STORAGE      29
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define __BPF_CORE_READ_H__

struct task_struct {
	uint64_t self_exec_id;
	struct {
		uint64_t run_delay;
	} sched_info;
	uint64_t nvcsw, nivcsw, min_flt, maj_flt;
	struct {
		uint64_t nr_migrations;
	} se;
};
static struct task_struct thread;

static struct task_struct *bpf_get_current_task_btf(void)
{
	return &thread;
}

#endif
