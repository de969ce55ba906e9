/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the rings of a program that we start are switched on by its environment, and how much room
 * they want. The environment reaches all its children, and OCaml ends a program that cannot make its
 * ring: as root only a program that is itself of OCaml 5 or of our library gets it, as its user and
 * its namespaces are ours. What runs behind another one (runuser, chroot, a shell) may be somebody
 * else or elsewhere; it is probed.
 */
#ifndef ENGINE_RECORDING_H
#define ENGINE_RECORDING_H

#include "engine/context.h"

/* Of the program in the options. */
bool recording_by_environment(const struct engine_options *o, const struct report *report);

/*
 * OCaml's ring file takes its room as it is written, and a full disk kills the program (SIGBUS).
 * `want`: for as many domains as OCaml allows by default; `least`: for those that a program of this
 * machine is likely to have.
 */
struct recording_room {
	uint64_t want_bytes, least_bytes;
};
void recording_room(struct recording_room *ret);

/* At the end of a run whose environment was left alone: reports what that has kept from the user. */
void recording_report_left_off(const struct engine *e);

#endif
