/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/marker_operands.h"

const char *const marker_operands[MARKER_OPERANDS] = {
	[MARKER_ID] = "4@x0",	  [MARKER_NAME] = "8@x1", [MARKER_VALUE] = "8@x2",
	[MARKER_LENGTH] = "8@x3", [MARKER_RING] = "4@x4", [MARKER_TS] = "8@x5",
	[MARKER_POS] = "8@x6",
};
