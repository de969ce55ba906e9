/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace mem record: records the allocations of a program that it starts, or of running processes.
 */
#include <ebtrace/memtrace.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/plural.h"
#include "base/regular.h"
#include "cmd/commands.h"
#include "cmd/destination.h"
#include "cmd/formats.h"
#include "cmd/message.h"
#include "cmd/option_help.h"
#include "cmd/option_rules.h"
#include "cmd/opts.h"
#include "cmd/outfile.h"
#include "cmd/trace.h"
#include "engine/record/record.h"
#include "proc/executable.h"
#include "proc/preload.h"
#include "runtime/runtimes.h"

/* Records the sampled allocations of running processes, by their markers. */

/* The options name processes and an output. Returns the exit status. */
static int mem_running(struct opts *o)
{
	o->format = format_named("memtrace");
	o->engine.allocs = ALLOCS_ONLY;
	o->engine.mode = MODE_PROBES;
	o->is_private = true;
	return trace_run(o);
}

static const struct opts_command command = {
	OPTS_MEM_RECORD, "-o FILE -- PROGRAM [ARGS...]\n-o FILE -p PID...",
	"Records the allocations of a program into a memtrace trace. Each word that it allocates "
	"is sampled with the same probability; the program is not changed, and needs no "
	"privilege. Its children run without; --children records them, each in a FILE of its own."
	"\vA C or C++ program that is dynamically linked is recorded by a library that is "
	"preloaded into it: malloc and its family, new and delete, large anonymous mappings. One "
	"that is linked with OCaml's memtrace records by itself; of another native program of "
	"OCaml 5, started by root without --rate, the allocations in OCaml's heap are sampled. "
	"With -p a running process is "
	"recorded until it ends or at Ctrl-C, if it has the markers ebtrace:alloc, promote and "
	"collect, as libebtrace-probes fires them at a rate of its own, or OpenTelemetry's "
	"otel_memory:alloc and free, or is a native program of OCaml 5, of which the runtime's "
	"own functions are probed; that needs CAP_BPF and CAP_PERFMON, or root.\n"
	"\n"
	"Debug files that are not installed come from the servers of DEBUGINFOD_URLS, if it is "
	"set.\n"
	"\n"
	"Examples:\n"
	"  ebtrace mem record -o out.ctf -- ./prog       then: ebtrace mem out.ctf\n"
	"  ebtrace mem record --rate 1e-3 -o out.ctf -- ./prog   more samples, slower\n"
	"  ebtrace mem record --children -o out.ctf -- make   then: mem out*.ctf\n"
	"  sudo ebtrace mem record -o out.ctf -p 1234    a running process\n"
	"\n" HELP_EXIT_STATUS "; with PROGRAM, the program's own, 128 + signal if one killed it."};

/* Progress, on the last line of a terminal. */
static void show_progress(void *ctx, uint64_t events, uint64_t bytes)
{
	bool *shown = ctx;
	fprintf(stderr, "\rebtrace: ");
	if (events)
		fprintf(stderr, "%" PRIu64 " event%s, ", events, plural(events));
	fprintf(stderr, "%" PRIu64 " kB \033[K", bytes >> 10);
	*shown = true;
}

static void clear_progress(bool *shown)
{
	if (*shown)
		fputs("\r\033[K", stderr);
	*shown = false;
}

static void print_message(void *ctx, enum log_level level, const char *fmt, va_list ap)
{
	if (level <= log_level)
		clear_progress(ctx);
	message_print(NULL, level, fmt, ap);
}

/* What the recorder found of itself. */
static void report_result(const struct mem_resolve_result *result)
{
	if (result->dropped)
		log_at(LOG_NORMAL, "%" PRIu64 " event%s could not be recorded: %s", result->dropped,
		       plural(result->dropped),
		       result->dropped_err == EINTR ? "handlers of signals interrupted the recorder"
		       : result->dropped_err	    ? strerror(result->dropped_err)
						    : "they were not written yet");
	if (result->damaged)
		log_at(LOG_NORMAL, "%" PRIu64 " part%s of the recording %s damaged",
		       result->damaged, plural(result->damaged),
		       plural_of(result->damaged, "was", "were"));
	if (result->programs > 1)
		log_at(LOG_VERBOSE, "%u programs, one after another by exec()", result->programs);
}

