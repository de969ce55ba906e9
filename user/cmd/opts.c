/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/opts.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/utf8.h"
#include "cmd/commands.h"
#include "codec/ring_ids.h"

enum {
	OPT_MIN_DURATION = 256,
	OPT_DOMAIN,
	OPT_MODE,
	OPT_SNAPSHOT,
	OPT_JSON,
	OPT_JSON_SCHEMA,
	OPT_FAIL_ON_LOSS,
	OPT_RING_DIR,
	OPT_BPF_BUFFER,
	OPT_BUFFER,
	OPT_ATTACH,
	OPT_RING_REQUEST,
	OPT_NO_FOLLOW,
	OPT_OCAML_VERSION,
	OPT_PRUNE,
	OPT_INTERVAL,
	OPT_MAX_SIZE,
	OPT_ROTATE,
	OPT_WAIT,
	OPT_TIME,
	OPT_EVENTS,
	OPT_BY,
	OPT_TOP,
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "What to look at:", 1},
	{"pid", 'p', "PID", 0, "A running process (repeatable)", 1},
	{"ring-dir", OPT_RING_DIR, "DIR", 0, "Where else to look for a process's ring file", 1},
	{"ocaml-version", OPT_OCAML_VERSION, "X.Y", 0, "Read rings as this release's: 5.0 to 5.5",
	 1},
	{"mode", OPT_MODE, "MODE", 0,
	 "auto, ring (no privilege), watermark (a trap for each quarter of a ring), stream (a trap "
	 "for each event: with thread and CPU), probes (traps alone: no ring is read)",
	 1},
	{"ring-request", OPT_RING_REQUEST, "WHEN", 0,
	 "Ask programs to switch their ring on: auto (not under a seccomp filter), always, never",
	 1},
	{"snapshot", OPT_SNAPSHOT, NULL, 0, "Print what the rings hold now, then exit", 1},
	{"duration", 'd', "TIME", 0, "Stop after so long: 10s, 500ms, 2m", 1},
	{"wait", OPT_WAIT, NULL, 0,
	 "With -p: wait until the process or a child of it has something to trace", 1},
	{"no-follow", OPT_NO_FOLLOW, NULL, 0, "Leave children of the process alone", 1},
	{NULL, 0, NULL, 0, "What to show:", 2},
	{"event", 'e', "GLOB", 0, "Only events of this name or kind; !GLOB: not these (repeatable)",
	 2},
	{"domain", OPT_DOMAIN, "N", 0, "Only this domain (repeatable)", 2},
	{"tid", 't', "TID", 0, "Only events of this thread (repeatable)", 2},
	{"min-duration", OPT_MIN_DURATION, "TIME", 0, "Only spans that last so long: 1ms, 50us", 2},
	{NULL, 0, NULL, 0, "How to show it:", 3},
	{"output", 'o', "FILE", 0, "Write to FILE instead of stdout", 3},
	{"format", 'f', "FORMAT", 0,
	 "text, ndjson, perfetto, chrome, fxt or ebt; default: as the suffix of FILE says, or text",
	 3},
	{"max-size", OPT_MAX_SIZE, "SIZE", 0, "End the recording when FILE is so large: 64K, 100M",
	 3},
	{"rotate", OPT_ROTATE, "N", 0,
	 "With --max-size: begin a new FILE instead, and keep the newest N: FILE, FILE.1 and so on",
	 3},
	{"time", OPT_TIME, "HOW", 0,
	 "Times of text: start (since the first event), delta (since the line before), wall", 3},
	{"json", OPT_JSON, NULL, 0, "The report as JSON", 3},
	{"json-schema", OPT_JSON_SCHEMA, NULL, 0, "Print the schema of the JSON output and exit",
	 3},
	{"interval", OPT_INTERVAL, "TIME", 0, "stat: print a line each time: 1s, 100ms", 3},
	{"by", OPT_BY, "WHAT", 0,
	 "stat: a section for each program or process; default: program if there are more than 8 "
	 "processes",
	 3},
	{"top", OPT_TOP, "N", 0, "stat: so many sections, those with the most GC time", 3},
	{"fail-on-loss", OPT_FAIL_ON_LOSS, NULL, 0, "Exit with status 3 if events were lost", 3},
	{"events", OPT_EVENTS, NULL, 0, "list: every name and kind that -e may match", 3},
	{"prune", OPT_PRUNE, NULL, 0, "list: remove the ring files of dead processes", 3},
	{NULL, 0, NULL, 0, "Limits:", 4},
	{"buffer", OPT_BUFFER, "SIZE", 0,
	 "Memory for the backlog of all rings together; default 256M, of files 64M", 4},
	{"bpf-buffer", OPT_BPF_BUFFER, "SIZE", 0, "BPF ring buffer, a power of two; default 16M",
	 4},
	{"attach", OPT_ATTACH, "HOW", 0, "auto, multi (one link a file), perf (one link a site)",
	 4},
	{NULL, 0, NULL, 0, "Other:", -1},
	{"verbose", 'v', NULL, 0, "Say what is done and why (twice: debug)", -1},
	{"quiet", 'q', NULL, 0, "Errors only", -1},
	{"version", 'V', NULL, 0, "Print the version and exit", -1},
	{0},
};

