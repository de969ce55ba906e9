// SPDX-License-Identifier: BSD-2-Clause
#include "engine/live/budget_watch.h"

#include <stdio.h>

#include "base/clock.h"
#include "engine/live/cost.h"
#include "source/bpf/bpf.h"
#include "source/bpf/uprobe.h"

#define SAMPLE_NS      1000000000ull
#define USUAL_PRICE_NS 500.0 /* of a hit, where it cannot be measured */
#define EVENT_WORDS    3     /* of a ring: of a begin or an end */

/* The price of a hit of each kind, in that of a probe that does nothing: functions of runtimes are
 * probed at instructions that the kernel emulates, and an allocation has its stack. */
static const double prices[EBT_HITS_PROBES] = {
	[EBT_HITS_MARKER] = 1.1,
	[EBT_HITS_RUNTIME] = 2,
	[EBT_HITS_ALLOC] = 3,
	[EBT_HITS_RUNTIME_ALLOC] = 4,
};

static const char *const levels[BUDGET_LEVELS] = {
	[EBT_LEVEL_EVENTS] = "all events are recorded",
	[EBT_LEVEL_RINGS] = "events of rings are read there alone, without thread and CPU",
	[EBT_LEVEL_COUNTS] = "events are counted, not recorded: they are lost",
};

#define WORD(word) #word,
static const char *const names[] = {BUDGET_LEVEL_WORDS(WORD, WORD)};
_Static_assert(sizeof(names) == BUDGET_LEVELS * sizeof(*names) && EBT_LEVEL_EVENTS == 0 &&
		       EBT_LEVEL_COUNTS == BUDGET_LEVELS - 1,
	       "a word for each level");

struct reading {
	uint64_t cpu_ns, probes_ns, events, memory_bytes;
};

static void read_now(const struct budget_watch *w, struct reading *ret)
{
	struct ebt_hits hits = w->probes ? bpf_source_hits(w->probes) : (struct ebt_hits){0};
	struct cost cost;
	double ns = 0;
	uint64_t all = 0;
	cost_read(w->program, w->budget.limits.memory_bytes > 0, &cost);
	for (unsigned i = 0; i < EBT_HITS_PROBES; i++) {
		ns += (double)hits.hits[i] * prices[i] * w->price_ns;
		all += hits.hits[i];
	}
	*ret = (struct reading){
		.cpu_ns = cost.cpu_ns,
		.probes_ns = (uint64_t)ns,
		.events = all - hits.in_ring + ring_source_written(w->rings) / EVENT_WORDS,
		.memory_bytes = cost.memory_bytes,
	};
}

/* A process that has ended, and was not waited for yet, may be missing in a sum. */
static double more(uint64_t now, uint64_t before)
{
	return now > before ? (double)(now - before) : 0;
}

static void keep(struct budget_watch *w, const struct reading *r, uint64_t now)
{
	w->at_ns = now;
	w->cpu_ns = r->cpu_ns;
	w->probes_ns = r->probes_ns;
	w->events = r->events;
}

static void apply(struct budget_watch *w)
{
	enum ebt_level level = w->budget.level;
	if (w->probes)
		bpf_source_set_level(w->probes, level);
	ring_source_leave(w->rings, level == EBT_LEVEL_COUNTS);
}

static void report(const struct budget_watch *w, enum budget_step step, double own, double probes,
		   uint64_t memory)
{
	const struct messages *m = &w->engine->session->messages;
	const struct budget_limits *l = &w->budget.limits;
	const char *now = levels[w->budget.level];
	if (step == BUDGET_DOWN_CPU)
		messages_at(m, LOG_NORMAL,
			    "--cpu %.4g%%: ebtrace takes %.1f %% of a CPU, and its probes take "
			    "%.1f %%; from now on %s",
			    100 * l->cpu, 100 * own, 100 * probes, now);
	else if (step == BUDGET_DOWN_MEMORY)
		messages_at(m, LOG_NORMAL, "--memory %.4gM: ebtrace takes %.1f MiB; from now on %s",
			    (double)l->memory_bytes / 1048576, (double)memory / 1048576, now);
	else if (step == BUDGET_UP)
		messages_at(m, LOG_NORMAL, "within the budget again: from now on %s", now);
}

static int on_sample(void *ctx)
{
	struct budget_watch *w = ctx;
	struct reading r;
	uint64_t now = now_ns();
	read_now(w, &r);
	double ns = more(now, w->at_ns);
	double own = more(r.cpu_ns, w->cpu_ns) / ns, probes = more(r.probes_ns, w->probes_ns) / ns;
	struct budget_sample s = {
		.cpu = own + probes,
		.events = more(r.events, w->events) / ns * 1e9,
		.memory_bytes = r.memory_bytes,
	};
	keep(w, &r, now);
	messages_at(&w->engine->session->messages, LOG_DEBUG,
		    "budget: %.2f %% and %.2f %% of a CPU, %.0f events/s, %.1f MiB", 100 * own,
		    100 * probes, s.events, (double)s.memory_bytes / 1048576);
	enum budget_step step = budget_take(&w->budget, &s);
	struct budget_state *state = &w->engine->session->budget;
	state->measured = true;
	state->tracer_cpu = own;
	state->probes_cpu = probes;
	state->memory_bytes = r.memory_bytes;
	state->changes += step != BUDGET_STAYS;
	state->level = names[w->budget.level];
	if (step == BUDGET_STAYS)
		return 0;
	apply(w);
	report(w, step, own, probes, r.memory_bytes);
	return 0;
}

void budget_watch_begin(struct budget_watch *w, const struct engine *e, struct loop *l,
			struct source *probes, struct ring_source *rings, pid_t program)
{
	const struct engine_options *o = e->options;
	struct reading r;
	if (!engine_has_budget(o))
		return;
	bool from_rings = !probes || engine_watermarks(o);
	*w = (struct budget_watch){.engine = e, .probes = probes, .rings = rings};
	w->program = program;
	w->price_ns = probes ? uprobe_price_ns() : 0;
	w->price_ns = probes && w->price_ns <= 0 ? USUAL_PRICE_NS : w->price_ns;
	budget_init(&w->budget, &(struct budget_limits){o->cpu_share, o->memory_bytes},
		    from_rings ? EBT_LEVEL_RINGS : EBT_LEVEL_EVENTS);
	e->session->budget = (struct budget_state){
		.level = names[w->budget.level],
		.cpu_limit = o->cpu_share,
		.memory_limit_bytes = o->memory_bytes,
	};
	messages_at(&e->session->messages, LOG_VERBOSE, "a hit of a probe costs %.0f ns here",
		    w->price_ns);
	apply(w);
	read_now(w, &r);
	keep(w, &r, now_ns());
	w->timer = (struct loop_timer){.fn = on_sample, .ctx = w, .period_ns = SAMPLE_NS};
	loop_timer_set(l, &w->timer, w->at_ns + SAMPLE_NS);
}

void budget_watch_end(struct budget_watch *w, struct loop *l)
{
	loop_timer_clear(l, &w->timer);
}
