/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/option_rules.h"

#include <stdint.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/message.h"

/* What holds of a command line. */
#define FACTS(X)                                                                               \
	X(PIDS, e->pid_count)                                                                  \
	X(ALL, e->all)                                                                         \
	X(NO_FOLLOW, !e->follow)                                                               \
	X(RING_REQUEST, opts_given(o, OPT_RING_REQUEST))                                       \
	X(SEVERAL_PIDS, e->pid_count > 1)                                                      \
	X(PROGRAM, e->program)                                                                 \
	X(FILES, e->file_count)                                                                \
	X(LIVE_OPTION, o->live_option)                                                         \
	X(SNAPSHOT, e->snapshot)                                                               \
	X(STACK, e->stacks)                                                                    \
	X(BLOCK_STACK, e->block_stacks)                                                        \
	X(BLAME, e->blame)                                                                     \
	X(FAULTS, e->faults)                                                                   \
	X(PAGES, e->pages)                                                                     \
	X(NO_TRAPS, e->mode == MODE_RING || e->mode == MODE_WATERMARK)                         \
	X(RINGS, e->mode != MODE_AUTO && e->mode != MODE_PROBES)                               \
	X(MARKERS, e->markers.count)                                                           \
	X(MANY, e->markers.many)                                                               \
	X(COUNTERS, e->mode == MODE_COUNTERS)                                                  \
	X(PROBES_ALONE, engine_probes_alone(e))                                                \
	X(MMU, o->mmu)                                                                         \
	X(SELECTS, e->glob_count || e->domain_count || e->thread_count)                        \
	X(RING_DIR, e->ring_dir)                                                               \
	X(TRIGGER, o->trigger.rules)                                                           \
	X(TRIGGER_LIMITS, opts_given(o, OPT_BEFORE) || opts_given(o, OPT_AFTER) ||             \
				  opts_given(o, OPT_MAX) || opts_given(o, OPT_TRIGGER_MEMORY)) \
	X(CAPTURES, o->captures)                                                               \
	X(TO_FILE, o->output &&strcmp(o->output, "-"))                                         \
	X(MAX_SIZE, o->max_bytes)                                                              \
	X(ROTATE, o->rotate)                                                                   \
	X(JSON, o->json)                                                                       \
	X(BY_PROGRAM, o->by == STAT_BY_PROGRAM)                                                \
	X(BY, o->by)                                                                           \
	X(ONE_FRAME, o->once || o->json)                                                       \
	X(OUTPUT, o->output)                                                                   \
	X(TOO_OFTEN, o->interval_ns && o->interval_ns < 50000000)                              \
	X(TOP, o->top)                                                                         \
	X(AT, o->at.known)                                                                     \
	X(FROM_TO, o->from.known || o->to.known)                                               \
	X(REVERSED, o->from.known && o->to.known && o->from.ns > o->to.ns)                     \
	X(PER, opts_given(o, OPT_PER))                                                         \
	X(PER_TIME, o->per == MEM_PER_TIME)                                                    \
	X(LIVE, o->live)                                                                       \
	X(COMPARES, o->compares)                                                               \
	X(CHILDREN, o->children)                                                               \
	X(RATE, o->rate > 0)                                                                   \
	X(KERNEL, o->kernel)                                                                   \
	X(BUDGET, engine_has_budget(e))                                                        \
	X(OFF_CPU, o->off_cpu)                                                                 \
	X(WALL, o->wall)                                                                       \
	X(FREQ, opts_given(o, 'F'))                                                            \
	X(MIN_DURATION, opts_given(o, OPT_MIN_DURATION))

#define X(fact, holds) fact,
enum { FACTS(X) };
#undef X

static uint64_t facts_of(const struct opts *o)
{
	const struct engine_options *e = &o->engine;
	uint64_t facts = 0;
#define X(fact, holds) facts |= (uint64_t) !!(holds) << fact;
	FACTS(X)
#undef X
	return facts;
}

