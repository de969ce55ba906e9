/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/option_rows.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>

#include "cmd/commands.h"
#include "cmd/opts.h"
#include "engine/options.h"
#include "session/session.h"

/* Commands that read rings; that trace runs; all of events; all. */
#define RINGS  (OPTS_TRACE | OPTS_STAT)
#define RUN    (RINGS | OPTS_MEM)
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
#define RANGE(from, to)	     .min = (from), .max = (to)
#define TEXTS(field, number) INTO(TEXTS, field, .count = offsetof(struct opts, number))
#define TEXT_OF_(number)     #number
#define TEXT_OF(number)	     TEXT_OF_(number)

static const struct option_argument pid = {"PID", OPTION_PID, NULL, false};
static const struct option_argument dir = {"DIR", OPTION_DIR, NULL, false};
static const struct option_argument file = {"FILE", OPTION_FILE, NULL, false};
static const struct option_argument event = {"GLOB", OPTION_EVENT, NULL, false};
static const struct option_argument stack = {"GLOB", OPTION_EVENT, NULL, true};
static const struct option_argument format = {"FORMAT", OPTION_FORMAT, NULL, false};
static const struct option_argument release = {
	"X.Y", WORDS("5.0", "5.1", "5.2", "5.3", "5.4", "5.5"), false};
static const struct option_argument mode = {"MODE", OPTION_WORDS, engine_mode_names, false};
static const struct option_argument ring_request = {"WHEN", WORDS("auto", "always", "never"),
						    false};
static const struct option_argument attach = {"HOW", WORDS("auto", "multi", "perf"), false};
static const struct option_argument blame = {"faults", WORDS("faults"), true};
static const struct option_argument by = {"WHAT", WORDS("program", "process"), false};
static const struct option_argument time_form = {"HOW", WORDS("start", "delta", "wall"), false};
static const struct option_argument per = {"WHAT", WORDS("run", "time", "alloc"), false};
static const struct option_argument duration = {"TIME", OPTION_VALUE, NULL, false};
static const struct option_argument size = {"SIZE", OPTION_VALUE, NULL, false};
static const struct option_argument number = {"N", OPTION_VALUE, NULL, false};
static const struct option_argument tid = {"TID", OPTION_VALUE, NULL, false};
static const struct option_argument glob = {"GLOB", OPTION_VALUE, NULL, false};
static const struct option_argument probability = {"P", OPTION_VALUE, NULL, false};
static const struct option_argument conditions = {"CONDITION,...", OPTION_VALUE, NULL, false};
static const struct option_argument rule = {"SPAN>TIME", OPTION_RULE, NULL, false};

