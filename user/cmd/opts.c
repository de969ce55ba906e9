/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/opts.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/utf8.h"
#include "cmd/commands.h"
#include "cmd/message.h"
#include "cmd/option_help.h"
#include "cmd/print.h"
#include "cmd/quantity.h"
#include "engine/options.h"
#include "session/marker_values.h"
#include "session/session.h"
#include "session/versions.h"

/* Commands that read rings and select of their events; that read rings; that trace runs; all of
 * events; all. */
#define SELECT (OPTS_TRACE | OPTS_STAT)
#define RINGS  (SELECT | OPTS_TOP)
#define RUN    (RINGS | OPTS_SPANS | OPTS_MEM | OPTS_PROFILE)
#define EVENTS (COMMANDS_OF_EVENTS | OPTS_MEM_RECORD)
#define EVERY  (EVENTS | OPTS_HELP | OPTS_COMPLETION | OPTS_VERSION)

#define WORDS(...)                          \
	OPTION_WORDS, (const char *const[]) \
	{                                   \
		__VA_ARGS__, NULL           \
	}

/* Where the argument goes: a kind of enum option_into, a field, and what else its row has. */
#define INTO(kind, field, ...)                                                       \
	{                                                                            \
		.into = INTO_##kind, .at = offsetof(struct opts, field), __VA_ARGS__ \
	}
#define OWN                      \
	{                        \
		.into = INTO_OWN \
	}
#define OWN_LIVE                                   \
	{                                          \
		.into = INTO_OWN, .is_live = true, \
	}
#define RANGE(from, to)	     .min = (from), .max = (to)
#define TEXTS(field, number) INTO(TEXTS, field, .count = offsetof(struct opts, number))
#define TEXT_OF_(number)     #number
#define TEXT_OF(number)	     TEXT_OF_(number)

static const struct option_argument of_pid = {"PID", OPTION_PID, NULL, false};
static const struct option_argument of_dir = {"DIR", OPTION_DIR, NULL, false};
static const struct option_argument of_file = {"FILE", OPTION_FILE, NULL, false};
static const struct option_argument of_event = {"GLOB", OPTION_EVENT, NULL, false};
static const struct option_argument of_stack = {"GLOB", OPTION_EVENT, NULL, true};
static const struct option_argument of_marker = {"MARKER", OPTION_VALUE, NULL, false};
static const struct option_argument of_format = {"FORMAT", OPTION_FORMAT, NULL, false};
static const struct option_argument of_release = {
	"X.Y", WORDS("5.0", "5.1", "5.2", "5.3", "5.4", "5.5"), false};
static const struct option_argument of_mode = {"MODE", OPTION_WORDS, engine_mode_names, false};
static const struct option_argument of_ring_request = {"WHEN", WORDS("auto", "always", "never"),
						       false};
static const struct option_argument of_attach = {"HOW", WORDS("auto", "multi", "perf"), false};
static const struct option_argument of_blame = {"faults", WORDS("faults"), true};
static const struct option_argument of_by = {"WHAT", WORDS("program", "process"), false};
static const struct option_argument of_profile_by = {
	"WHAT", WORDS("phase", "thread", "domain", "program", "span"), false};
static const struct option_argument of_span_by = {"WHAT", WORDS("program", "process"), false};
static const struct option_argument of_column = {"COLUMN", OPTION_WORDS, top_column_names, false};
static const struct option_argument of_group = {"WHAT", OPTION_WORDS, top_group_names, false};
static const struct option_argument of_time_form = {"HOW", WORDS("start", "delta", "wall"), false};
static const struct option_argument of_per = {"WHAT", WORDS("run", "time", "alloc"), false};
static const struct option_argument of_duration = {"TIME", OPTION_VALUE, NULL, false};
static const struct option_argument of_size = {"SIZE", OPTION_VALUE, NULL, false};
static const struct option_argument of_percent = {"PERCENT", OPTION_VALUE, NULL, false};
static const struct option_argument of_number = {"N", OPTION_VALUE, NULL, false};
static const struct option_argument of_tid = {"TID", OPTION_VALUE, NULL, false};
static const struct option_argument of_glob = {"GLOB", OPTION_VALUE, NULL, false};
static const struct option_argument of_probability = {"P", OPTION_VALUE, NULL, false};
static const struct option_argument of_conditions = {"CONDITION,...", OPTION_VALUE, NULL, false};
static const struct option_argument of_rule = {"SPAN>TIME", OPTION_RULE, NULL, false};