static const char *const ring_requests[] = {"auto", "always", "never", NULL};
static const char *const modes[] = {"auto", "ring", "watermark", "stream", "probes", NULL};

const char *opts_mode_name(enum opts_mode mode)
{
	return modes[mode];
}

size_t opts_buffer(const struct opts *o)
{
	if (o->buffer_bytes)
		return o->buffer_bytes;
	/* A file at rest waits; a ring does not. */
	return o->file_count ? 64 << 20 : 256 << 20;
}

bool opts_watermarks(const struct opts *o)
{
	/* Watermarks tell no threads. */
	bool counts = o->counts && !o->thread_count;
	return o->mode == MODE_WATERMARK || (o->mode == MODE_AUTO && counts);
}

/* Ends the program. A command line that somebody else's file names made may hold anything. */
static __attribute__((format(printf, 2, 3))) void refuse(const struct argp_state *st,
							 const char *fmt, ...)
{
	char line[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	utf8_disarm(line);
	argp_error(st, "%s", line);
}

static uint64_t parse_scaled(struct argp_state *st, const char *text, const char *what,
			     const char *const units[], const double scale[], double fallback)
{
	char *end;
	errno = 0;
	double v = strtod(text, &end);
	double factor = -1;
	if (!*end)
		factor = fallback;
	for (unsigned i = 0; units[i]; i++)
		if (!strcmp(end, units[i]))
			factor = scale[i];
	if (end == text || errno || !isfinite(v) || v < 0 || factor < 0 || v * factor > 9e18)
		refuse(st, "'%s' is not a %s", text, what);
	return (uint64_t)(v * factor);
}

static uint64_t parse_time(struct argp_state *st, const char *text)
{
	static const char *const units[] = {"ns", "us", "ms", "s", "m", "h", NULL};
	static const double scale[] = {1, 1e3, 1e6, 1e9, 60e9, 3600e9};
	return parse_scaled(st, text, "time (like 500us, 10ms, 2s)", units, scale, 1e9);
}

static uint64_t parse_size(struct argp_state *st, const char *text)
{
	static const char *const units[] = {"k", "K", "M", "G", NULL};
	static const double scale[] = {1024, 1024, 1048576, 1073741824};
	return parse_scaled(st, text, "size (like 64K, 16M)", units, scale, 1);
}

static long parse_number(struct argp_state *st, const char *text, long min, long max)
{
	char *end;
	errno = 0;
	long v = strtol(text, &end, 10);
	if (end == text || *end || errno || v < min || v > max)
		refuse(st, "'%s' is not a number from %ld to %ld", text, min, max);
	return v;
}

static int parse_word(struct argp_state *st, const char *text, const char *const words[],
		      const char *what)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(text, words[i]))
			return i;
	refuse(st, "unknown %s '%s'", what, text);
	return 0;
}

