/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The USDT markers: one 1-byte nop and one .note.stapsdt entry each, written by our own assembly.
 *
 * <sys/sdt.h> would let the compiler choose where the arguments live; here every marker has them
 * in the same registers, so that one BPF program reads all markers straight from pt_regs:
 *
 *   edi id | rsi name | rdx value or pointer | r10 bytes or count | ecx ring | r8 ts | r9 pos
 *
 * The high half of rcx is the event's ordinal in its ring; the note names the low half only.
 * Each function below is one site and is not inlined, so the notes list every marker once. The
 * nop stays 1 byte long: kernels that turn a 5-byte nop into a call overwrite the red zone.
 */
#ifndef EBT_MARKER_H
#define EBT_MARKER_H

#include <stdint.h>

#define EBT_NO_RING 0xffffu

/* The tail that every event marker has; ring_seq is ring | seq << 32. Markers take it by value, so
 * that a probe nobody traces keeps it in registers. */
struct ebt_tail {
	uint64_t ring_seq;
	uint64_t ts;
	uint64_t pos;
};

#if defined(__x86_64__)

/* ebt_gate by a hidden name, so that an executable's own ebt_gate cannot stand for the library's
 * in the note. */
#define EBT_SEMAPHORE_EVENTS  "ebt_gate_own"
#define EBT_SEMAPHORE_REQUEST "ebt_gate_own+2"
#define EBT_SEMAPHORE_NONE    "0"

#define EBT_SITE(name, semaphore, args)                                          \
	"990:	nop\n"                                                             \
	"	.pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
	"	.balign 4\n"                                                           \
	"	.4byte 992f-991f, 994f-993f, 3\n"                                      \
	"991:	.asciz \"stapsdt\"\n"                                              \
	"992:	.balign 4\n"                                                       \
	"993:	.8byte 990b\n"                                                     \
	"	.8byte _.stapsdt.base\n"                                               \
	"	.8byte " semaphore "\n"                                          \
	"	.asciz \"ebtrace\"\n"                                                  \
	"	.asciz \"" name "\"\n"                                           \
	"	.asciz \"" args "\"\n"                                           \
	"994:	.balign 4\n"                                                       \
	"	.popsection\n"                                                         \
	"	.ifndef _.stapsdt.base\n"                                              \
	"	.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
	"	.weak _.stapsdt.base\n"                                                \
	"	.hidden _.stapsdt.base\n"                                              \
	"_.stapsdt.base: .space 1\n"                                             \
	"	.size _.stapsdt.base, 1\n"                                             \
	"	.popsection\n"                                                         \
	"	.endif\n"

#define EBT_TAIL_ARGS "4@%%ecx 8@%%r8 8@%%r9"

#define EBT_FIRE(name, semaphore, args, id, str, value, bytes, tail)                      \
	do {                                                                              \
		register uint64_t r10_ __asm__("r10") = (bytes);                          \
		register uint64_t r8_ __asm__("r8") = (tail).ts;                          \
		register uint64_t r9_ __asm__("r9") = (tail).pos;                         \
		__asm__ volatile(EBT_SITE(name, semaphore, args)                          \
				 :                                                        \
				 : "D"((uint64_t)(id)), "S"(str), "d"((uint64_t)(value)), \
				   "r"(r10_), "c"((tail).ring_seq), "r"(r8_), "r"(r9_)    \
				 : "memory");                                             \
	} while (0)
#else
/* No markers on other machines yet known to us: the rings work without them. */
#define EBT_TAIL_ARGS ""
#define EBT_FIRE(name, semaphore, args, id, str, value, bytes, tail)                 \
	do {                                                                         \
		(void)(id), (void)(str), (void)(value), (void)(bytes), (void)(tail); \
	} while (0)
#endif

#if defined(__clang__)
#define EBT_ONE_SITE static __attribute__((noinline, unused))
#else
#define EBT_ONE_SITE static __attribute__((noinline, noclone, unused))
#endif

/* Markers of the kind "id name", and of the kind "id name value". */
#define EBT_DEFINE_MARKER(name)                                                                  \
	EBT_ONE_SITE void ebt_marker_##name(uint32_t id, const char *str, struct ebt_tail tail)  \
	{                                                                                        \
		EBT_FIRE(#name, EBT_SEMAPHORE_EVENTS, "4@%%edi 8@%%rsi " EBT_TAIL_ARGS, id, str, \
			 0, 0, tail);                                                            \
	}
#define EBT_DEFINE_VALUE_MARKER(name, operand)                                                   \
	EBT_ONE_SITE void ebt_marker_##name(uint32_t id, const char *str, uint64_t value,        \
					    struct ebt_tail tail)                                \
	{                                                                                        \
		EBT_FIRE(#name, EBT_SEMAPHORE_EVENTS,                                            \
			 "4@%%edi 8@%%rsi " operand " " EBT_TAIL_ARGS, id, str, value, 0, tail); \
	}

#endif
