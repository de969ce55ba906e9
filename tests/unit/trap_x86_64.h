/* SPDX-License-Identifier: BSD-2-Clause */
/* What a handler of SIGSYS sees of the trapped system call on x86-64, and can give it. */
#ifndef TESTS_TRAP_X86_64_H
#define TESTS_TRAP_X86_64_H

#include <ucontext.h>

#define TRAP_ARGUMENT(uc) ((uc)->uc_mcontext.gregs[REG_RDI])
#define TRAP_RESULT(uc)	  ((uc)->uc_mcontext.gregs[REG_RAX])

#endif
