/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The kernel types that the BPF programs use, and no more. The structures of the kernel's insides
 * name only the members that are read: libbpf finds each one's place in the running kernel's BTF
 * (preserve_access_index), so their order and size here mean nothing. README.md says how to add
 * one. struct pt_regs and the context of a raw tracepoint are the kernel's ABI and complete.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;

typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s32 int32_t;
typedef __s64 int64_t;
#define UINT16_MAX 0xffff
#define UINT32_MAX 0xffffffffu
#define UINT64_MAX 0xffffffffffffffffull

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_STACK_TRACE = 7,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};
enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};
enum {
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};
struct user_pt_regs { /* of AArch64 */
	__u64 regs[31];
	__u64 sp, pc, pstate;
};
struct bpf_raw_tracepoint_args {
	__u64 args[0];
};
struct bpf_perf_event_data {
#if defined(__TARGET_ARCH_arm64)
	struct user_pt_regs regs;
#else
	struct pt_regs regs;
#endif
	__u64 sample_period;
	__u64 addr;
};
struct trace_event_raw_sys_enter {
	__u64 ent;
	long id;
	unsigned long args[6];
};
struct trace_event_raw_sys_exit {
	__u64 ent;
	long id;
	long ret;
};
struct bpf_pidns_info {
	__u32 pid;
	__u32 tgid;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct ns_common {
	unsigned int inum;
};
struct pid_namespace {
	struct ns_common ns;
};
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[1];
};
struct signal_struct {
	atomic_t live;
};
struct thread_struct {
#if defined(__TARGET_ARCH_arm64)
	struct {
		unsigned long tp_value;
	} uw;
#else
	unsigned long fsbase;
#endif
};
struct mm_struct {
	unsigned long start_brk, brk;
};
struct rq {
	uint64_t clock;
};
struct cfs_rq {
	struct rq *rq; /* where task groups are scheduled */
};
struct sched_entity {
	struct cfs_rq *cfs_rq;
	uint64_t nr_migrations;
};
struct sched_info {
	unsigned long long run_delay, last_arrival, last_queued;
};
struct bpf_local_storage;
struct timespec64 {
	int64_t tv_sec;
	long tv_nsec;
};
struct timens_offsets {
	struct timespec64 monotonic;
};
struct time_namespace {
	struct timens_offsets offsets;
};
struct nsproxy {
	struct time_namespace *time_ns;
};
struct task_struct {
	unsigned int __state;
	void *stack;
	int on_cpu;
	int pid;
	unsigned int in_iowait : 1;
	char comm[16];
	struct sched_entity se;
	struct sched_info sched_info;
	struct bpf_local_storage *bpf_storage;
	struct thread_struct thread;
	int tgid;
	unsigned long nvcsw, nivcsw;
	unsigned long min_flt, maj_flt;
	uint64_t start_boottime;
	uint64_t self_exec_id;
	struct task_struct *group_leader, *real_parent;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct nsproxy *nsproxy;
};
struct pt_regs___x86 {
	unsigned long orig_ax;
};
struct pt_regs___arm64 {
	int syscallno;
};
struct super_block {
	unsigned int s_dev;
};
struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
};
struct vm_area_struct {
	unsigned long vm_flags;
	struct file *vm_file;
};
struct file {
	struct inode *f_inode;
};
struct perf_sample_data {
	uint64_t phys_addr;
	uint64_t data_page_size;
};
struct bpf_perf_event_data_kern {
	struct perf_sample_data *data;
};
struct linux_binprm {
	struct file *file;
	const char *interp; /* the path that was executed, of a script its interpreter's */
};

#pragma clang attribute pop

#endif
