/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers of our markers' arguments, one file for each processor,
 * marker_operands_PROCESSOR.c. They have to be those of bpf/registers_PROCESSOR.bpf.h and of
 * usdt-probes/marker_PROCESSOR.h.
 */
#ifndef RUNTIME_MARKER_OPERANDS_H
#define RUNTIME_MARKER_OPERANDS_H

enum marker_operand {
	MARKER_ID,
	MARKER_NAME,
	MARKER_VALUE,
	MARKER_LENGTH,
	MARKER_RING,
	MARKER_TS,
	MARKER_POS,
	MARKER_OPERANDS,
};

/* As notes have them, of an unsigned value. */
extern const char *const marker_operands[MARKER_OPERANDS];

#endif
