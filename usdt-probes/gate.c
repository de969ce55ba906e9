/* SPDX-License-Identifier: BSD-2-Clause */
#include "gate.h"

/* In a section with contents: the kernel finds the semaphores by their offset in the file. */
__attribute__((section(".probes"), aligned(8), used)) struct ebt_gate ebt_gate = {0};
extern struct ebt_gate ebt_gate_own __attribute__((alias("ebt_gate"), visibility("hidden")));

__attribute__((section(".probes"), aligned(8), used)) struct ebt_page_gate ebt_page_gate = {0};
extern struct ebt_page_gate ebt_page_gate_own
	__attribute__((alias("ebt_page_gate"), visibility("hidden")));
