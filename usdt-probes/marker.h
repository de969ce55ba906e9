/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The USDT markers: one nop and one .note.stapsdt entry each, written by our own assembly.
 *
 * <sys/sdt.h> would let the compiler choose the operands; here every marker has its arguments in
 * the same registers, so that one BPF program reads all markers straight from pt_regs. The
 * processor's header defines these registers:
 *
 *   EBT_REG_     ID    NAME   VALUE   BYTES  RING   TS  POS
 *   x86-64       edi   rsi    rdx     r10    ecx    r8  r9
 *   64-bit Arm   w0    x1     x2      x3     w4     x5  x6
 *
 * VALUE may be a pointer and BYTES a count. The high half of RING is the event's ordinal in its
 * ring; the note names the low half only (EBT_ARG_RING). Each function below is one site and is not
 * inlined, so the notes list every marker once. The nop of x86-64 stays 1 byte long: kernels that
 * turn a 5-byte nop into a call overwrite the red zone.
 */
#ifndef EBT_MARKER_H
#define EBT_MARKER_H

#include <stdint.h>

#if defined(__x86_64__)
#include "marker_x86_64.h"
#elif defined(__aarch64__)
#include "marker_aarch64.h"
#else
#error "no registers are chosen for this processor's markers: write its header"
#endif

#define EBT_NO_RING 0xffffu

/* The tail of every event marker; ring_seq is ring | seq << 32. Passed by value, so that an
 * untraced probe keeps it in registers. */
struct ebt_tail {
	uint64_t ring_seq;
	uint64_t ts;
	uint64_t pos;
};

/* ebt_gate by a hidden name, so that an executable's own ebt_gate cannot stand for the library's
 * in the note. */
#define EBT_SEMAPHORE_EVENTS  "ebt_gate_own"
#define EBT_SEMAPHORE_REQUEST "ebt_gate_own+2"
#define EBT_SEMAPHORE_NONE    "0"

#define EBT_SITE(provider, name, semaphore, args)                                \
	"990:	nop\n"                                                             \
	"	.pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
	"	.balign 4\n"                                                           \
	"	.4byte 992f-991f, 994f-993f, 3\n"                                      \
	"991:	.asciz \"stapsdt\"\n"                                              \
	"992:	.balign 4\n"                                                       \
	"993:	.8byte 990b\n"                                                     \
	"	.8byte _.stapsdt.base\n"                                               \
	"	.8byte " semaphore "\n"                                          \
	"	.asciz \"" provider "\"\n"                                       \
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

#define EBT_TAIL_ARGS EBT_ARG_RING " " EBT_ARG_TS " " EBT_ARG_POS

#define EBT_FIRE_OF(provider, marker, semaphore, args, id, name, value, bytes, tail)           \
	do {                                                                                   \
		register uint64_t id_ __asm__(EBT_REG_ID) = (uint64_t)(id);                    \
		register const char *name_ __asm__(EBT_REG_NAME) = (name);                     \
		register uint64_t value_ __asm__(EBT_REG_VALUE) = (uint64_t)(value);           \
		register uint64_t bytes_ __asm__(EBT_REG_BYTES) = (bytes);                     \
		register uint64_t ring_ __asm__(EBT_REG_RING) = (tail).ring_seq;               \
		register uint64_t ts_ __asm__(EBT_REG_TS) = (tail).ts;                         \
		register uint64_t pos_ __asm__(EBT_REG_POS) = (tail).pos;                      \
		__asm__ volatile(EBT_SITE(provider, marker, semaphore, args)                   \
				 :                                                             \
				 : "r"(id_), "r"(name_), "r"(value_), "r"(bytes_), "r"(ring_), \
				   "r"(ts_), "r"(pos_)                                         \
				 : "memory");                                                  \
	} while (0)

/* A marker of our own provider. */
#define EBT_FIRE(...) EBT_FIRE_OF("ebtrace", __VA_ARGS__)

/* For a function that is a site: keeps the compiler from cloning it. */
#if defined(__clang__)
#define EBT_ONE_SITE __attribute__((noinline, unused))
#else
#define EBT_ONE_SITE __attribute__((noinline, noclone, unused))
#endif

/* Markers of the kind "id name", and of the kind "id name value". */
#define EBT_DEFINE_MARKER(marker)                                                              \
	EBT_ONE_SITE static void ebt_marker_##marker(uint32_t id, const char *name,            \
						     struct ebt_tail tail)                     \
	{                                                                                      \
		EBT_FIRE(#marker, EBT_SEMAPHORE_EVENTS,                                        \
			 EBT_ARG_ID " " EBT_ARG_NAME " " EBT_TAIL_ARGS, id, name, 0, 0, tail); \
	}
#define EBT_DEFINE_VALUE_MARKER(marker, arg)                                                     \
	EBT_ONE_SITE static void ebt_marker_##marker(uint32_t id, const char *name,              \
						     uint64_t value, struct ebt_tail tail)       \
	{                                                                                        \
		EBT_FIRE(#marker, EBT_SEMAPHORE_EVENTS,                                          \
			 EBT_ARG_ID " " EBT_ARG_NAME " " arg " " EBT_TAIL_ARGS, id, name, value, \
			 0, tail);                                                               \
	}

#endif
