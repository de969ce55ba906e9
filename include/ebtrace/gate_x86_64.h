/* SPDX-License-Identifier: BSD-2-Clause */
/* The addresses of the gates of <ebtrace/probes.h> on x86-64; only that header uses it. */
#ifndef EBTRACE_GATE_X86_64_H
#define EBTRACE_GATE_X86_64_H

#include <stdint.h>

/* Through the GOT: a copy relocation would split the gate in two, and the kernel would count in the
 * one that the program does not read. Linked statically it is one lea. */
static inline const uint64_t *ebt_gate_word(void)
{
	const uint64_t *gate;
	__asm__("movq ebt_gate@GOTPCREL(%%rip), %0" : "=r"(gate));
	return gate;
}
static inline const uint64_t *ebt_page_gate_word(void)
{
	const uint64_t *gate;
	__asm__("movq ebt_page_gate@GOTPCREL(%%rip), %0" : "=r"(gate));
	return gate;
}

#endif
