/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/marker_operands.h"

const char *const marker_operands[MARKER_OPERANDS] = {
	[MARKER_ID] = "4@%edi",	    [MARKER_NAME] = "8@%rsi", [MARKER_VALUE] = "8@%rdx",
	[MARKER_LENGTH] = "8@%r10", [MARKER_RING] = "4@%ecx", [MARKER_TS] = "8@%r8",
	[MARKER_POS] = "8@%r9",
};
