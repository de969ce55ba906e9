/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processor's cycle counter, for clock.h. Each processor's header defines
 *   ebt_cycles()              reads the counter; neither serialises nor makes a system call
 *   EBT_CYCLES_CLOCKSOURCE    the kernel's name of a clock source made of this counter
 *   ebt_cycles_constant()     true if it counts at one rate, whatever the processor's frequency
 */
#ifndef EBT_CYCLES_H
#define EBT_CYCLES_H

#if defined(__x86_64__)
#include "cycles_x86_64.h"
#elif defined(__aarch64__)
#include "cycles_aarch64.h"
#else
#error "no cycle counter is known for this processor: write its header"
#endif

#endif