const struct option_row option_rows[] = {
	{0, NULL, 0, NULL, "Input:", 1, OWN},
	{RUN | OPTS_PAGES | OPTS_INFO | OPTS_LIST | OPTS_MEM_RECORD, "pid", 'p', &of_pid,
	 "A running process, or several: 1,2 (repeatable)", 1, OWN},
	{RUN, "all", 'a', NULL,
	 "All processes that can be traced, also those that come; switches no ring on", 1,
	 INTO(TRUE, engine.all)},
	{OPTS_PROFILE, "freq", 'F', &of_number,
	 "Samples of each CPU in a second, from 1 to 10000; default 99", 1,
	 INTO(NUMBER, hz, RANGE(1, 10000), .preset = "99", .is_live = true)},
	{OPTS_PROFILE, "off-cpu", OPT_OFF_CPU, NULL,
	 "Where threads wait, in place of where they run", 1, INTO(TRUE, off_cpu)},
	{OPTS_PROFILE, "wall", OPT_WALL, NULL,
	 "Both, by time: where threads run and where they wait", 1, INTO(TRUE, wall)},
	{RUN | OPTS_LIST | OPTS_INFO, "ring-dir", OPT_RING_DIR, &of_dir,
	 "Another directory to search for ring files", 1,
	 INTO(TEXT, engine.ring_dir, .is_live = true)},
	{RINGS | OPTS_SPANS | OPTS_INFO, "ocaml-version", OPT_RUNTIME_VERSION, &of_release,
	 "Release that wrote the rings: 5.0 to 5.5", 1, OWN},
	{RINGS | OPTS_SPANS, "mode", OPT_MODE, &of_mode,
	 "auto, ring (no privilege), watermark (a trap for each quarter of a "
	 "ring), stream (a trap for each event: with thread and CPU), probes "
	 "(traps alone: no ring is read), counters (probes that only count: for statistics)",
	 1, INTO(WORD, engine.mode, .is_live = true)},
	{RINGS | OPTS_SPANS, "ring-request", OPT_RING_REQUEST, &of_ring_request,
	 "Ask programs to switch their ring on: auto (not under a seccomp filter), always, never",
	 1, INTO(WORD, engine.ring_request, .is_live = true)},
	{OPTS_TRACE, "pages", OPT_PAGES, NULL,
	 "Watch the pages of the address space, through the kernel, instead of events of the "
	 "runtime",
	 1, INTO(TRUE, engine.pages)},
	{RINGS, "blame", OPT_BLAME, &of_blame,
	 "Record when threads do not run, why, what woke them and what ran instead (needs "
	 "privilege); =faults: with the time of page faults",
	 1, OWN},
	{SELECT | OPTS_SPANS, "stack", OPT_STACK, &of_stack,
	 "Record the stack of each event, or of those of this name or kind; !GLOB excludes "
	 "(repeatable; needs privilege)",
	 1, OWN},
	{OPTS_PROFILE, "kernel-stacks", OPT_KERNEL_STACKS, NULL,
	 "Samples in the kernel have its functions, too, if /proc/kallsyms may be read", 1,
	 INTO(TRUE, engine.kernel_stacks, .is_live = true)},
	{OPTS_TRACE | OPTS_SPANS | OPTS_PROFILE, "marker", 'U', &of_marker,
	 "Markers of any program as events: 'provider:name'; as spans: 'p:begin~p:end' by thread, "
	 "'p:begin#0~p:end#0' by argument 0 of each; #1:str: with the text of argument 1; names "
	 "may be patterns: 'p:*', 'p:*_begin~p:*_end' (repeatable; needs privilege)",
	 1, OWN_LIVE},
	{OPTS_TRACE | OPTS_SPANS | OPTS_PROFILE, "many", OPT_MANY, NULL,
	 "With -U: any number of sites, and markers that fire on every call", 1,
	 INTO(TRUE, engine.markers.many, .is_live = true)},
	{SELECT, "snapshot", OPT_SNAPSHOT, NULL, "Print what the rings hold now, then exit", 1,
	 INTO(TRUE, engine.snapshot)},
	{RUN | OPTS_PAGES | OPTS_MEM_RECORD, "duration", 'd', &of_duration,
	 "Stop after this time: 10s, 500ms, 2m", 1,
	 INTO(TIME, engine.duration_ns, .is_live = true)},
	{RUN | OPTS_MEM_RECORD, "wait", OPT_WAIT, NULL,
	 "With -p: wait until the process or a child of it has something to trace", 1,
	 INTO(TRUE, engine.wait, .is_live = true)},
	{RUN | OPTS_PAGES, "no-follow", OPT_NO_FOLLOW, NULL, "Do not trace children of the process",
	 1, INTO(FALSE, engine.follow, .is_live = true)},
	{OPTS_MEM_RECORD, "children", OPT_CHILDREN, NULL,
	 "With -- PROGRAM: record the programs that its children run, too, each process in a FILE "
	 "of its own, named by its pid",
	 1, INTO(TRUE, children)},
	{OPTS_INFO, "kernel", OPT_KERNEL, NULL,
	 "What this kernel and these privileges allow, feature by feature, and why not", 1,
	 INTO(TRUE, kernel)},
	{0, NULL, 0, NULL, "Selection:", 2, OWN},
	{SELECT, "event", 'e', &of_event,
	 "Only events of this name or kind; !GLOB excludes (repeatable)", 2,
	 TEXTS(engine.globs, engine.glob_count)},
	{SELECT, "domain", OPT_DOMAIN, &of_number, "Only this domain (repeatable)", 2, OWN},
	{SELECT, "tid", 't', &of_tid, "Only events of this thread (repeatable)", 2, OWN},
	{SELECT | OPTS_PROFILE, "min-duration", OPT_MIN_DURATION, &of_duration,
	 "Only spans of at least this length: 1ms, 50us", 2, INTO(TIME, engine.min_duration_ns)},
	{OPTS_MEM, "filter", OPT_FILTER, &of_conditions,
	 "Only objects for which all hold: function=GLOB, file=GLOB, site=GLOB, != likewise, "
	 "domain=N, lifetime>TIME, size>=SIZE (repeatable)",
	 2, TEXTS(filters, filter_count)},
	{OPTS_MEM | OPTS_PAGES, "at", OPT_AT, &of_duration,
	 "Only what happened up to this time since the begin: 10s, 500ms", 2, INTO(MOMENT, at)},
	{OPTS_MEM, "wrapper", OPT_WRAPPER, &of_glob,
	 "Functions that allocate for their callers, which are the sites; beside those that "
	 "ebtrace-mem(1) lists (repeatable)",
	 2, TEXTS(wrapper_globs, wrappers.globs)},
	{OPTS_MEM, "no-wrappers", OPT_NO_WRAPPERS, NULL,
	 "Only functions of --wrapper are wrappers; without it, none", 2,
	 INTO(TRUE, wrappers.only_globs)},
	{OPTS_PAGES, "from", OPT_FROM, &of_duration,
	 "What happened from this time on, since the begin, on a heap of all that was before", 2,
	 INTO(MOMENT, from)},
	{OPTS_PAGES, "to", OPT_TO, &of_duration,
	 "Only what happened up to this time, since the begin", 2, INTO(MOMENT, to)},
	{OPTS_LIST, "events", OPT_EVENTS, NULL, "List every name and kind that -e can match", 2,
	 INTO(TRUE, events)},
	{0, NULL, 0, NULL, "Output:", 3, OWN},
	{RUN | OPTS_MEM_RECORD | OPTS_PAGES, "output", 'o', &of_file,
	 "Write to FILE instead of stdout", 3, INTO(TEXT, output)},
	{OPTS_MEM | OPTS_MEM_RECORD, "rate", OPT_RATE, &of_probability,
	 "Probability that a word of 8 bytes is sampled", 3, INTO(RATE, rate)},
	{RUN | OPTS_PAGES, "format", 'f', &of_format,
	 "text, ndjson, perfetto, chrome, fxt, ebt, memtrace or pagetrace; default: by the suffix "
	 "of FILE, else text",
	 3, OWN},
	{OPTS_TRACE, "max-size", OPT_MAX_SIZE, &of_size,
	 "End the recording when FILE has this size: 64K, 100M", 3,
	 INTO(SIZE, max_bytes, .least = "4K")},
	{OPTS_TRACE, "rotate", OPT_ROTATE, &of_number,
	 "With --max-size: begin a new FILE instead and keep the newest N: FILE, FILE.1 and so on",
	 3, INTO(NUMBER, rotate, RANGE(1, 1000))},
	{OPTS_TRACE, "time", OPT_TIME, &of_time_form,
	 "Times of text: start (since the first event), delta (since the previous line), wall", 3,
	 INTO(WORD, time)},
	{SELECT | OPTS_SPANS, "max-stack", OPT_MAX_STACK, &of_number,
	 "Functions of a stack that are written beside an event, the innermost; default 1024, 0: "
	 "all",
	 3, INTO(NUMBER, max_stack, RANGE(0, INT_MAX), .preset = TEXT_OF(SESSION_MAX_STACK))},
	{OPTS_STAT | OPTS_SPANS | OPTS_TOP | OPTS_PROFILE | OPTS_MEM | OPTS_PAGES | OPTS_LIST |
		 OPTS_INFO,
	 "json", OPT_JSON, NULL, "Print JSON", 3, INTO(TRUE, json)},
	{RUN | OPTS_PAGES | OPTS_LIST | OPTS_INFO, "json-schema", OPT_JSON_SCHEMA, NULL,
	 "Print the schema of the JSON output and exit", 3, INTO(TRUE, json_schema)},
	{OPTS_STAT | OPTS_SPANS | OPTS_TOP | OPTS_MEM, "interval", OPT_INTERVAL, &of_duration,
	 "Print a line at this interval: 1s, 100ms; with --json the report so far", 3,
	 INTO(TIME, interval_ns, .least = "1ms")},
	{OPTS_STAT, "mmu", OPT_MMU, NULL,
	 "Add the least share of time that the mutator had in windows of 1 to 1,000 ms; with -f "
	 "svg as a picture",
	 3, INTO(TRUE, mmu)},
	{OPTS_SPANS, "fibers", OPT_FIBERS, NULL,
	 "Fibers in place of spans, by their outermost spans or the names of their contexts, and "
	 "what their domains did",
	 3, INTO(TRUE, fibers)},
	{OPTS_STAT | OPTS_SPANS | OPTS_PROFILE, "by", OPT_BY, &of_by,
	 "A section for each program or process; default: program if there are "
	 "more than 8 processes",
	 3, OWN},
	{OPTS_STAT | OPTS_SPANS | OPTS_TOP | OPTS_PROFILE | OPTS_MEM | OPTS_PAGES, "top", OPT_TOP,
	 &of_number, "Only the N sections with the most GC time", 3,
	 INTO(NUMBER, top, RANGE(1, INT_MAX))},
	{OPTS_TOP, "once", OPT_ONCE, NULL,
	 "Print one frame as text, of the --interval or --duration, or of a FILE, and exit", 3,
	 INTO(TRUE, once)},
	{OPTS_TOP, "sort", OPT_SORT, &of_column,
	 "Sort by: pid, gc, p99, max, alloc, heap, lost, program; default gc", 3,
	 INTO(WORD, sort, .preset = "gc")},
	{OPTS_TOP, "group", OPT_GROUP, &of_group,
	 "A row for each process, program, container or unit; default process", 3,
	 INTO(WORD, group)},
	{OPTS_TOP, "tree", OPT_TREE, NULL, "Show processes as a tree", 3, INTO(TRUE, tree)},
	{OPTS_MEM, "per", OPT_PER, &of_per,
	 "With diff: compare the bytes of a run (the default), per time (in a second) or alloc "
	 "(of all that was allocated)",
	 3, INTO(WORD, per)},
	{OPTS_MEM, "live", OPT_LIVE, NULL,
	 "With diff: compare what is alive at the end of each FILE, or --at a time", 3,
	 INTO(TRUE, live)},
	{RUN | OPTS_PAGES | OPTS_INFO, "fail-on-loss", OPT_FAIL_ON_LOSS, NULL,
	 "Exit with status 3 if events were lost", 3, INTO(TRUE, fail_on_loss)},
	{OPTS_LIST, "prune", OPT_PRUNE, NULL, "Remove the ring files of dead processes", 3,
	 INTO(TRUE, prune)},
	{OPTS_TRACE, "trigger", OPT_TRIGGER, &of_rule,
	 "Keep the last seconds in memory, and write a capture, FILE.1.ebt and so on, only where a "
	 "span takes longer: 'pause>5ms', 'major*>20ms' (repeatable)",
	 3, OWN},
	{OPTS_TRACE, "before", OPT_BEFORE, &of_duration,
	 "With --trigger: from so long before the span begins; default 2s", 3,
	 INTO(TIME, trigger.before_ns, .preset = "2s")},
	{OPTS_TRACE, "after", OPT_AFTER, &of_duration,
	 "With --trigger: to so long after it ends; default 1s", 3,
	 INTO(TIME, trigger.after_ns, .preset = "1s")},
	{OPTS_TRACE, "max", OPT_MAX, &of_number,
	 "With --trigger: end after so many captures; default 10, 0: never", 3,
	 INTO(NUMBER, trigger.max, RANGE(0, 1000000), .preset = "10")},
	{OPTS_TRACE, "trigger-memory", OPT_TRIGGER_MEMORY, &of_size,
	 "With --trigger: memory for the last seconds, compressed; default 64M", 3,
	 INTO(SIZE, trigger.memory, .least = "1M", .preset = "64M")},
	{0, NULL, 0, NULL, "Limits and scheduling:", 4, OWN},
	{RUN, "buffer", OPT_BUFFER, &of_size,
	 "Memory for the backlog of all rings together; default 256M, for files 64M", 4,
	 INTO(SIZE, engine.buffer_bytes)},
	{RUN | OPTS_PAGES | OPTS_MEM_RECORD, "bpf-buffer", OPT_BPF_BUFFER, &of_size,
	 "Size of the BPF ring buffer, a power of two; default 16M", 4,
	 INTO(POWER, engine.bpf_buffer_bytes, .least = "4K", .most = "1G", .is_live = true)},
	{RINGS | OPTS_SPANS, "cpu", OPT_CPU, &of_percent,
	 "Share of one CPU that tracing may take, that of the probes in the programs included: 5%; "
	 "above it less is recorded, which is said and counted, until it is cheap again",
	 4, INTO(SHARE, engine.cpu_share, .is_live = true)},
	{RINGS | OPTS_SPANS, "memory", OPT_MEMORY, &of_size,
	 "Memory that ebtrace may take: 100M; above it less is recorded, likewise", 4,
	 INTO(SIZE, engine.memory_bytes, .least = "1M", .is_live = true)},
	{RUN, "attach", OPT_ATTACH, &of_attach,
	 "auto, multi (one link a file), perf (one link a site)", 4,
	 INTO(WORD, engine.attach, .is_live = true)},
	{RUN, "no-realtime", OPT_NO_REALTIME, NULL,
	 "Do not use real-time scheduling, by which root's ebtrace reads rings in time", 4,
	 INTO(FALSE, engine.realtime, .is_live = true)},
	{0, NULL, 0, NULL, "Other:", -1, OWN},
	{EVENTS, "verbose", 'v', NULL, "Print what is done and why (twice: debug)", -1, OWN},
	{EVENTS, "quiet", 'q', NULL, "Print errors only", -1, OWN},
	{EVERY, "version", 'V', NULL, "Print the version and exit", -1, OWN},
	{EVERY, "help", 'h', NULL, "Give this help list", -1, OWN},
	{EVERY, NULL, '?', NULL, "", -1, OWN},
	{EVERY, "usage", OPT_USAGE, NULL, "Give a short usage message", -1, OWN},
	{0},
};

