/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The registers of a probed thread. Each processor's header defines, for a struct pt_regs:
 *   REGS_ID, REGS_VALUE, REGS_BYTES, REGS_RING, REGS_TS, REGS_POS
 *                       the arguments of a marker, as usdt-probes/marker.h assigns them
 *   REGS_CALL_0, _1, _2 the arguments of the probed function, while they are intact
 *   REGS_RESULT, REGS_IP, REGS_SP
 *   REGS_FP             what is the frame pointer of code that has one
 *   REGS_KEPT           that has OCaml's stack pointer when it calls C without saving it
 *   REGS_IS_USER        whether they are those of a program, not of the kernel
 *   REGS_THREAD(task)   the thread pointer, with which thread-local storage is found
 */
#ifndef EBT_REGISTERS_BPF_H
#define EBT_REGISTERS_BPF_H

#if defined(__TARGET_ARCH_arm64)
#include "registers_aarch64.bpf.h"
#else
#include "registers_x86_64.bpf.h"
#endif

#endif
