/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/timens.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc/process.h"

/* "time:[4026531834]"; empty: not to be read. */
static void read_link(pid_t pid, const char *name, char ret[64])
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	ssize_t n = readlink(path, ret, 63);
	ret[n > 0 ? n : 0] = 0;
}

/* Its offsets in /proc are those of its next children, which may be in another namespace. */
static bool is_of_children(pid_t pid)
{
	char own[64], of_children[64];
	read_link(pid, "time", own);
	read_link(pid, "time_for_children", of_children);
	return *own && *of_children && strcmp(own, of_children);
}

static bool is_ours(pid_t pid)
{
	char own[64], its[64];
	read_link(getpid(), "time", own);
	read_link(pid, "time", its);
	return *own && !strcmp(own, its);
}

static int64_t parse(const char *text, const char *clock)
{
	const char *p = strstr(text, clock);
	int64_t s, ns;
	if (!p || sscanf(p + strlen(clock), " %" SCNd64 " %" SCNd64, &s, &ns) != 2)
		return 0;
	return (int64_t)((uint64_t)s * 1000000000u + (uint64_t)ns);
}

int timens_read(pid_t pid, struct timens *ret)
{
	char text[256];
	if (pid != getpid() && is_of_children(pid)) {
		if (!is_ours(pid))
			return -ENODATA;
		*ret = timens_own();
		return 0;
	}
	ssize_t n = process_read_text(pid, "timens_offsets", text, sizeof(text));
	if (n <= 0)
		return n ? (int)n : -ENODATA;
	*ret = (struct timens){parse(text, "monotonic"), parse(text, "boottime")};
	return 0;
}

struct timens timens_own(void)
{
	struct timens t;
	return timens_read(getpid(), &t) ? (struct timens){0} : t;
}