_Static_assert(sizeof(option_rows) / sizeof(*option_rows) <= OPTION_ROWS_MAX, "room");

/* The alternative that the refusal of an option names. */
static const struct {
	int key;
	enum opts_commands commands;
	const char *text;
} instead[] = {
	{OPT_JSON, OPTS_TRACE, "that writes JSON with -f ndjson"},
	{OPT_MAX_SIZE, OPTS_STAT | OPTS_MEM, "that writes one report"},
	{OPT_ROTATE, OPTS_STAT | OPTS_MEM, "that writes one report"},
	{OPT_SNAPSHOT, OPTS_TOP, "that prints one frame with --once"},
};

const struct option_row *option_row_of(int key)
{
	const struct option_row *r = option_rows;
	while (r->help && (!r->commands || r->key != key))
		r++;
	return r->help ? r : NULL;
}

const struct option_argument *option_argument(const struct option_row *r,
					      enum opts_commands command)
{
	if (r->key == OPT_BY && command == OPTS_PROFILE)
		return &of_profile_by;
	if (r->key == OPT_STACK && command == OPTS_SPANS)
		return NULL;
	return r->key == OPT_BY && command == OPTS_SPANS ? &of_span_by : r->argument;
}

const char *option_help(const struct option_row *r, enum opts_commands command)
{
	const char *own = r->name ? option_own_help(r->name, command) : NULL;
	return own ? own : r->help;
}