const struct option_row option_rows[] = {
	{0, NULL, 0, NULL, "Input:", 1, OWN},
	{RUN | OPTS_PAGES | OPTS_INFO | OPTS_MEM_RECORD, "pid", 'p', &pid,
	 "A running process, or several: 1,2 (repeatable); of pages with a FILE: the process in it",
	 1, OWN},
	{RUN | OPTS_LIST | OPTS_INFO, "ring-dir", OPT_RING_DIR, &dir,
	 "Another directory to search for ring files", 1,
	 INTO(TEXT, engine.ring_dir, .is_live = true)},
	{RINGS | OPTS_INFO, "ocaml-version", OPT_OCAML_VERSION, &release,
	 "Release that wrote the rings: 5.0 to 5.5", 1, OWN},
	{RINGS, "mode", OPT_MODE, &mode,
	 "auto, ring (no privilege), watermark (a trap for each quarter of a "
	 "ring), stream (a trap for each event: with thread and CPU), probes "
	 "(traps alone: no ring is read)",
	 1, INTO(WORD, engine.mode, .is_live = true)},
	{RINGS, "ring-request", OPT_RING_REQUEST, &ring_request,
	 "Ask programs to switch their ring on: auto (not under a seccomp "
	 "filter), always, never",
	 1, INTO(WORD, engine.ring_request, .is_live = true)},
	{OPTS_TRACE, "pages", OPT_PAGES, NULL,
	 "Watch the pages of the address space, through the kernel, instead of events of the "
	 "runtime",
	 1, INTO(TRUE, engine.pages)},
	{RINGS, "blame", OPT_BLAME, &blame,
	 "Record when threads do not run, why, who woke them and who ran instead (needs "
	 "privilege); stat: report what pauses were made of; =faults: with the time of page faults",
	 1, OWN},
	{RINGS, "stack", OPT_STACK, &stack,
	 "Record the stack of each event, or of those of this name or kind; !GLOB excludes "
	 "(repeatable; needs privilege); stat --blame: of begins, for the longest pauses",
	 1, OWN},
	{RINGS, "snapshot", OPT_SNAPSHOT, NULL, "Print what the rings hold now, then exit", 1,
	 INTO(TRUE, engine.snapshot)},
	{RUN | OPTS_PAGES | OPTS_MEM_RECORD, "duration", 'd', &duration,
	 "Stop after this time: 10s, 500ms, 2m", 1,
	 INTO(TIME, engine.duration_ns, .is_live = true)},
	{RUN | OPTS_MEM_RECORD, "wait", OPT_WAIT, NULL,
	 "With -p: wait until the process or a child of it has something to "
	 "trace",
	 1, INTO(TRUE, engine.wait, .is_live = true)},
	{RUN | OPTS_PAGES, "no-follow", OPT_NO_FOLLOW, NULL, "Do not trace children of the process",
	 1, INTO(FALSE, engine.follow, .is_live = true)},
	{OPTS_MEM_RECORD, "children", OPT_CHILDREN, NULL,
	 "With -- PROGRAM: record the programs that its children run, too, each process in a FILE "
	 "of its own, named by its pid",
	 1, INTO(TRUE, children)},
	{0, NULL, 0, NULL, "Selection:", 2, OWN},
	{RINGS, "event", 'e', &event,
	 "Only events of this name or kind; !GLOB excludes (repeatable)", 2,
	 TEXTS(engine.globs, engine.glob_count)},
	{RINGS, "domain", OPT_DOMAIN, &number, "Only this domain (repeatable)", 2, OWN},
	{RINGS, "tid", 't', &tid, "Only events of this thread (repeatable)", 2, OWN},
	{RINGS, "min-duration", OPT_MIN_DURATION, &duration,
	 "Only spans of at least this length: 1ms, 50us", 2, INTO(TIME, engine.min_duration_ns)},
	{OPTS_MEM, "filter", OPT_FILTER, &conditions,
	 "Only objects for which all hold: function=GLOB, file=GLOB, site=GLOB, != likewise, "
	 "domain=N, lifetime>TIME, size>=SIZE (repeatable)",
	 2, TEXTS(filters, filter_count)},
	{OPTS_MEM | OPTS_PAGES, "at", OPT_AT, &duration,
	 "Only what happened up to this time since the begin: 10s, 500ms", 2, INTO(MOMENT, at)},
	{OPTS_MEM, "wrapper", OPT_WRAPPER, &glob,
	 "Functions that allocate for their callers, which are the sites; beside those that "
	 "ebtrace(1) lists (repeatable)",
	 2, TEXTS(wrapper_globs, wrappers.globs)},
	{OPTS_MEM, "no-wrappers", OPT_NO_WRAPPERS, NULL,
	 "Only functions of --wrapper are wrappers; without it, none", 2,
	 INTO(TRUE, wrappers.only_globs)},
	{OPTS_PAGES, "from", OPT_FROM, &duration,
	 "What happened from this time on, since the begin, on a heap of all that was before", 2,
	 INTO(MOMENT, from)},
	{OPTS_PAGES, "to", OPT_TO, &duration, "Only what happened up to this time, since the begin",
	 2, INTO(MOMENT, to)},
	{OPTS_INFO, "kernel", OPT_KERNEL, NULL,
	 "What this kernel and these privileges allow, feature by feature, and why not", 1,
	 INTO(TRUE, kernel)},
	{OPTS_LIST, "events", OPT_EVENTS, NULL, "List every name and kind that -e can match", 2,
	 INTO(TRUE, events)},
	{0, NULL, 0, NULL, "Output:", 3, OWN},
	{RUN | OPTS_MEM_RECORD | OPTS_PAGES, "output", 'o', &file,
	 "Write to FILE instead of stdout", 3, INTO(TEXT, output)},
	{OPTS_MEM | OPTS_MEM_RECORD, "rate", OPT_RATE, &probability,
	 "Probability that a word of 8 bytes is sampled; of mem record: default 1e-5, a sample for "
	 "800 kB; of mem: of samples whose rate is not known",
	 3, INTO(RATE, rate)},
	{OPTS_TRACE | OPTS_MEM | OPTS_PAGES, "format", 'f', &format,
	 "text, ndjson, perfetto, chrome, fxt, ebt, memtrace or pagetrace; of mem and pages: those "
	 "of the "
	 "report; "
	 "default: by the suffix of FILE, else text",
	 3, OWN},
	{OPTS_TRACE, "max-size", OPT_MAX_SIZE, &size,
	 "End the recording when FILE has this size: 64K, 100M", 3,
	 INTO(SIZE, max_bytes, .least = "4K")},
	{OPTS_TRACE, "rotate", OPT_ROTATE, &number,
	 "With --max-size: begin a new FILE instead and keep the newest N: "
	 "FILE, FILE.1 and so on",
	 3, INTO(NUMBER, rotate, RANGE(1, 1000))},
	{OPTS_TRACE, "time", OPT_TIME, &time_form,
	 "Times of text: start (since the first event), delta (since the "
	 "previous line), wall",
	 3, INTO(WORD, time)},
	{RINGS, "max-stack", OPT_MAX_STACK, &number,
	 "Functions of a stack that are written beside an event, the innermost; default 1024, 0: "
	 "all",
	 3, INTO(NUMBER, max_stack, RANGE(0, INT_MAX), .preset = TEXT_OF(SESSION_MAX_STACK))},
	{OPTS_STAT | OPTS_MEM | OPTS_PAGES | OPTS_LIST | OPTS_INFO, "json", OPT_JSON, NULL,
	 "Print JSON", 3, INTO(TRUE, json)},
	{RUN | OPTS_PAGES | OPTS_LIST | OPTS_INFO, "json-schema", OPT_JSON_SCHEMA, NULL,
	 "Print the schema of the JSON output and exit", 3, INTO(TRUE, json_schema)},
	{OPTS_STAT, "interval", OPT_INTERVAL, &duration, "Print a line at this interval: 1s, 100ms",
	 3, INTO(TIME, interval_ns, .least = "1ms")},
	{OPTS_STAT, "by", OPT_BY, &by,
	 "A section for each program or process; default: program if there are "
	 "more than 8 processes",
	 3, OWN},
	{OPTS_STAT | OPTS_MEM | OPTS_PAGES, "top", OPT_TOP, &number,
	 "Only the N sections with the most GC time; of mem: rows with the most bytes; of pages: "
	 "rows with the most pages",
	 3, INTO(NUMBER, top, RANGE(1, INT_MAX))},
	{OPTS_MEM, "per", OPT_PER, &per,
	 "Of mem diff: compare bytes of a run (the default), per time (in a second) or alloc (of "
	 "all that was allocated)",
	 3, INTO(WORD, per)},
	{OPTS_MEM, "live", OPT_LIVE, NULL,
	 "Of mem diff: compare what is alive at the end of each FILE, or --at a time", 3,
	 INTO(TRUE, live)},
	{RUN | OPTS_PAGES | OPTS_INFO, "fail-on-loss", OPT_FAIL_ON_LOSS, NULL,
	 "Exit with status 3 if events were lost", 3, INTO(TRUE, fail_on_loss)},
	{OPTS_LIST, "prune", OPT_PRUNE, NULL, "Remove the ring files of dead processes", 3,
	 INTO(TRUE, prune)},
	{OPTS_TRACE, "trigger", OPT_TRIGGER, &rule,
	 "Keep the last seconds in memory, and write a capture, FILE.1.ebt and so on, only where a "
	 "span takes longer: 'pause>5ms', 'major*>20ms' (repeatable)",
	 3, OWN},
	{OPTS_TRACE, "before", OPT_BEFORE, &duration,
	 "With --trigger: from so long before the span begins; default 2s", 3,
	 INTO(TIME, trigger.before_ns, .preset = "2s")},
	{OPTS_TRACE, "after", OPT_AFTER, &duration,
	 "With --trigger: to so long after it ends; default 1s", 3,
	 INTO(TIME, trigger.after_ns, .preset = "1s")},
	{OPTS_TRACE, "max", OPT_MAX, &number,
	 "With --trigger: end after so many captures; default 10, 0: never", 3,
	 INTO(NUMBER, trigger.max, RANGE(0, 1000000), .preset = "10")},
	{OPTS_TRACE, "trigger-memory", OPT_TRIGGER_MEMORY, &size,
	 "With --trigger: memory for the last seconds, compressed; default 64M", 3,
	 INTO(SIZE, trigger.memory, .least = "1M", .preset = "64M")},
	{0, NULL, 0, NULL, "Limits and scheduling:", 4, OWN},
	{RUN, "buffer", OPT_BUFFER, &size,
	 "Memory for the backlog of all rings together; default 256M, for "
	 "files 64M",
	 4, INTO(SIZE, engine.buffer_bytes)},
	{RUN | OPTS_PAGES | OPTS_MEM_RECORD, "bpf-buffer", OPT_BPF_BUFFER, &size,
	 "Size of the BPF ring buffer, a power of two; default 16M", 4,
	 INTO(POWER, engine.bpf_buffer_bytes, .least = "4K", .most = "1G", .preset = "16M",
	      .is_live = true)},
	{RUN, "attach", OPT_ATTACH, &attach,
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
	enum opts_commands command;
	const char *text;
} instead[] = {
	{OPT_JSON, OPTS_TRACE, "that writes JSON with -f ndjson"},
	{'f', OPTS_STAT, "that writes text, or JSON with --json"},
	{OPT_MAX_SIZE, OPTS_STAT, "that writes one report"},
	{OPT_ROTATE, OPTS_STAT, "that writes one report"},
	{OPT_MAX_SIZE, OPTS_MEM, "that writes one report"},
	{OPT_ROTATE, OPTS_MEM, "that writes one report"},
};

const struct option_row *option_row_of(int key)
{
	const struct option_row *r = option_rows;
	while (r->help && (!r->commands || r->key != key))
		r++;
	return r->help ? r : NULL;
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
		if (instead[i].key == key && instead[i].command == command)
			more = instead[i].text;
	snprintf(why, OPTION_REFUSAL_BYTES, "--%s is an option of %s, not of %s%s%s", r->name,
		 takers, name, more ? "; " : "", more ? more : "");
	return true;
}
