/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The registers of x86-64; see registers.bpf.h. */
#ifndef EBT_REGISTERS_X86_64_BPF_H
#define EBT_REGISTERS_X86_64_BPF_H

#define REGS_ID(regs)	 ((regs)->di)
#define REGS_VALUE(regs) ((regs)->dx)
#define REGS_BYTES(regs) ((regs)->r10)
#define REGS_RING(regs)	 ((regs)->cx)
#define REGS_TS(regs)	 ((regs)->r8)
#define REGS_POS(regs)	 ((regs)->r9)

#define REGS_CALL_0(regs) ((regs)->di)
#define REGS_CALL_1(regs) ((regs)->si)
#define REGS_CALL_2(regs) ((regs)->dx)
#define REGS_RESULT(regs) ((regs)->ax)
#define REGS_IP(regs)	  ((regs)->ip)
#define REGS_SP(regs)	  ((regs)->sp)
#define REGS_FP(regs)	  ((regs)->bp)

#define REGS_KEPT(regs)	   ((regs)->bx)
#define REGS_IS_USER(regs) ((regs)->cs & 3)

#define REGS_THREAD(task) BPF_CORE_READ(task, thread.fsbase)

#endif