bool option_group_has(const struct option_row *heading, enum opts_commands command)
{
	for (const struct option_row *r = heading + 1; r->commands; r++)
		if (r->commands & command)
			return true;
	return false;
}

bool option_refusal(int key, enum opts_commands command, char *why)
{
	const struct option_row *r = option_row_of(key);
	if (!r || r->commands & command)
		return false;
	char takers[COMMANDS_BYTES], name[COMMANDS_BYTES];
	const char *more = NULL;
	commands_name(r->commands, takers);
	commands_name(command, name);
	for (size_t i = 0; i < sizeof(instead) / sizeof(*instead); i++)
		if (instead[i].key == key && instead[i].commands & command)
			more = instead[i].text;
	snprintf(why, OPTION_REFUSAL_BYTES, "--%s is an option of %s, not of %s%s%s", r->name,
		 takers, name, more ? "; " : "", more ? more : "");
	return true;
}

/* Ends the program. A command line made of foreign file names may contain any byte. */
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

static uint64_t parse_time(struct argp_state *st, const char *text)
{
	double ns;
	if (!quantity_time(text, &ns) || ns > 9e18)
		refuse(st, "'%s' is not a time (like 500us, 10ms, 2s)", text);
	return (uint64_t)ns;
}

static uint64_t parse_size(struct argp_state *st, const char *text)
{
	double bytes;
	if (!quantity_size(text, &bytes) || bytes > 9e18)
		refuse(st, "'%s' is not a size (like 64K, 16M)", text);
	return (uint64_t)bytes;
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

static double parse_share(struct argp_state *st, const char *text)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "%")) || !(v >= 0.01 && v <= 1e6))
		refuse(st, "'%s' is not a share of a CPU (like 5%%, 0.5%%, 150%%)", text);
	return v / 100;
}

