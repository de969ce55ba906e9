/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a process belongs, by its control group: the container, and the unit of systemd. Both are
 * read out of the path of the group, by the names that container engines and systemd give their
 * groups. Paths are untrusted: what is no name of a known form is none.
 */
#ifndef PROC_CGROUP_H
#define PROC_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

#define CGROUP_NAME_BYTES 64

struct cgroup_names {
	char container[CGROUP_NAME_BYTES]; /* "docker:0123456789ab", "machine:NAME"; "": none */
	char unit[CGROUP_NAME_BYTES];	   /* "nginx.service"; "": none */
};

/* Of the content of /proc/PID/cgroup: the unified hierarchy, else systemd's own, else the first
 * one. */
void cgroup_parse(const char *content, struct cgroup_names *ret);
/* Of a process. False: it cannot be read, and no name is known. */
bool cgroup_read(pid_t pid, struct cgroup_names *ret);

#endif
