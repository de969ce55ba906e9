/* SPDX-License-Identifier: BSD-2-Clause */
/* A registry in which the index of a process is its pid, so that tests need not tell them apart. */
#ifndef TESTS_PROCESSES_FIXTURE_H
#define TESTS_PROCESSES_FIXTURE_H

#include "session/session.h"

/* Enters the pids from 1 to `last` into a new session. 0 or -ENOMEM. */
static inline int enter_processes(struct session *s, uint32_t last)
{
	int err = 0;
	for (uint32_t pid = 1, index; !err && pid <= last; pid++)
		err = processes_of(&s->processes, pid, &index);
	return err;
}

#endif