static double parse_rate(struct argp_state *st, const char *text)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || *end || !(v >= 1e-12 && v <= 1))
		refuse(st, "'%s' is not a rate (like 1e-5, above 0 and at most 1)", text);
	return v;
}

/* The number of a word of the option's row. */
static int parse_word(struct argp_state *st, const struct option_row *r, const char *text)
{
	const struct opts *o = st->input;
	const char *const *words = option_argument(r, o->command)->words;
	char known[128];
	size_t at = 0;
	for (int i = 0; words[i]; i++) {
		if (!strcmp(text, words[i]))
			return i;
		at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", i ? ", " : "",
				       words[i]);
	}
	refuse(st, "unknown --%s '%s'; known: %s", r->name, text, known);
	return 0;
}

typedef uint64_t parse_fn(struct argp_state *st, const char *text);

/* A time or a size, not less than its row allows. */
static uint64_t parse_least(struct argp_state *st, const struct option_row *r, parse_fn *parse,
			    const char *text)
{
	const char *least = r->field.least;
	uint64_t v = parse(st, text);
	if (least && v < parse(st, least))
		refuse(st, "--%s must be %s or more", r->name, least);
	return v;
}

static uint64_t parse_power(struct argp_state *st, const struct option_row *r, const char *text)
{
	const struct option_field *f = &r->field;
	uint64_t v = parse_size(st, text);
	if (v & (v - 1) || v < parse_size(st, f->least) || v > parse_size(st, f->most))
		refuse(st, "--%s must be a power of two from %s to %s", r->name, f->least, f->most);
	return v;
}

