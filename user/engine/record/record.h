/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records the allocations of a program that is started for it, in two steps: mem_record_run() runs
 * it to its end, with our library preloaded that samples its allocations (<ebtrace/recorder.h>),
 * mem_record_write() makes the trace of each process that was recorded. A program that is linked
 * with memtrace records by itself; its environment says so, and the trace is its own, byte for
 * byte.
 *
 * The program's environment is extended, and it runs as it would without us. Signals that ebtrace
 * alone receives are forwarded; after a second one that requests the end ebtrace does not wait any
 * longer for a program that runs on, and the trace has what was recorded so far.
 */
#ifndef ENGINE_RECORD_RECORD_H
#define ENGINE_RECORD_RECORD_H

#include "engine/context.h"
#include "engine/program/program.h"
#include "engine/program/rundir.h"
#include "engine/record/programs.h"
#include "engine/record/resolve.h"
#include "engine/signals.h"

struct mem_record_options {
	char **program; /* NULL-terminated */
	bool children;	/* record what they run, too */
	double rate;	/* probability that a word is sampled; 0: EBT_MEMTRACE_RATE */
	int nice;	/* of the program, as its limit of open files */
	rlim_t open_files;
	bool stdout_is_stderr; /* as of struct program_options */
	/* Progress: sampled events so far (0: not known) and bytes of the trace; NULL: none. */
	void (*progress)(void *ctx, uint64_t events, uint64_t bytes);
	void *ctx;
};

struct mem_record {
	const struct mem_record_options *options;
	const struct messages *messages;
	struct loop *loop;
	struct signals signals;
	struct rundir dir; /* of the traces */
	struct program program;
	char library[PATH_MAX];
	bool by_memtrace;
	bool ended;		      /* the program */
	struct mem_programs programs; /* what was recorded */
	int status; /* its exit status, as a shell shows it; of a program that could not be
		     * started, what a shell would return */
};

/*
 * ENGINE_OK; ENGINE_PROGRAM: it could not be started; else the reason was reported and nothing was
 * run. mem_record_done() in any case.
 */
enum engine_end mem_record_run(struct mem_record *r, const struct mem_record_options *o,
			       const struct messages *messages);
/* True if that process of r->programs, 0 being the program's, has something to be written. */
bool mem_record_has_trace(const struct mem_record *r, unsigned process);
/* Writes its trace to fd; of the last one, `last`. As mem_resolve(). */
int mem_record_write(struct mem_record *r, unsigned process, bool last, int fd,
		     struct mem_resolve_result *ret);
void mem_record_done(struct mem_record *r);

#endif