static void room_for(struct argp_state *st, unsigned count, const char *what)
{
	if (count == OPTS_MAX)
		refuse(st, "more than %d %s", OPTS_MAX, what);
}

static void parse_buffer(struct argp_state *st, struct opts *o, const char *arg)
{
	o->bpf_buffer_bytes = parse_size(st, arg);
	if (o->bpf_buffer_bytes < 4096 || o->bpf_buffer_bytes > 1u << 30 ||
	    (o->bpf_buffer_bytes & (o->bpf_buffer_bytes - 1)))
		refuse(st, "--bpf-buffer must be a power of two from 4K to 1G");
}

/* Options that choose what is looked at. */
static error_t parse_target(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	switch (key) {
	case 'p':
		room_for(st, o->pid_count, "processes");
		o->pids[o->pid_count++] = (pid_t)parse_number(st, arg, 1, INT_MAX);
		return 0;
	case 'd':
		o->duration_ns = parse_time(st, arg);
		return 0;
	case OPT_RING_DIR:
		o->ring_dir = arg;
		return 0;
	case OPT_OCAML_VERSION:
		o->release = ring_release_from_version_string(arg);
		if (o->release == EBT_RELEASE_AUTO)
			refuse(st, "'%s' is not an OCaml release from 5.0 to 5.5", arg);
		return 0;
	case OPT_MODE:
		o->mode = (enum opts_mode)parse_word(st, arg, modes, "mode");
		return 0;
	case OPT_RING_REQUEST:
		o->ring_request = (enum opts_ring_request)parse_word(st, arg, ring_requests,
								     "--ring-request");
		return 0;
	case OPT_SNAPSHOT:
		o->snapshot = true;
		return 0;
	case OPT_WAIT:
		o->wait = true;
		return 0;
	case OPT_NO_FOLLOW:
		o->follow = false;
		return 0;
	case ARGP_KEY_ARG:
		room_for(st, o->file_count, "files");
		o->files[o->file_count++] = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Options that choose what is shown, and how. */
static error_t parse_output(int key, char *arg, struct argp_state *st)
{
	static const char *const attaches[] = {"auto", "multi", "perf", NULL};
	static const char *const bys[] = {"program", "process", NULL};
	static const char *const times[] = {"start", "delta", "wall", NULL};
	struct opts *o = st->input;
	switch (key) {
	case 'e':
		room_for(st, o->glob_count, "event patterns");
		o->globs[o->glob_count++] = arg;
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case 'f':
		o->format = format_named(arg);
		if (!o->format)
			refuse(st, "unknown format '%s'; known: %s", arg, format_names());
		return 0;
	case OPT_DOMAIN:
		room_for(st, o->domain_count, "domains");
		o->domains[o->domain_count++] = (uint16_t)parse_number(st, arg, 0, 4095);
		return 0;
	case 't':
		room_for(st, o->thread_count, "threads");
		o->threads[o->thread_count++] = (uint32_t)parse_number(st, arg, 1, INT_MAX);
		return 0;
	case OPT_BY:
		o->by = (enum stat_by)(STAT_BY_PROGRAM + parse_word(st, arg, bys, "way to group"));
		return 0;
	case OPT_TOP:
		o->top = (uint32_t)parse_number(st, arg, 1, INT_MAX);
		return 0;
	case OPT_TIME:
		o->time = (enum text_time)parse_word(st, arg, times, "time");
		o->time_given = true;
		return 0;
	case OPT_MIN_DURATION:
		o->min_duration_ns = parse_time(st, arg);
		return 0;
	case OPT_INTERVAL:
		o->interval_ns = parse_time(st, arg);
		if (o->interval_ns < 1000000)
			refuse(st, "--interval must be 1ms or more");
		return 0;
	case OPT_BUFFER:
		o->buffer_bytes = parse_size(st, arg);
		return 0;
	case OPT_BPF_BUFFER:
		parse_buffer(st, o, arg);
		return 0;
	case OPT_ATTACH:
		o->attach = (enum opts_attach)parse_word(st, arg, attaches, "way to attach");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Options that limit the files of an output. */
static error_t parse_limit(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	switch (key) {
	case OPT_MAX_SIZE:
		o->max_bytes = parse_size(st, arg);
		if (o->max_bytes < 4096)
			argp_error(st, "--max-size must be 4K or more");
		return 0;
	case OPT_ROTATE:
		o->rotate = (unsigned)parse_number(st, arg, 1, 1000);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_flag(int key, struct opts *o)
{
	switch (key) {
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_JSON_SCHEMA:
		o->json_schema = true;
		return 0;
	case OPT_FAIL_ON_LOSS:
		o->fail_on_loss = true;
		return 0;
	case OPT_EVENTS:
		o->events = true;
		return 0;
	case OPT_PRUNE:
		o->prune = true;
		return 0;
	case 'v':
		log_level = log_level < LOG_VERBOSE ? LOG_VERBOSE : LOG_DEBUG;
		return 0;
	case 'q':
		log_level = LOG_QUIET;
		return 0;
	case 'V':
		puts("ebtrace " EBT_VERSION);
		exit(fflush(stdout) ? EXIT_ERROR : EXIT_OK);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* What one command alone understands would be passed over by others without a word. */
static void check_command(int key, const struct argp_state *st)
{
	static const struct {
		int key;
		const char *name, *commands, *instead;
	} own[] = {
		{OPT_INTERVAL, "--interval", "stat", ""},
		{OPT_BY, "--by", "stat", ""},
		{OPT_TOP, "--top", "stat", ""},
		{OPT_EVENTS, "--events", "list", ""},
		{OPT_PRUNE, "--prune", "list", ""},
		{OPT_TIME, "--time", "trace", ""},
		{OPT_JSON, "--json", "stat, list and info", "; that writes JSON with -f ndjson"},
	};
	const char *command = ((const struct opts *)st->input)->command;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i].key == key && !strstr(own[i].commands, command))
			refuse(st, "%s is an option of %s, not of %s%s", own[i].name,
			       own[i].commands, command, own[i].instead);
}

static error_t parse_opt(int key, char *arg, struct argp_state *st)
{
	check_command(key, st);
	error_t err = parse_target(key, arg, st);
	if (err == ARGP_ERR_UNKNOWN)
		err = parse_output(key, arg, st);
	if (err == ARGP_ERR_UNKNOWN)
		err = parse_limit(key, arg, st);
	if (err == ARGP_ERR_UNKNOWN)
		err = parse_flag(key, st->input);
	return err;
}

static rlim_t open_files(void)
{
	struct rlimit files;
	return getrlimit(RLIMIT_NOFILE, &files) ? 1024 : files.rlim_cur;
}

void opts_parse(struct opts *ret, const struct opts_command *cmd, int argc, char **argv)
{
	*ret = (struct opts){
		.command = cmd->name,
		.bpf_buffer_bytes = 16 << 20,
		.follow = true,
		.nice = getpriority(PRIO_PROCESS, 0),
		.open_files = open_files(),
	};
	/* What follows "--" belongs to the program, options included. */
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		if (argv[i + 1])
			ret->program = argv + i + 1;
		argc = i;
		argv[i] = NULL;
	}
	struct argp argp = {
		.options = options, .parser = parse_opt, .args_doc = cmd->args, .doc = cmd->doc};
	argp_err_exit_status = 2;
	argp_program_version = "ebtrace " EBT_VERSION;
	argp_parse(&argp, argc, argv, 0, NULL, ret);
}