/* What a row says of its argument. */
static void put(struct argp_state *st, const struct option_row *r, const char *arg)
{
	const struct option_field *f = &r->field;
	void *at = (char *)st->input + f->at;
	switch (f->into) {
	case INTO_OWN:
		break;
	case INTO_TRUE:
	case INTO_FALSE:
		*(bool *)at = f->into == INTO_TRUE;
		break;
	case INTO_TEXT:
		*(const char **)at = arg;
		break;
	case INTO_TEXTS:
		(*(const char ***)at)[(*(unsigned *)((char *)st->input + f->count))++] = arg;
		break;
	case INTO_WORD:
		*(unsigned *)at = (unsigned)parse_word(st, r, arg);
		break;
	case INTO_NUMBER:
		*(uint32_t *)at = (uint32_t)parse_number(st, arg, f->min, f->max);
		break;
	case INTO_SHARE:
		*(double *)at = parse_share(st, arg);
		break;
	case INTO_RATE:
		*(double *)at = parse_rate(st, arg);
		break;
	case INTO_TIME:
		*(uint64_t *)at = parse_least(st, r, parse_time, arg);
		break;
	case INTO_MOMENT:
		*(struct moment *)at = moment_at(parse_time(st, arg));
		break;
	case INTO_SIZE:
		*(uint64_t *)at = parse_least(st, r, parse_size, arg);
		break;
	case INTO_POWER:
		*(uint64_t *)at = parse_power(st, r, arg);
		break;
	}
}

/* Of options that are not given. */
static void put_presets(struct opts *o)
{
	struct argp_state st = {.input = o};
	for (const struct option_row *r = option_rows; r->help; r++) {
		if (r->field.into == INTO_FALSE)
			*(bool *)((char *)o + r->field.at) = true;
		if (r->field.preset)
			put(&st, r, r->field.preset);
	}
}

/* PID or PID,PID...; the same process twice is one. */
static void parse_pids(struct argp_state *st, struct engine_options *e, char *arg)
{
	for (char *one = arg, *next; one; one = next) {
		next = strchr(one, ',');
		if (next)
			*next++ = 0;
		pid_t pid = (pid_t)parse_number(st, one, 1, INT_MAX);
		unsigned i = 0;
		while (i < e->pid_count && e->pids[i] != pid)
			i++;
		e->pids[i] = pid;
		e->pid_count += i == e->pid_count;
	}
}

