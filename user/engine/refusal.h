/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a process cannot be traced: the cause, and the next thing to try. */
#ifndef ENGINE_REFUSAL_H
#define ENGINE_REFUSAL_H

#include "engine/context.h"
#include "proc/process.h"

struct inspect;

/* Looks at a process. ENGINE_OK and *ret if it can be traced; else why not has been reported. */
enum engine_end refusal_check(const struct report *r, pid_t pid, struct process_status *ret);
/* Reports that a process has neither ring nor anything to probe, why, and what to do. */
void refusal_report_nothing(const struct report *r, struct inspect *in, pid_t pid, bool privileged);
/* The same of a program that was started and has ended; has_ring: its ring was asked for. */
void refusal_report_untraced(const struct report *r, const char *program, bool has_ring);
/* What an -errno of opening the ring of a process means for the run. */
enum engine_end refusal_of(int err);

#endif
