/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The registers of 64-bit Arm, of which a program sees a struct user_pt_regs; see
 * registers.bpf.h. */
#ifndef EBT_REGISTERS_AARCH64_BPF_H
#define EBT_REGISTERS_AARCH64_BPF_H

#define REGS_USER(context) ((const struct user_pt_regs *)(context))

#define REGS_ID(r)    (REGS_USER(r)->regs[0])
#define REGS_VALUE(r) (REGS_USER(r)->regs[2])
#define REGS_BYTES(r) (REGS_USER(r)->regs[3])
#define REGS_RING(r)  (REGS_USER(r)->regs[4])
#define REGS_TS(r)    (REGS_USER(r)->regs[5])
#define REGS_POS(r)   (REGS_USER(r)->regs[6])

#define REGS_CALL_0(r) (REGS_USER(r)->regs[0])
#define REGS_CALL_1(r) (REGS_USER(r)->regs[1])
#define REGS_CALL_2(r) (REGS_USER(r)->regs[2])
#define REGS_RESULT(r) (REGS_USER(r)->regs[0])
#define REGS_IP(r)     (REGS_USER(r)->pc)
#define REGS_SP(r)     (REGS_USER(r)->sp)
#define REGS_FP(r)     (REGS_USER(r)->regs[29])

#define REGS_KEPT(r)	(REGS_USER(r)->regs[19])
#define REGS_IS_USER(r) (!(REGS_USER(r)->pstate & 0xf))

#define REGS_THREAD(task) BPF_CORE_READ(task, thread.uw.tp_value)

#endif