static const struct format *parse_format(struct argp_state *st, const char *name)
{
	const struct format *format = format_named(name);
	if (!format)
		refuse(st, "unknown format '%s'; known: %s", name, format_names());
	return format;
}

static void parse_rule(struct argp_state *st, struct opts *o, char *arg)
{
	struct opts_trigger *t = &o->trigger;
	const char *over = strrchr(arg, '>');
	if (t->rules == SPAN_WATCH_RULES)
		refuse(st, "there may be %d --trigger", SPAN_WATCH_RULES);
	if (!over || over == arg)
		refuse(st, "'%s' is not SPAN>TIME (like 'pause>5ms', 'minor>2ms', quoted)", arg);
	const char *span = strndup(arg, (size_t)(over - arg));
	if (!span)
		refuse(st, "%s", strerror(ENOMEM));
	t->rule[t->rules++] = (struct span_rule){arg, span, parse_time(st, over + 1)};
	o->engine.span_globs[o->engine.span_glob_count++] = span;
}

static void parse_marker(struct argp_state *st, struct engine_options *e, const char *arg)
{
	const char *why = marker_requests_add(&e->markers, arg);
	if (why)
		refuse(st, "-U '%.200s': %s", arg, why);
}

/* Of spans also '#N', an argument of markers. */
static void parse_by(struct argp_state *st, struct opts *o, const char *arg)
{
	bool is_argument = o->command == OPTS_SPANS && *arg == '#';
	int word = is_argument ? 0 : parse_word(st, option_row_of(OPT_BY), arg);
	if (is_argument)
		o->spans_by.argument =
			1 + (uint32_t)parse_number(st, arg + 1, 0, MARKER_VALUES_MAX - 1);
	else if (o->command == OPTS_SPANS)
		o->spans_by.owner = (enum span_owner)(SPANS_BY_PROGRAM + word);
	else if (o->command == OPTS_PROFILE)
		o->profile_by = (enum profile_by)(PROFILE_BY_PHASE + word);
	else
		o->by = (enum stat_by)(STAT_BY_PROGRAM + word);
}

/* Options that become more than a field. */
static void parse_own(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	struct engine_options *e = &o->engine;
	switch (key) {
	case 'p':
		parse_pids(st, e, arg);
		break;
	case OPT_RUNTIME_VERSION:
		e->runtime = versions_parse(&language_ocaml, arg);
		if (!e->runtime.language)
			refuse(st, "'%s' is not an OCaml release from 5.0 to 5.5", arg);
		break;
	case OPT_BLAME:
		e->blame = true;
		e->faults |= arg && !parse_word(st, option_row_of(key), arg);
		break;
	case 'U':
		parse_marker(st, e, arg);
		break;
	case OPT_STACK:
		*(o->command == OPTS_SPANS ? &e->block_stacks : &e->stacks) = true;
		if (arg)
			e->stack_globs[e->stack_glob_count++] = arg;
		break;
	case 'f':
		if (o->command != OPTS_TRACE)
			o->report_format = arg;
		else
			o->format = parse_format(st, arg);
		break;
	case OPT_DOMAIN:
		e->domains[e->domain_count++] = (uint16_t)parse_number(st, arg, 0, 4095);
		break;
	case 't':
		e->threads[e->thread_count++] = (uint32_t)parse_number(st, arg, 1, INT_MAX);
		break;
	case OPT_BY:
		parse_by(st, o, arg);
		break;
	case OPT_TRIGGER:
		parse_rule(st, o, arg);
		break;
	case 'v':
		log_level = log_level < LOG_VERBOSE ? LOG_VERBOSE : LOG_DEBUG;
		break;
	case 'q':
		log_level = LOG_QUIET;
		break;
	}
}

int opts_print_version(void)
{
	print("ebtrace %s\n", EBT_VERSION);
	return print_end();
}

/* Help that cannot be written is an error: argp itself would end the program with status 0. */
static void print_help(struct argp_state *st, unsigned flags)
{
	argp_state_help(st, stdout, flags & ~(unsigned)(ARGP_HELP_EXIT_OK | ARGP_HELP_EXIT_ERR));
	exit(print_end());
}

/* Options that print something and end the program. */
static void answer_question(int key, struct argp_state *st)
{
	switch (key) {
	case 'h':
	case '?':
		print_help(st, ARGP_HELP_STD_HELP);
		break;
	case OPT_USAGE:
		print_help(st, ARGP_HELP_USAGE);
		break;
	case 'V':
		exit(opts_print_version());
	}
}

/* An option of another command must not be ignored silently. */
static void check_command(int key, const struct argp_state *st)
{
	char why[OPTION_REFUSAL_BYTES];
	if (option_refusal(key, ((const struct opts *)st->input)->command, why))
		refuse(st, "%s", why);
}

