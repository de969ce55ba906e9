/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptions of each kind of input, as text and as JSON, and whether it has losses. */
#ifndef CMD_INFO_PRINT_H
#define CMD_INFO_PRINT_H

#include "core/session.h"
#include "engine/input_info.h"

void info_ring_text(const struct input_info *s, const struct session *session);
void info_ring_json(const struct input_info *s, const struct session *session);
bool info_ring_lossy(const struct input_info *s, const struct session *session);

void info_capture_text(const struct input_info *i, const struct session *session);
void info_capture_json(const struct input_info *i, const struct session *session);
bool info_capture_lossy(const struct input_info *i, const struct session *session);

#endif
