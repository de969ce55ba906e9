/* SPDX-License-Identifier: BSD-2-Clause */
/* What a handler of SIGSYS sees of the trapped system call on 64-bit Arm, and can give it. */
#ifndef TESTS_TRAP_AARCH64_H
#define TESTS_TRAP_AARCH64_H

#include <ucontext.h>

#define TRAP_ARGUMENT(uc) ((uc)->uc_mcontext.regs[0])
#define TRAP_RESULT(uc)	  ((uc)->uc_mcontext.regs[0])

#endif