/* --help lists the command's own options; those of other commands are parsed to be refused. */
static void fill_options(enum opts_commands command, struct argp_option *ret)
{
	for (const struct option_row *r = option_rows; r->help; r++) {
		if (!r->commands && !option_group_has(r, command))
			continue;
		const struct option_argument *a = option_argument(r, command);
		bool own = !r->commands || r->commands & command;
		*ret++ = (struct argp_option){
			.name = r->name,
			.key = r->key,
			.arg = a ? a->name : NULL,
			.flags = (own ? 0 : OPTION_HIDDEN) |
				 (a && a->is_optional ? OPTION_ARG_OPTIONAL : 0) |
				 (r->commands && !r->name ? OPTION_ALIAS : 0),
			.doc = r->commands ? option_help(r, command) : r->help,
			.group = r->group,
		};
	}
	*ret = (struct argp_option){0};
}

static error_t parse_opt(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	const struct option_row *r = option_row_of(key);
	if (key == ARGP_KEY_ARG)
		o->engine.files[o->engine.file_count++] = arg;
	if (!r)
		return key == ARGP_KEY_ARG ? 0 : ARGP_ERR_UNKNOWN;
	check_command(key, st);
	size_t row = (size_t)(r - option_rows);
	o->given[row / 64] |= 1ull << row % 64;
	/* What a FILE has been recorded with, or of processes, is not asked for when it is read. */
	if (r->field.is_live && !o->live_option)
		o->live_option = r->name;
	put(st, r, arg);
	parse_own(key, arg, st);
	answer_question(key, st);
	return 0;
}

bool opts_given(const struct opts *o, int key)
{
	size_t row = (size_t)(option_row_of(key) - option_rows);
	return o->given[row / 64] >> row % 64 & 1;
}

static rlim_t open_files(void)
{
	struct rlimit files;
	return getrlimit(RLIMIT_NOFILE, &files) ? 1024 : files.rlim_cur;
}

/* How many pids the arguments have at most. */
static int pids_in(int argc, char **argv)
{
	int n = argc;
	for (int i = 0; i < argc; i++)
		for (const char *comma = argv[i]; (comma = strchr(comma, ',')); comma++)
			n++;
	return n;
}

/* An array with room for one element an argument. */
static void *list_for(int argc, size_t size)
{
	void *list = calloc((size_t)argc + 1, size);
	if (list)
		return list;
	complain("%s", strerror(ENOMEM));
	exit(EXIT_ERROR);
}

void opts_parse(struct opts *ret, const struct opts_command *cmd, int argc, char **argv)
{
	*ret = (struct opts){
		.command = cmd->command,
		.filters = list_for(argc, sizeof(char *)),
		.names = list_for(argc, sizeof(char *)),
		.engine =
			{
				.command = cmd->command == OPTS_TRACE ? NULL : argv[0],
				.describes = cmd->command == OPTS_INFO,
				.pids = list_for(pids_in(argc, argv), sizeof(pid_t)),
				.files = list_for(argc, sizeof(char *)),
				.globs = list_for(argc, sizeof(char *)),
				.stack_globs = list_for(argc, sizeof(char *)),
				.span_globs = list_for(argc, sizeof(char *)),
				.domains = list_for(argc, sizeof(uint16_t)),
				.threads = list_for(argc, sizeof(uint32_t)),
				.nice = getpriority(PRIO_PROCESS, 0),
				.open_files = open_files(),
			},
	};
	ret->wrapper_globs = list_for(argc, sizeof(char *));
	ret->wrappers.glob = ret->wrapper_globs;
	put_presets(ret);
	/* What follows "--" belongs to the program, options included. */
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		if (argv[i + 1])
			ret->engine.program = argv + i + 1;
		argc = i;
		argv[i] = NULL;
	}
	struct argp_option options[OPTION_ROWS_MAX];
	fill_options(cmd->command, options);
	struct argp argp = {
		.options = options, .parser = parse_opt, .args_doc = cmd->args, .doc = cmd->doc};
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, ret);
}

void opts_done(struct opts *o)
{
	free(o->engine.pids);
	free(o->engine.files);
	marker_requests_done(&o->engine.markers);
	free(o->engine.globs);
	free(o->engine.stack_globs);
	free(o->engine.span_globs);
	free(o->engine.domains);
	free(o->engine.threads);
	free(o->filters);
	free(o->names);
	free(o->wrapper_globs);
	for (unsigned i = 0; i < o->trigger.rules; i++)
		free((char *)o->trigger.rule[i].span);
}
