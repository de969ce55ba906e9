/* SPDX-License-Identifier: BSD-2-Clause */
/* blamed FILE STEP...: offcpu, with a pause around each step. */
#define BLAMED
#include "offcpu.c"
