/* SPDX-License-Identifier: BSD-2-Clause */
/* The cycle counter of x86-64, the TSC; see cycles.h. */
#ifndef EBT_CYCLES_X86_64_H
#define EBT_CYCLES_X86_64_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>
#include <x86intrin.h>

#define EBT_CYCLES_CLOCKSOURCE "tsc\n"

static inline uint64_t ebt_cycles(void)
{
	return __rdtsc();
}

static inline bool ebt_cycles_constant(void)
{
	unsigned int a, b, c, d;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

#endif
