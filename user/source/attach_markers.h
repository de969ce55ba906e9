/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Our own markers (provider ebtrace): those that the mode asks for, and no request for a ring where
 * it could kill the program.
 */
#ifndef SOURCE_ATTACH_MARKERS_H
#define SOURCE_ATTACH_MARKERS_H

#include "source/attacher.h"

extern const struct attacher attach_markers;

#endif
