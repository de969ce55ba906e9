/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers of marker arguments on 64-bit Arm, and their names in the notes; see marker.h. */
#ifndef EBT_MARKER_AARCH64_H
#define EBT_MARKER_AARCH64_H

#define EBT_REG_ID    "x0"
#define EBT_REG_NAME  "x1"
#define EBT_REG_VALUE "x2"
#define EBT_REG_BYTES "x3"
#define EBT_REG_RING  "x4"
#define EBT_REG_TS    "x5"
#define EBT_REG_POS   "x6"

#define EBT_ARG_ID	     "4@x0"
#define EBT_ARG_NAME	     "8@x1"
#define EBT_ARG_VALUE	     "8@x2"
#define EBT_ARG_SIGNED_VALUE "-8@x2"
#define EBT_ARG_BYTES	     "8@x3"
#define EBT_ARG_RING	     "4@x4"
#define EBT_ARG_TS	     "8@x5"
#define EBT_ARG_POS	     "8@x6"

#endif
