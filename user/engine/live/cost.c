// SPDX-License-Identifier: BSD-2-Clause
#include "engine/live/cost.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "proc/process.h"
#include "proc/usage.h"

#define MEMORY_PROCESSES 64 /* whose memory is read; the others have the mean of it */
#define MAX_PROCESSES	 65536

struct reading {
	pid_t program;
	bool memory;
	uint32_t processes, read;
	uint64_t cpu_ns, bytes;
};

static uint64_t memory_of(pid_t pid)
{
	char text[4096];
	const char *p;
	if (process_read_text(pid, "smaps_rollup", text, sizeof(text)) <= 0 ||
	    !(p = strstr(text, "\nPss:")))
		return 0;
	return strtoull(p + 5, NULL, 10) * 1024;
}

static void add_memory(struct reading *r, pid_t pid)
{
	uint64_t bytes = r->memory && r->read < MEMORY_PROCESSES ? memory_of(pid) : 0;
	r->read += bytes > 0;
	r->bytes += bytes;
}

/* Of the tracer's processes only the keeper of links has children, which have none. */
static int add_process(pid_t pid, void *ctx)
{
	struct reading *r = ctx;
	struct process_stat stat;
	struct usage usage;
	if (pid == r->program || r->processes == MAX_PROCESSES || process_read_stat(pid, &stat))
		return 0;
	r->processes++;
	usage_of(pid, &stat, &usage);
	r->cpu_ns += usage.user_ns + usage.system_ns + usage_waited_ns(&stat);
	add_memory(r, pid);
	return process_children(pid, stat.threads, add_process, r);
}

static uint64_t ns_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

void cost_read(pid_t program, bool memory, struct cost *ret)
{
	struct reading r = {.program = program, .memory = memory};
	struct rusage own;
	getrusage(RUSAGE_SELF, &own);
	add_memory(&r, getpid());
	process_children(getpid(), 0, add_process, &r);
	uint32_t all = r.processes + 1;
	uint64_t others = r.read && all > r.read ? (all - r.read) * (r.bytes / r.read) : 0;
	*ret = (struct cost){
		.cpu_ns = ns_of(own.ru_utime) + ns_of(own.ru_stime) + r.cpu_ns,
		.memory_bytes = r.bytes + others,
	};
}
