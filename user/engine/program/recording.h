/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides whether the environment of a started program switches its rings on, and how much space
 * the rings need. Its children inherit the environment, and a runtime may end a program that cannot
 * make its ring. So as root the environment is extended only for a program that has a ring itself
 * and runs with our user and namespaces; the children of any other (runuser, chroot, a shell) may
 * have another user or other namespaces, and are probed.
 */
#ifndef ENGINE_PROGRAM_RECORDING_H
#define ENGINE_PROGRAM_RECORDING_H

#include "engine/context.h"

/* The value of EBT_RING_RUN in the environment of programs of this run; static. */
const char *recording_run(void);

/* Whether to extend the environment of the program in the options. False without a program. */
bool recording_by_environment(const struct engine_options *o, const struct messages *messages);

/*
 * Space for ring files. A sparse one allocates its blocks when it is written, and a full disk kills
 * the program (SIGBUS). `want_bytes`: for the largest number of domains that a runtime allows by
 * default; `least_bytes`: for twice the CPUs of this machine.
 */
struct recording_room {
	uint64_t want_bytes, least_bytes;
};
void recording_room(struct recording_room *ret);

/*
 * Rings of some languages are small for a program under load. A program that is known to be of such
 * a language gets larger ones by its environment, if the user has not set their size and its limits
 * and the directory have room for a ring of each domain.
 */
struct recording_rings {
	const char *variable; /* NULL: its environment stays */
	char *value;
	unsigned log_words;
};

/* For a program with rings that its environment switches on; `dir` is their directory. */
void recording_enlarge_rings(const struct engine_options *o, const struct messages *messages,
			     const char *dir, struct recording_rings *ret);
/* In the program's process (struct program_options): ctx is a struct recording_rings. */
void recording_extend(void *ctx);
void recording_rings_done(struct recording_rings *r);

/* At the end of a run that did not extend the environment: reports the user events that it
 * missed. */
void recording_report_left_off(const struct engine *e);

#endif