/* What left no trace. */
static void report_programs(const struct mem_record *r)
{
	const struct mem_programs *p = &r->programs;
	const char *name = r->options->program[0];
	if (p->lost_execs)
		log_at(LOG_NORMAL,
		       "programs that '%s' became by exec() and that are not recorded: %u; the "
		       "recorder "
		       "could not be loaded into them, or not write there",
		       name, p->lost_execs);
	if (p->cut)
		log_at(LOG_NORMAL,
		       "the recording ends before '%s' did: by a system call of its own it became "
		       "another program, or ended",
		       name);
	if (p->lost_children && !r->options->children)
		log_at(LOG_NORMAL,
		       "programs that its children ran and that are not recorded: %u; --children "
		       "records them",
		       p->lost_children);
	else if (p->lost_children)
		log_at(LOG_NORMAL,
		       "programs that its children ran and that are not recorded: %u; the recorder "
		       "cannot be loaded into them, or not write there",
		       p->lost_children);
}

static void report_nothing(const struct mem_record *r, const struct mem_resolve_result *result)
{
	const char *name = r->options->program[0];
	if (result->own_malloc)
		log_at(LOG_NORMAL,
		       "nothing was recorded: '%s' calls a malloc of its own (jemalloc, tcmalloc "
		       "or "
		       "the like is linked into it), which cannot be sampled; link it without",
		       name);
	else if (result->dropped_err)
		log_at(LOG_NORMAL, "'%s' recorded nothing: %s", name,
		       strerror(result->dropped_err));
	else
		log_at(LOG_NORMAL,
		       "'%s' recorded nothing: it ended before, did not load the recorder, or is "
		       "under a seccomp filter that it did not set itself",
		       name);
}

/* Writes the trace of a process to the file and names it. Returns an exit status. */
static int write_process(struct mem_record *r, unsigned process, struct outfile *file)
{
	struct mem_resolve_result result;
	bool last = process + 1 == r->programs.processes || r->by_memtrace;
	/* A file that is written in place is emptied by that. */
	int err = mem_record_has_trace(r, process) ? outfile_begin(file) : 0;
	if (!err)
		err = mem_record_write(r, process, last, file->fd, &result);
	if (err == -ENODATA) {
		if (!process)
			report_nothing(r, &result);
		outfile_drop(file);
		return EXIT_OK;
	}
	err = outfile_name(file, err);
	outfile_close(file);
	if (err)
		return EXIT_ERROR; /* with a line on stderr */
	report_result(&result);
	if (!process && !r->by_memtrace && !result.allocs && !result.dropped)
		log_at(LOG_NORMAL,
		       "no allocation of '%s' was sampled, at --rate %g; a higher one samples "
		       "more%s",
		       r->options->program[0],
		       r->options->rate ? r->options->rate : EBT_MEMTRACE_RATE,
		       r->options->children ? "" : ", --children what its children allocate");
	return EXIT_OK;
}

/* The output of a child: FILE with its pid before the suffix, and with a number if an earlier child
 * had the same pid. The caller's to free; NULL: no memory. */
static char *name_child(const struct mem_record *r, const char *path, unsigned process)
{
	unsigned before = 0, pid = mem_programs_pid(&r->programs, process);
	char mark[32];
	for (unsigned i = 1; i < process; i++)
		before += mem_programs_pid(&r->programs, i) == pid;
	if (before)
		snprintf(mark, sizeof(mark), "%u-%u", pid, before + 1);
	else
		snprintf(mark, sizeof(mark), "%u", pid);
	return outfile_marked(path, mark);
}

static int write_children(struct mem_record *r, const char *path)
{
	int status = EXIT_OK;
	for (unsigned i = 1; i < r->programs.processes && !status; i++) {
		struct outfile file;
		char *name = name_child(r, path, i);
		status = name ? outfile_open(&file, name, true) : EXIT_ERROR;
		if (!status)
			status = write_process(r, i, &file);
		free(name);
	}
	return status;
}

