/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF source of a live run: made as the options ask, or the reason why there is none. */
#ifndef CMD_PROBING_H
#define CMD_PROBING_H

#include "cmd/opts.h"
#include "core/session.h"
#include "source/bpf.h"

/*
 * Makes it if the mode asks for it or allows it: *ret, NULL without one. Where the mode only allows it,
 * ret_missing (EBT_REASON_BYTES) says what it lacks. `record`: the program that we start will switch its
 * own ring on. 0, or an exit status after a line on stderr.
 */
int probing_new(const struct opts *o, bool record, struct session *session, struct inspect *inspect,
		void (*changed)(void *ctx, pid_t pid, enum bpf_change change), void *ctx,
		struct source **ret, char *ret_missing);
/*
 * Says once what is missing, if there is a process to which BPF would have added thread and CPU. Of a
 * report that counts nothing is missing.
 */
void probing_tell_missing(const struct opts *o, const struct session *session, char *missing);

#endif