#define IS(fact) (1ull << (fact))
#define RUN	 (OPTS_TRACE | OPTS_STAT | OPTS_SPANS | OPTS_TOP | OPTS_MEM | OPTS_PROFILE)
#define MARKS	 (OPTS_TRACE | OPTS_SPANS | OPTS_PROFILE)
#define RECORD_WHAT \
	"what to record? -- PROGRAM or -p PID; 'ebtrace mem record --help' shows examples"

/* A rule refuses a command line for which all of `all`, one of `any` (if there are any) and none of
 * `none` hold. */
static const struct rule {
	unsigned commands; /* of enum opts_commands */
	uint64_t all, any, none;
	const char *message; /* with IS(LIVE_OPTION) in `all`: printed behind that option */
} rules[] = {
	{RUN, 0, 0, IS(PIDS) | IS(ALL) | IS(PROGRAM) | IS(FILES),
	 "what to trace? -p PID, -- PROGRAM, or a FILE; 'ebtrace --help' shows examples"},
	{RUN, IS(ALL), IS(PIDS) | IS(PROGRAM) | IS(FILES), 0,
	 "-a traces all processes: it takes no -p PID, -- PROGRAM or FILE"},
	{RUN, IS(ALL), IS(NO_FOLLOW) | IS(RING_REQUEST), 0,
	 "-a traces children, too, and switches no ring on: it takes no --no-follow or "
	 "--ring-request"},
	{RUN, IS(ALL) | IS(PAGES), 0, 0, "--pages watches processes of -p PID, or -- PROGRAM"},
	{RUN, IS(PIDS), IS(PROGRAM) | IS(FILES), 0,
	 "-p PID, -- PROGRAM and FILE exclude one another; 'ebtrace --help' shows examples"},
	{RUN, IS(PROGRAM) | IS(FILES), 0, 0,
	 "-p PID, -- PROGRAM and FILE exclude one another; 'ebtrace --help' shows examples"},
	{RUN, IS(FILES) | IS(LIVE_OPTION), 0, 0, "needs processes that run: -p PID, or -- PROGRAM"},
	{~(unsigned)(OPTS_STAT | OPTS_TOP), IS(COUNTERS), 0, 0,
	 "--mode counters has sums and no events: it is for ebtrace stat and ebtrace top"},
	{OPTS_STAT | OPTS_TOP, IS(COUNTERS), IS(BLAME) | IS(STACK) | IS(MMU) | IS(SNAPSHOT), 0,
	 "--mode counters has sums and no events: it excludes --blame, --mmu, --stack and "
	 "--snapshot"},
	{OPTS_STAT, IS(COUNTERS) | IS(SELECTS), 0, 0,
	 "--mode counters counts all events: it excludes --event, --domain and --tid"},
	{RUN, IS(BUDGET), IS(SNAPSHOT) | IS(PAGES) | IS(PROBES_ALONE), 0,
	 "--cpu and --memory choose what is recorded of a run: they exclude --snapshot, --pages "
	 "and "
	 "--mode probes and counters"},
	{RUN, IS(SNAPSHOT), 0, IS(PIDS), "--snapshot needs a running process: -p PID"},
	{RUN, IS(STACK), IS(FILES) | IS(SNAPSHOT), 0,
	 "--stack needs processes that run: -p PID, or -- PROGRAM"},
	{OPTS_SPANS, IS(BLOCK_STACK), IS(FILES) | IS(SNAPSHOT) | IS(NO_TRAPS), 0,
	 "--stack is of threads that run, by probes: of -p PID, or -- PROGRAM; a FILE that was "
	 "recorded with --blame --stack=offcpu has it"},
	{RUN, IS(STACK) | IS(NO_TRAPS), 0, 0,
	 "--stack needs a probe for each event: --mode stream or probes"},
	{OPTS_TRACE | OPTS_SPANS, IS(MARKERS) | IS(NO_TRAPS), 0, 0,
	 "-U needs probes: --mode stream or probes"},
	{MARKS, IS(MARKERS), IS(PAGES) | IS(SNAPSHOT), 0,
	 "-U excludes --pages and --snapshot: it waits for what programs do"},
	{MARKS, IS(MANY), 0, IS(MARKERS), "--many needs markers: -U 'PROVIDER:NAME'"},
	{RUN, IS(FAULTS), IS(FILES) | IS(NO_TRAPS), 0,
	 "--blame=faults needs processes that run, and a probe at each pause: --mode stream or "
	 "probes"},
	{OPTS_TRACE, IS(BLAME) | IS(FILES), 0, 0,
	 "--blame needs processes that run: -p PID, or -- PROGRAM"},
	{RUN, IS(PAGES), IS(FILES) | IS(SNAPSHOT), 0,
	 "--pages needs processes that run; ebtrace pages reports those of a FILE"},
	{RUN, IS(PAGES) | IS(STACK), 0, 0,
	 "--pages excludes --stack: what touches a page has none"},
	{RUN, IS(PAGES) | IS(RINGS), 0, 0, "--pages watches through probes: pages are in no ring"},
	{RUN, IS(BLAME) | IS(SNAPSHOT), 0, 0,
	 "--blame needs processes that run; --snapshot is of what was"},
	{OPTS_TOP, IS(OUTPUT), 0, IS(ONE_FRAME), "-o FILE is for one frame: --once, or --json"},
	{OPTS_TOP, IS(TOP), 0, IS(ONE_FRAME),
	 "--top N is for one frame: --once, or --json; the screen has keys to scroll"},
	{OPTS_TOP, IS(TOO_OFTEN), 0, 0, "--interval of top must be 50ms or more"},
	{OPTS_STAT, IS(STACK), 0, IS(BLAME),
	 "--stack shows the stacks of pauses: it needs --blame"},
	{OPTS_STAT, IS(MMU) | IS(BY_PROGRAM), 0, 0,
	 "--mmu is of processes and their domains: it excludes --by program"},
	{OPTS_STAT, IS(JSON) | IS(BY), 0, 0, "--by and --top apply to text"},
	{OPTS_STAT, IS(JSON) | IS(TOP), 0, IS(BLAME), "--by and --top apply to text"},

	{OPTS_TRACE, IS(TRIGGER_LIMITS), 0, IS(TRIGGER),
	 "--before, --after, --max and --trigger-memory need --trigger 'SPAN>TIME'"},
	{OPTS_TRACE, IS(TRIGGER), 0, IS(CAPTURES),
	 "--trigger writes captures: -o FILE.ebt, of which FILE.1.ebt is the first"},
	{OPTS_TRACE, IS(TRIGGER), 0, IS(TO_FILE),
	 "--trigger writes captures: -o FILE.ebt, of which FILE.1.ebt is the first"},
	{OPTS_TRACE, IS(TRIGGER), IS(MAX_SIZE) | IS(ROTATE), 0,
	 "--max-size and --rotate are of a recording of everything; --trigger has --max and "
	 "--trigger-memory"},
	{OPTS_TRACE, IS(TRIGGER) | IS(SNAPSHOT), 0, 0,
	 "--snapshot is of what was; --trigger waits for what comes"},
	{OPTS_TRACE, IS(ROTATE), 0, IS(MAX_SIZE), "--rotate N needs --max-size SIZE and -o FILE"},
	{OPTS_TRACE, IS(ROTATE), 0, IS(TO_FILE), "--rotate N needs --max-size SIZE and -o FILE"},

	{OPTS_MEM, IS(PER), 0, IS(COMPARES), "--per applies to mem diff"},
	{OPTS_MEM, IS(LIVE), 0, IS(COMPARES),
	 "--live applies to mem diff; the report of one recording is mem live"},
	{OPTS_MEM, IS(LIVE) | IS(PER_TIME), 0, 0,
	 "--per time is of what was allocated; what is alive has no time in which it was"},

	{OPTS_PROFILE, IS(OFF_CPU) | IS(WALL), 0, 0,
	 "--off-cpu is where threads wait, --wall is that and where they run: they exclude each "
	 "other"},
	{OPTS_PROFILE, IS(OFF_CPU) | IS(FREQ), 0, 0,
	 "-F is of samples, which --off-cpu does not take; --wall does"},
	{OPTS_PROFILE, IS(MIN_DURATION), 0, IS(OFF_CPU) | IS(WALL),
	 "--min-duration is of blocks: it needs --off-cpu or --wall"},

	{OPTS_PAGES, 0, 0, IS(PROGRAM) | IS(FILES) | IS(PIDS),
	 "pages of what? -p PID, -- PROGRAM, or a FILE; 'ebtrace pages --help' shows examples"},
	{OPTS_PAGES, IS(PROGRAM), IS(FILES) | IS(PIDS), 0,
	 "-- PROGRAM excludes -p PID and FILE; 'ebtrace pages --help' shows examples"},
	{OPTS_PAGES, IS(FILES) | IS(LIVE_OPTION), 0, 0,
	 "needs a process that runs: -p PID, or -- PROGRAM"},
	{OPTS_PAGES, IS(SEVERAL_PIDS), 0, 0,
	 "pages reports one process; trace --pages records several"},
	{OPTS_PAGES, IS(AT) | IS(FROM_TO), 0, 0, "--at excludes --from and --to"},
	{OPTS_PAGES, IS(REVERSED), 0, 0, "--from is after --to"},

	{OPTS_MEM_RECORD, IS(FILES), 0, 0, RECORD_WHAT},
	{OPTS_MEM_RECORD, IS(PROGRAM) | IS(PIDS), 0, 0, RECORD_WHAT},
	{OPTS_MEM_RECORD, 0, 0, IS(PROGRAM) | IS(PIDS), RECORD_WHAT},
	{OPTS_MEM_RECORD, IS(PIDS) | IS(CHILDREN), 0, 0,
	 "--children is for -- PROGRAM; children of a running process are not recorded"},
	{OPTS_MEM_RECORD, IS(PIDS) | IS(RATE), 0, 0,
	 "--rate is for -- PROGRAM; a running process has a rate of its own"},

	{OPTS_INFO, IS(KERNEL), IS(FILES) | IS(PIDS), 0,
	 "--kernel describes this kernel: it takes neither FILE nor -p"},
	{OPTS_INFO, 0, 0, IS(KERNEL) | IS(FILES) | IS(PIDS),
	 "info needs a FILE or -p PID; 'ebtrace info --help' shows examples"},
	{OPTS_INFO, IS(LIVE_OPTION), 0, IS(KERNEL) | IS(PIDS), "needs a process that runs: -p PID"},
	{OPTS_LIST, IS(PIDS) | IS(FILES), 0, 0,
	 "-p PID lists the markers of a process, BINARY those of a file: they exclude each other"},
	{OPTS_LIST, IS(RING_DIR) | IS(PIDS), 0, 0,
	 "--ring-dir applies to the list of processes, not to -p PID"},
	{OPTS_LIST, IS(RING_DIR) | IS(FILES), 0, 0,
	 "--ring-dir applies to the list of processes, not to a BINARY"},
};

static bool breaks(uint64_t facts, const struct rule *r)
{
	return (facts & r->all) == r->all && (!r->any || facts & r->any) && !(facts & r->none);
}

int option_rules_check(const struct opts *o)
{
	uint64_t facts = facts_of(o);
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const struct rule *r = &rules[i];
		if (!(r->commands & o->command) || !breaks(facts, r))
			continue;
		if (r->all & IS(LIVE_OPTION))
			complain("--%s %s", o->live_option, r->message);
		else
			complain("%s", r->message);
		return EXIT_USAGE;
	}
	return 0;
}
