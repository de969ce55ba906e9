/* SPDX-License-Identifier: BSD-2-Clause */
/* The addresses of the gates of <ebtrace/probes.h> on 64-bit Arm; only that header uses it. */
#ifndef EBTRACE_GATE_AARCH64_H
#define EBTRACE_GATE_AARCH64_H

#include <stdint.h>

/* Through the GOT: a copy relocation would split the gate in two, and the kernel would count in the
 * one that the program does not read. */
static inline const uint64_t *ebt_gate_word(void)
{
	const uint64_t *gate;
	__asm__("adrp %0, :got:ebt_gate\n\tldr %0, [%0, #:got_lo12:ebt_gate]" : "=r"(gate));
	return gate;
}
static inline const uint64_t *ebt_page_gate_word(void)
{
	const uint64_t *gate;
	__asm__("adrp %0, :got:ebt_page_gate\n\tldr %0, [%0, #:got_lo12:ebt_page_gate]"
		: "=r"(gate));
	return gate;
}

#endif
