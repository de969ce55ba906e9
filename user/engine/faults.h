/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports what sources have found damaged or missing in what they read. */
#ifndef ENGINE_FAULTS_H
#define ENGINE_FAULTS_H

#include <stdbool.h>

#include "engine/report.h"
#include "source/capture.h"
#include "source/ring.h"

/* A line for each ring file that is damaged. */
void faults_report_rings(const struct report *r, const struct ring_source *rings);
/* A line if a capture is damaged or was interrupted. False: it was none, or could not be read. */
bool faults_report_capture(const struct report *r, const struct capture_source *s);

#endif
