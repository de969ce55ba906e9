/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a BPF program calls, in the place of the kernel and of libbpf's headers: the program is
 * included behind it, as a user program. struct pt_regs is the test's, whose layout is that of the
 * registers that the program reads.
 */
#ifndef TESTS_BPF_HELPERS_H
#define TESTS_BPF_HELPERS_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define __VMLINUX_H__
#define __BPF_HELPERS__
#define SEC(name)
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define __weak		  __attribute__((weak))
#define __noinline	  __attribute__((noinline))

#define POOL_BYTES 16384
#define THREAD	   4242u
#define CPU	   3u

static struct {
	bool full, unreadable; /* the ring buffer; memory of the traced process */
	uintptr_t low, high;   /* all of that memory; 0: it has no bounds */
	uint64_t cookie;
	_Alignas(8) unsigned char rec[POOL_BYTES];
	size_t reserved; /* bytes of the last record */
	int records;	 /* submitted */
	uint64_t flags;	 /* of the last one */
} kernel;

static void *bpf_ringbuf_reserve(void *map, uint64_t size, uint64_t flags)
{
	(void)map;
	(void)flags;
	kernel.reserved = size;
	/* What an earlier record left there must not come through. */
	memset(kernel.rec, 0xa5, sizeof(kernel.rec));
	return kernel.full ? NULL : kernel.rec;
}

static void bpf_ringbuf_submit(void *data, uint64_t flags)
{
	kernel.records += data == kernel.rec;
	kernel.flags = flags;
}

__attribute__((unused)) static long bpf_probe_read_user(void *dst, uint32_t size, const void *from)
{
	uintptr_t at = (uintptr_t)from;
	if (kernel.unreadable || at < 4096 ||
	    (kernel.high && (at < kernel.low || at > kernel.high || kernel.high - at < size)))
		return -14;
	memcpy(dst, from, size);
	return 0;
}

__attribute__((unused)) static uint64_t bpf_get_attach_cookie(void *ctx)
{
	(void)ctx;
	return kernel.cookie;
}

__attribute__((unused)) static long bpf_probe_read_kernel(void *dst, uint32_t size,
							  const void *from)
{
	memcpy(dst, from, size);
	return 0;
}

static uint64_t bpf_get_current_pid_tgid(void)
{
	return 77ull << 32 | THREAD;
}

static uint32_t bpf_get_smp_processor_id(void)
{
	return CPU;
}

/* A program's clock is ahead of the tracer's by so much. */
__attribute__((unused)) static uint64_t clock_ahead_ns;
#define EBTRACE_CLOCK_BPF_H
#define clock_now()	     bpf_ktime_get_ns()
#define clock_of_program(ns) ((ns)-clock_ahead_ns)

/* The tracer is in the initial pid namespace. */
#define EBTRACE_PIDNS_BPF_H
#define pidns_process(task)	((uint32_t)(task)->tgid)
#define pidns_process_of(task)	pidns_process(task)
#define pidns_thread(task)	((uint32_t)(task)->pid)
#define pidns_current_process() ((uint32_t)(bpf_get_current_pid_tgid() >> 32))
#define pidns_current_thread()	((uint32_t)bpf_get_current_pid_tgid())

#endif