static void report_file(const struct mem_record *r, const char *path)
{
	struct stat st;
	char *all = r->programs.processes > 1 ? outfile_marked(path, "*") : NULL;
	if (!stat(path, &st) && S_ISREG(st.st_mode))
		log_at(LOG_NORMAL, "%s: %" PRIu64 " kB; see: ebtrace mem %s%s%s", path,
		       ((uint64_t)st.st_size + 1023) >> 10, path, all ? " " : "", all ? all : "");
	if (all)
		log_at(LOG_NORMAL, "%s: %u %s", all, r->programs.processes - 1,
		       plural_of(r->programs.processes - 1, "child", "children"));
	free(all);
}

/* Writes the traces. Returns an exit status. */
static int write_traces(struct mem_record *r, const struct opts *o, struct outfile *file)
{
	int status = write_process(r, 0, file);
	if (!status)
		status = write_children(r, o->output);
	if (!status) {
		report_programs(r);
		report_file(r, o->output);
	}
	return status;
}

static int record(const struct opts *o, struct outfile *file)
{
	bool shown = false;
	struct engine e = {.options = &o->engine};
	const struct messages messages = {print_message, &shown};
	struct mem_record_options ro = {
		.program = o->engine.program,
		.rate = o->rate,
		.children = o->children,
		.nice = o->engine.nice,
		.open_files = o->engine.open_files,
		.stdout_is_stderr = o->engine.takes_stdout,
		.ctx = &shown,
	};
	struct mem_record r;
	if (isatty(STDERR_FILENO) && log_level >= LOG_NORMAL)
		ro.progress = show_progress;
	enum engine_end end = mem_record_run(&r, &ro, &messages);
	clear_progress(&shown);
	e.program_status = r.status;
	int status = message_status(&e, end);
	if (!end)
		status = write_traces(&r, o, file);
	else
		outfile_drop(file);
	mem_record_done(&r);
	return status ? status : r.status;
}

/* A program without memtrace and with a heap that is not malloc's: only its runtime can be sampled,
 * which needs the privilege to probe it. */
static bool is_sampled(const struct opts *o)
{
	char path[PATH_MAX];
	if (o->rate || o->children || geteuid() ||
	    !executable_find(o->engine.program[0], path, sizeof(path)) ||
	    preload_has_memtrace(path))
		return false;
	int fd = regular_open(path, 0, 0);
	if (fd < 0)
		return false;
	bool is = runtimes_are_sampled(fd);
	close(fd);
	return is;
}

/* The output is a memtrace trace, whatever its name: one that promises another format is
 * refused. */
static bool check_output(const struct opts *o)
{
	const struct format *memtrace = format_named("memtrace");
	if (!o->output) {
		complain(
			"which file to write? -o FILE; 'ebtrace mem record --help' shows examples");
		return false;
	}
	const char *suffix = format_suffix(o->output);
	if (suffix && format_of_path(o->output) != memtrace) {
		complain("mem record has no format '%s'; it has: %s (%s)", suffix, memtrace->name,
			 memtrace->suffixes);
		return false;
	}
	bool to_stdout = !strcmp(o->output, "-");
	if (to_stdout && isatty(STDOUT_FILENO))
		complain("%s is not for a terminal; try: -o FILE", memtrace->name);
	else if (to_stdout && o->children)
		complain("--children writes a file for each process: -o FILE");
	else
		return true;
	return false;
}

int cmd_mem_record(int argc, char **argv)
{
	struct opts o;
	struct outfile file;
	int status = EXIT_USAGE;
	opts_parse(&o, &command, argc, argv);
	if (!option_rules_check(&o) && check_output(&o))
		status = EXIT_OK;
	if (!status)
		destination_take_stdout(&o);
	if (!status && (o.engine.pid_count || is_sampled(&o))) {
		status = mem_running(&o);
	} else if (!status) {
		status = strcmp(o.output, "-") != 0 ? outfile_open(&file, o.output, true)
						    : outfile_open_stdout(&file);
		if (!status)
			status = record(&o, &file);
	}
	opts_done(&o);
	return status;
}
