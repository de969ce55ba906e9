// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRY_NS 1000000000u

/* A descriptor or -errno. */
static int open_event(int cpu, int program, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) && !ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return fd;
	int err = -errno;
	close(fd);
	return err;
}

int sampler_start(struct sampler *s, int program, uint64_t period_ns)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	*s = (struct sampler){.fd = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*s->fd))};
	if (!s->fd)
		return -ENOMEM;
	for (int cpu = 0; cpu < cpus; cpu++) {
		int fd = open_event(cpu, program, period_ns);
		if (fd >= 0)
			s->fd[s->fds++] = fd;
		else if (fd != -ENODEV) /* it is offline */
			return fd;
	}
	return s->fds ? 0 : -ENODEV;
}

void sampler_stop(struct sampler *s)
{
	for (unsigned i = 0; i < s->fds; i++)
		close(s->fd[i]);
	free(s->fd);
	*s = (struct sampler){0};
}

int sampler_try(int program)
{
	struct sampler s;
	if (program < 0)
		return 0;
	int err = sampler_start(&s, program, TRY_NS);
	sampler_stop(&s);
	return err;
}
