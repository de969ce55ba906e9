/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports why a process cannot be traced, and what to try next. */
#ifndef ENGINE_REFUSAL_H
#define ENGINE_REFUSAL_H

#include "engine/context.h"
#include "proc/process.h"

struct inspect;

/* Ends a message of what the kernel refuses. */
#define REFUSAL_HINT "; 'ebtrace info --kernel' shows what it allows"

/* Reads the status of a process. ENGINE_OK and *ret if it can be traced; else the reason has been
 * reported. */
enum engine_end refusal_check(const struct engine *e, pid_t pid, struct process_status *ret);
/* ENGINE_GONE, and a line about it, if a process has ended since refusal_check(); else
 * ENGINE_OK. */
enum engine_end refusal_check_ended(const struct engine *e, pid_t pid);
/* Reports that a process has neither a ring nor probes, why, and what to do. unprobed: why nothing
 * can be probed, empty if root could; NULL: it can. ENGINE_NOTHING; or ENGINE_GONE, if it has
 * ended. */
enum engine_end refusal_report_nothing(const struct engine *e, struct inspect *in, pid_t pid,
				       const char *unprobed);
#define REFUSAL_NAME_BYTES    256
#define REFUSAL_MARKERS_BYTES 512 /* of names of markers in a message */
/* The name of a started program in messages: in quotes, with that of the program that it had
 * executed by its end, if any. comm: its name then, or "". */
void refusal_name(const char *program, const char *comm, char ret[REFUSAL_NAME_BYTES]);
/* Reports that a started program, which has ended, had neither a ring nor markers, and what to do.
 * program: as refusal_name() makes it. has_ring: its ring was switched on. */
void refusal_report_untraced(const struct messages *r, const char *program, bool has_ring);
/* Reports that a started program, or a child, ended before its probes were attached. */
void refusal_report_unwatched(const struct messages *r, const char *program);
/* Reports, for a run that records only sampled allocations, that no program had their markers. */
void refusal_report_no_allocs(const struct messages *r, const char *program);
/* The end of a run for an -errno of opening the ring of a process. */
enum engine_end refusal_of(int err);

#endif
