/* SPDX-License-Identifier: BSD-2-Clause */
/* The cycle counter of 64-bit Arm, the virtual count of the generic timer; see cycles.h. */
#ifndef EBT_CYCLES_AARCH64_H
#define EBT_CYCLES_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

#define EBT_CYCLES_CLOCKSOURCE "arch_sys_counter\n"

static inline uint64_t ebt_cycles(void)
{
	uint64_t count;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
	return count;
}

static inline bool ebt_cycles_constant(void)
{
	return true; /* by the architecture */
}

#endif
