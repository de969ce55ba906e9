/* SPDX-License-Identifier: BSD-2-Clause */
/* spanned FILE STEP...: offcpu, with a span "step" around each step. */
#define SPANNED
#include "offcpu.c"
