/* SPDX-License-Identifier: BSD-2-Clause */
/* How each kind of input is described, as text and as JSON, and whether anything of it is lost. */
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
