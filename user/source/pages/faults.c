// SPDX-License-Identifier: BSD-2-Clause
#include "source/pages/faults.h"

#include "base/array.h"
#include "base/map.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rounds of listing a process that makes threads faster than they are listed. Threads that are not
 * listed inherit the events of the thread that made them. */
#define MAX_ROUNDS 100

/* The first is counted when a fault begins to be handled, the others when it has mapped a page. */
static const uint64_t kinds[] = {PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN,
				 PERF_COUNT_SW_PAGE_FAULTS_MAJ};

static int keep(struct page_faults *f, int fd)
{
	if (!array_reserve(f->fd, f->room, f->fds))
		return -ENOMEM;
	f->fd[f->fds++] = fd;
	return 0;
}

/* The event is off until it has its program: events inherited from it then have the program,
 * too. */
static int open_event(struct page_faults *f, pid_t tid, uint64_t kind)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = kind,
		.sample_period = 1,
		/* What the program finds in the sample. */
		.sample_type = f->begin >= 0 ? 0
					     : PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR |
						       PERF_SAMPLE_DATA_PAGE_SIZE,
		.disabled = 1,
		.inherit = 1,
		.inherit_thread = !f->children,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	int err = 0, program = kind == PERF_COUNT_SW_PAGE_FAULTS ? f->begin : f->end;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	if (!err)
		err = keep(f, fd);
	if (err)
		close(fd);
	return err;
}

/* 1, or 0 if the thread has ended. */
static int attach_thread(struct page_faults *f, pid_t tid)
{
	for (size_t i = f->begin < 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		int err = open_event(f, tid, kinds[i]);
		if (err)
			return err == -ESRCH ? 0 : err;
	}
	return 1;
}

/* Attaches to the threads that are not in `known`. Their number, or -errno. */
static int attach_new(struct page_faults *f, DIR *tasks, struct map *known)
{
	int threads = 0;
	rewinddir(tasks);
	for (const struct dirent *d; (d = readdir(tasks));) {
		pid_t tid = (pid_t)atoi(d->d_name);
		if (tid <= 0 || map_get(known, (uint64_t)tid))
			continue;
		if (!map_put(known, (uint64_t)tid))
			return -ENOMEM;
		int n = attach_thread(f, tid);
		if (n < 0)
			return n;
		threads += n;
	}
	return threads;
}

int page_faults_attach(struct page_faults *f, pid_t pid)
{
	char path[32];
	struct map known = {0};
	int threads = 0, n = 1;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	if (!tasks)
		return errno == ENOENT ? -ESRCH : -errno;
	for (int i = 0; n > 0 && i < MAX_ROUNDS; i++) {
		n = attach_new(f, tasks, &known);
		threads += n > 0 ? n : 0;
	}
	map_done(&known);
	closedir(tasks);
	return n < 0 ? n : threads ? threads : -ESRCH;
}

void page_faults_detach(struct page_faults *f)
{
	for (uint32_t i = 0; i < f->fds; i++)
		close(f->fd[i]);
	free(f->fd);
	f->fd = NULL;
	f->fds = f->room = 0;
}
