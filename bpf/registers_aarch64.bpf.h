/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The registers of 64-bit Arm, of which a program sees a struct user_pt_regs; see
 * registers.bpf.h. */
#ifndef EBT_REGISTERS_AARCH64_BPF_H
#define EBT_REGISTERS_AARCH64_BPF_H

#define REGS_USER(context) ((const struct user_pt_regs *)(context))

#define REGS_ID(regs)	 (REGS_USER(regs)->regs[0])
#define REGS_VALUE(regs) (REGS_USER(regs)->regs[2])
#define REGS_BYTES(regs) (REGS_USER(regs)->regs[3])
#define REGS_RING(regs)	 (REGS_USER(regs)->regs[4])
#define REGS_TS(regs)	 (REGS_USER(regs)->regs[5])
#define REGS_POS(regs)	 (REGS_USER(regs)->regs[6])

#define REGS_CALL_0(regs) (REGS_USER(regs)->regs[0])
#define REGS_CALL_1(regs) (REGS_USER(regs)->regs[1])
#define REGS_CALL_2(regs) (REGS_USER(regs)->regs[2])
#define REGS_RESULT(regs) (REGS_USER(regs)->regs[0])
#define REGS_IP(regs)	  (REGS_USER(regs)->pc)
#define REGS_SP(regs)	  (REGS_USER(regs)->sp)
#define REGS_FP(regs)	  (REGS_USER(regs)->regs[29])

#define REGS_KEPT(regs)	   (REGS_USER(regs)->regs[19])
#define REGS_IS_USER(regs) (!(REGS_USER(regs)->pstate & 0xf))

#define REGS_THREAD(task) BPF_CORE_READ(task, thread.uw.tp_value)

#endif
