/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The timers of samples: a software event on each CPU that is online, which runs a BPF program at
 * each of its ticks, whoever runs there. The program selects the threads.
 */
#ifndef SOURCE_BPF_SAMPLER_H
#define SOURCE_BPF_SAMPLER_H

#include <stdint.h>

struct sampler {
	int *fd;
	unsigned fds;
};

/* program: its descriptor. 0 or -errno; stop() works after either. */
int sampler_start(struct sampler *s, int program, uint64_t period_ns);
void sampler_stop(struct sampler *s); /* also of zeroed memory */
/* Whether it could be started. 0, also without a program (< 0), or -errno. */
int sampler_try(int program);

#endif
