/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of a run. The parser owns everything that they point to. */
#ifndef ENGINE_OPTIONS_H
#define ENGINE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "runtime/marker_requests.h"
#include "session/traits.h"
#include "source/bpf/plan.h"

enum engine_mode { MODE_AUTO, MODE_RING, MODE_WATERMARK, MODE_STREAM, MODE_PROBES, MODE_COUNTERS };
/* Sampled allocations, which come through probes alone: they are not asked for, they may be among
 * the events, or the run is for nothing else. */
enum engine_allocs { ALLOCS_NONE, ALLOCS_TOO, ALLOCS_ONLY };

struct engine_options {
	const char *command; /* "ebtrace stat", for advice; NULL: "ebtrace", which is trace */
	bool describes;	     /* it traces nothing, as info */
	/* What is traced or read, one of the four: all processes that can be, processes, a program
	 * (NULL-terminated; else NULL), files. */
	bool all;
	pid_t *pids;
	unsigned pid_count;
	char **program;
	char **files; /* "-": standard input */
	unsigned file_count;
	/* Filters; empty: all events. */
	const char **globs;
	unsigned glob_count;
	uint16_t *domains;
	unsigned domain_count;
	uint32_t *threads;
	unsigned thread_count;
	uint64_t min_duration_ns;	/* of spans; 0: of any length */
	struct marker_requests markers; /* of any program, as events; none: zeroes */
	const char *ring_dir;		/* searched if a process has no ring mapped; NULL: none */
	enum engine_mode mode;
	enum bpf_attach attach;
	enum ring_request ring_request;
	enum engine_allocs allocs;
	const char *needs_ends; /* the report that needs to know when objects end, or NULL */
	struct runtime_version runtime; /* of rings that do not record it; zeroes: guess */
	uint64_t duration_ns;		/* of a live run; 0: no limit */
	uint64_t bpf_buffer_bytes;	/* a power of two; 0: as much as the mode needs */
	uint64_t buffer_bytes;		/* of the backlog of all rings; 0: the default */
	int nice;			/* of ebtrace when it was started; the program's */
	rlim_t open_files;		/* soft limit, likewise */
	bool takes_stdout;		/* data goes there: the program's goes to standard error */
	bool takes_terminal;		/* a screen is there: the program has no terminal */
	bool follow;			/* trace children, too */
	bool realtime;			/* real-time scheduling, if permitted */
	bool snapshot;			/* read the current content of the rings, then end */
	bool wait;			/* until the processes have something to trace */
	bool pages;			/* watch the pages of address spaces, and nothing else */
	bool blame;			/* record when threads do not run */
	bool faults;			/* and measure their page faults in pauses */
	bool stacks; /* events get their stacks, those that these globs select: */
	const char **stack_globs;
	unsigned stack_glob_count;
	const char **span_globs; /* of spans that another module waits for; the filter notes them */
	unsigned span_glob_count;
	uint64_t stack_pause_ns; /* and at the ends of pauses as long as this; 0: none */
	bool block_stacks;	 /* with blame: where threads were blocked for long, */
	bool pause_block_stacks; /* or only where they were in a pause */
	double cpu_share;	 /* the budget: of one CPU, 0.05 are 5 %; 0: none */
	uint64_t memory_bytes;	 /* likewise */
	unsigned sample_hz;	 /* samples of threads on a CPU, per second and CPU; 0: none */
	bool kernel_stacks;	 /* samples have the stack of the kernel, too */
	bool off_cpu;		 /* record when threads do not run, with their stacks, */
	uint64_t off_cpu_min_ns; /* if it is for at least this long */
	bool counts;		 /* the report counts events: thread and CPU do not matter */
	/* What is read is shown to a person: where there are many processes and rings, those that
	 * do little are looked at the less often. */
	bool frugal;
	/* What is read is reported at the end: rings that fill slowly, and files, are read less
	 * often. */
	bool is_late;
};

/* The names of the modes, indexed by mode; then NULL. */
extern const char *const engine_mode_names[];

/* The command, for advice that repeats it. Never NULL. */
static inline const char *engine_command(const struct engine_options *o)
{
	return o->command ? o->command : "ebtrace";
}
/* The same for advice to trace a process or a program. */
static inline const char *engine_trace_command(const struct engine_options *o)
{
	return o->describes ? "ebtrace" : engine_command(o);
}
/* Memory for the backlog of all rings, in bytes. */
size_t engine_buffer_bytes(const struct engine_options *o);
/* That of the options, or the only one that has what they ask for: no ring has pages. */
enum engine_mode engine_mode(const struct engine_options *o);
/* True if markers only wake the reader of rings. */
bool engine_watermarks(const struct engine_options *o);
/* True if stacks of threads are all that probes record. */
static inline bool engine_profiles(const struct engine_options *o)
{
	return o->sample_hz || o->off_cpu;
}
/* True if less is recorded where tracing costs too much. */
bool engine_has_budget(const struct engine_options *o);
/* True if no ring is read: probes alone have the events. */
bool engine_probes_alone(const struct engine_options *o);
/* True if a probe sees each event, whether or not a ring has it. */
bool engine_sees_events(const struct engine_options *o);

#endif
