/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers of marker arguments on x86-64, and their names in the notes; see marker.h. */
#ifndef EBT_MARKER_X86_64_H
#define EBT_MARKER_X86_64_H

#define EBT_REG_ID    "rdi"
#define EBT_REG_NAME  "rsi"
#define EBT_REG_VALUE "rdx"
#define EBT_REG_BYTES "r10"
#define EBT_REG_RING  "rcx"
#define EBT_REG_TS    "r8"
#define EBT_REG_POS   "r9"

#define EBT_ARG_ID	     "4@%%edi"
#define EBT_ARG_NAME	     "8@%%rsi"
#define EBT_ARG_VALUE	     "8@%%rdx"
#define EBT_ARG_SIGNED_VALUE "-8@%%rdx"
#define EBT_ARG_BYTES	     "8@%%r10"
#define EBT_ARG_RING	     "4@%%ecx"
#define EBT_ARG_TS	     "8@%%r8"
#define EBT_ARG_POS	     "8@%%r9"

#endif
