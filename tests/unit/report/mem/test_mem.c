/* SPDX-License-Identifier: BSD-2-Clause */
/* The model of mem: counts by site against a naive computation, fates and filters. */
#include "report/mem/model/bands.h"
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/mem_fixture.h"

#include <math.h>

#define EVENTS 20000
#define DEPTH  6

struct naive {
	uint64_t self[FUNCTIONS], total[FUNCTIONS], above[FUNCTIONS];
	uint64_t via[FUNCTIONS][FUNCTIONS]; /* of a site, by caller */
};

static void naive_count(struct naive *n, const char *stack, uint64_t samples)
{
	size_t depth = strlen(stack);
	unsigned site = (unsigned)(stack[depth - 1] - 'a');
	n->self[site] += samples;
	for (unsigned f = 0; f < FUNCTIONS; f++) {
		const char *at = strchr(stack, (int)('a' + f));
		n->total[f] += at ? samples : 0;
		if (!at || at == stack + depth - 1)
			continue;
		n->above[f] += samples;
		n->via[site][f] += samples;
	}
}

static void push_random(struct mem_fixture *x, struct naive *n, uint64_t *state)
{
	char stack[DEPTH + 1] = "";
	size_t depth = 1 + random_next(state) % DEPTH;
	for (size_t i = 0; i < depth; i++)
		stack[i] = (char)('a' + random_next(state) % FUNCTIONS);
	uint64_t samples = 1 + random_next(state) % 9;
	naive_count(n, stack, samples);
	uint32_t process = (uint32_t)(1 + ++x->objects % PROCESSES);
	mem_fixture_push(x, mem_alloc(x->objects, process, x->objects, mem_fixture_stack(x, stack),
				      samples));
}

static bool is_naive(const struct mem_sites *t, const struct naive *n)
{
	bool same = t->functions == FUNCTIONS;
	for (uint32_t i = 0; i < t->functions; i++) {
		const struct mem_function *f = &t->function[i];
		unsigned k = (unsigned)atoi(strings_text(t->session->strings, f->name) + 1);
		same &= f->self.count.samples == n->self[k];
		same &= f->total.count.samples == n->total[k];
		same &= f->above.count.samples == n->above[k];
		/* A line 0 is none. */
		same &= f->positions == 1 && f->position[0].line == k &&
			f->position[0].has_line == (k > 0);
		for (uint32_t c = 0; c < f->callers; c++) {
			const struct mem_function *above = &t->function[f->caller[c].function];
			const char *name = strings_text(t->session->strings, above->name);
			same &= f->caller[c].measure.count.samples == n->via[k][atoi(name + 1)];
		}
	}
	return same;
}

static void test_sites(void)
{
	struct mem_fixture x;
	struct mem_sites t;
	struct naive n = {0};
	uint64_t state = 7;
	mem_fixture_begin(&x, 0.25, &(struct mem_options){0});
	for (int i = 0; i < EVENTS; i++) {
		push_random(&x, &n, &state);
		/* A process ends, and its index is another's. */
		if (i == EVENTS / 2)
			mem_model_forget(&x.model, 2);
	}
	mem_model_end(&x.model);
	int err = mem_model_sites(&t, &x.model, mem_pick_alloc);
	if (!err)
		err = mem_sites_callers(&t, x.model.first, mem_pick_alloc, FUNCTIONS);
	ok(!err && is_naive(&t, &n), "sites, functions and callers are those of a naive count");
	is(t.all.count.objects, EVENTS, "each object is counted once");
	bool sorted = true;
	for (uint32_t i = 1; i < t.functions; i++)
		sorted &= t.function[t.by_self[i - 1]].self.count.samples >=
			  t.function[t.by_self[i]].self.count.samples;
	ok(sorted, "sites are in the order of their bytes");
	mem_sites_done(&t);
	mem_fixture_done(&x);
}

static void test_unresolved(void)
{
	struct mem_fixture x;
	struct mem_sites t;
	mem_fixture_begin(&x, 1, &(struct mem_options){0});
	struct stacks *stacks = x.session->stacks;
	uint32_t bare = frames_put(x.session->frames,
				   &(struct frame){.address = 4711, .has_address = true});
	uint32_t stack = mem_fixture_stack(&x, "a");
	for (int i = 0; i < 2; i++)
		stack = stacks_push(stacks, stack, bare);
	mem_fixture_push(&x, mem_alloc(1, 1, 1, stack, 1));
	mem_fixture_push(&x, mem_alloc(2, 1, 2, stacks_push(stacks, stack, bare), 1));
	mem_fixture_push(&x, mem_alloc(3, 1, 3, stacks_push(stacks, 0, bare), 1));
	mem_fixture_push(&x, mem_alloc(4, 1, 4, 0, 1));
	mem_model_end(&x.model);
	int err = mem_model_sites(&t, &x.model, mem_pick_alloc);
	ok(!err && t.functions == 3, "there are a function, a frame without a name, and no frame");
	is(t.function[0].self.count.objects, 1, "two unresolved frames belong to their caller");
	is(t.function[1].frame, bare, "a third one, and one without a caller, do not");
	is(t.function[1].self.count.objects, 2, "they are equal if their frames are");
	is(t.function[2].self.count.objects, 1, "no backtrace is a site, too");
	mem_sites_done(&t);
	frames_drop(x.session->frames, bare);
	mem_fixture_done(&x);
}

#define IDS 300

/* An object of the naive model; samples 0: not alive. */
struct naive_object {
	uint64_t samples, ns;
	unsigned stack;
	bool promoted;
};

struct naive_fate {
	uint64_t live, promoted, collected, time[MEM_LIFETIME_TIMES];
};

static void naive_step(struct mem_fixture *x, struct naive_object *all, struct naive_fate *fate,
		       uint64_t *state, uint64_t ns)
{
	static const char *const stacks[] = {"a", "ab", "abc"};
	uint64_t id = random_next(state) % IDS, samples = 1 + random_next(state) % 5;
	unsigned stack = (unsigned)(random_next(state) % 3);
	struct naive_object *o = &all[id];
	/* Equal ids of two processes are two objects. */
	uint32_t process = 1 + id % 2;
	struct ebt_event ev =
		mem_alloc(ns, process, id / 2, mem_fixture_stack(x, stacks[stack]), samples);
	if (o->samples && !(samples % 2)) {
		ev = (struct ebt_event){
			.ts = ns, .kind = EBT_PROMOTE, .process = process, .arg = {id / 2}};
		fate[o->stack].promoted += o->promoted ? 0 : o->samples;
		o->promoted = true;
	} else if (o->samples) {
		ev = (struct ebt_event){
			.ts = ns, .kind = EBT_COLLECT, .process = process, .arg = {id / 2}};
		fate[o->stack].live -= o->samples;
		fate[o->stack].collected += o->samples;
		fate[o->stack].time[mem_lifetime_bucket(ns - o->ns)] += o->samples;
		o->samples = 0;
	} else {
		*o = (struct naive_object){samples, ns, stack, false};
		fate[stack].live += samples;
	}
	mem_fixture_push(x, ev);
}

static bool is_naive_fate(const struct mem_model *m, const struct naive_fate *naive)
{
	struct naive_fate sum[3] = {0};
	for (const struct mem_process *p = m->first; p; p = p->next)
		for (uint32_t row = 1; row <= p->rows; row++) {
			uint32_t frames[4];
			struct naive_fate *f = &sum[stacks_frames(m->session->stacks,
								  p->row[row].stack, frames, 4) -
						    1];
			f->live += p->fate[row].live.samples;
			f->promoted += p->fate[row].promoted.samples;
			f->collected += p->fate[row].collected.samples;
			for (unsigned i = 0; i < MEM_LIFETIME_TIMES && p->fate[row].lifetime; i++)
				f->time[i] += p->fate[row].lifetime[i];
		}
	return !memcmp(sum, naive, sizeof(sum));
}

static void test_fates(void)
{
	struct mem_fixture x;
	struct naive_object all[IDS] = {0};
	struct naive_fate fate[3] = {0};
	uint64_t state = 5, ns = 1000;
	mem_fixture_begin(&x, 1, &(struct mem_options){.needs = MEM_FATES | MEM_TIMELINE});
	for (int i = 0; i < EVENTS; i++)
		naive_step(&x, all, fate, &state, ns += random_next(&state) % 5000);
	mem_fixture_push(
		&x, (struct ebt_event){.ts = ns, .kind = EBT_COLLECT, .process = 1, .arg = {IDS}});
	mem_model_end(&x.model);
	ok(is_naive_fate(&x.model, fate),
	   "what is alive, promoted and collected, and lifetimes, are those of a naive model");
	is(x.model.unknown, 1, "the collection of an unknown object is counted apart");
	const struct mem_timeline *t = x.model.timeline;
	double live = 8 * (double)(fate[0].live + fate[1].live + fate[2].live), allocated = 0,
	       max = 0;
	for (uint32_t i = 0; i < t->count; i++) {
		allocated += t->point[i].allocated;
		max = t->point[i].max > max ? t->point[i].max : max;
	}
	ok(t->count <= MEM_TIMELINE_POINTS && t->point[t->count - 1].live == live &&
		   t->begin_ns + t->count * t->width_ns >= ns,
	   "the timeline ends with the live bytes");
	ok(max == t->peak && allocated == 8 * (double)x.model.alloc.samples,
	   "and has the peak and all that was allocated");
	mem_fixture_done(&x);
}

/* Objects of 1, 2 … samples, of functions a, b …, collected after as many us, but for the last. */
static void push_ladder(struct mem_fixture *x, unsigned steps)
{
	for (unsigned i = 1; i <= steps; i++) {
		const char stack[] = {'a', (char)('a' + i), 0};
		struct ebt_event ev = mem_alloc(100, 1, i, mem_fixture_stack(x, stack), i);
		ev.domain = (uint16_t)(i % 2);
		mem_fixture_push(x, ev);
	}
	for (unsigned i = 1; i < steps; i++)
		mem_fixture_push(x, (struct ebt_event){.ts = 100 + i * 1000,
						       .kind = EBT_COLLECT,
						       .process = 1,
						       .arg = {i}});
}

static void test_filters(void)
{
	static const struct {
		const char *name;
		struct mem_glob glob;
		struct mem_filter rest;
		uint64_t samples, live;
	} row[] = {
		{"a function of the backtrace",
		 {MEM_FILTER_FUNCTION, false, "f[02]"},
		 {.globs = 0},
		 15,
		 5},
		{"no such function", {MEM_FILTER_FUNCTION, true, "f2"}, {.globs = 0}, 13, 5},
		{"the innermost function", {MEM_FILTER_SITE, false, "f[02]"}, {.globs = 0}, 2, 0},
		{"a file", {MEM_FILTER_FILE, false, "*.ml"}, {.globs = 0}, 0, 0},
		{"a domain", {.pattern = NULL}, {.domain = 1, .has_domain = true}, 9, 5},
		{"a size", {.pattern = NULL}, {.size_bytes = {16, 31}}, 5, 0},
		{"a lifetime",
		 {.pattern = NULL},
		 {.by_lifetime = true, .lifetime_ns = {2000, 3000}},
		 5,
		 0},
		{"a lifetime, of one alive its age",
		 {.pattern = NULL},
		 {.by_lifetime = true, .lifetime_ns = {3500, 9000}},
		 9,
		 5},
	};
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct mem_filter f = row[i].rest;
		struct mem_fixture x;
		if (!f.lifetime_ns.max)
			f.lifetime_ns.max = INFINITY;
		if (!f.size_bytes.max)
			f.size_bytes.max = INFINITY;
		f.glob[0] = row[i].glob;
		f.globs = row[i].glob.pattern ? 1 : 0;
		mem_fixture_begin(&x, 1, &(struct mem_options){.needs = MEM_FATES, .filter = &f});
		push_ladder(&x, 5);
		mem_model_end(&x.model);
		uint64_t live = 0;
		const struct mem_process *p = x.model.first;
		for (uint32_t k = 1; k <= p->rows; k++)
			live += p->fate[k].live.samples;
		ok(x.model.alloc.samples == row[i].samples && live == row[i].live,
		   "a filter selects by %s", row[i].name);
		mem_fixture_done(&x);
	}
}

static void test_until(void)
{
	struct mem_fixture x;
	mem_fixture_begin(&x, 1,
			  &(struct mem_options){.needs = MEM_FATES, .until = moment_at(2500)});
	push_ladder(&x, 5);
	mem_model_end(&x.model);
	uint64_t live = 0;
	for (uint32_t k = 1; k <= x.model.first->rows; k++)
		live += x.model.first->fate[k].live.samples;
	is(live, 3 + 4 + 5, "what happened later than a moment does not count");
	is(mem_model_elapsed_ns(&x.model), 2500, "and the time ends there");
	mem_fixture_done(&x);
}

/* kind, process: of a loss or damage. */
static struct ebt_event missing(uint64_t ts, uint16_t kind, uint32_t process, uint16_t flags)
{
	return (struct ebt_event){.ts = ts,
				  .kind = kind,
				  .process = process,
				  .domain = EBT_NO_DOMAIN,
				  .flags = flags,
				  .arg = {EBT_LOST_UNCOUNTED, 0}};
}

/* Of f0, f1: 0, 1. */
static unsigned number_of(const struct mem_sites *t, uint32_t function)
{
	const char *name = strings_text(t->session->strings, t->function[function].name);
	return (unsigned)atoi(name + 1) % 2;
}

/* 10 words allocated by each of two processes, each word sampled, and then what is missing. */
static void check_missing_with(unsigned needs, const struct ebt_event *ev, double high1,
			       double high2, double live1, const char *name)
{
	struct mem_fixture x;
	struct mem_sites t, live;
	struct mem_options o = {.needs = needs};
	mem_fixture_begin(&x, 1, &o);
	mem_fixture_push(&x, mem_alloc(1, 1, 1, mem_fixture_stack(&x, "a"), 10));
	mem_fixture_push(&x, mem_alloc(2, 2, 1, mem_fixture_stack(&x, "b"), 10));
	if (ev)
		mem_fixture_push(&x, *ev);
	mem_model_end(&x.model);
	if (mem_model_sites(&t, &x.model, mem_pick_alloc) ||
	    mem_model_sites(&live, &x.model, needs ? mem_pick_live : mem_pick_alloc))
		abort();
	struct mem_amount a[2], alive[2];
	for (uint32_t i = 0; i < 2; i++) {
		a[number_of(&t, i)] = mem_sum_amount(&t.function[i].self.sum);
		alive[number_of(&live, i)] = mem_sum_amount(&live.function[i].self.sum);
	}
	bool same_live = !needs		? true
			 : isnan(live1) ? isnan(alive[0].high) && isnan(alive[0].low)
					: alive[0].high == live1;
	ok(a[0].low == 80 && a[1].low == 80 && a[0].high == high1 && a[1].high == high2 &&
		   same_live,
	   "%s", name);
	mem_sites_done(&t);
	mem_sites_done(&live);
	mem_fixture_done(&x);
}

static void check_missing(const struct ebt_event *ev, double high1, double high2, double live1,
			  const char *name)
{
	check_missing_with(MEM_FATES, ev, high1, high2, live1, name);
	check_missing_with(0, ev, high1, high2, live1, name);
}

static void test_missing(void)
{
	struct ebt_event lost = missing(9, EBT_LOST, 1, EBT_F_RING),
			 damage = missing(9, EBT_DAMAGE, 1, 0),
			 before = missing(9, EBT_LOST, 1, EBT_F_RING | EBT_F_HISTORY),
			 unwatched = before, anywhere = missing(9, EBT_LOST, 1, 0),
			 other = missing(9, EBT_LOST, 3, EBT_F_RING);
	before.arg[0] = 5;
	check_missing(NULL, 80, 80, 80, "where each word was sampled amounts are exact");
	check_missing(&lost, INFINITY, 80, NAN,
		      "of a process that lost events they are the least, and what is alive is not "
		      "known");
	check_missing(&damage, INFINITY, 80, NAN, "so they are where its trace is damaged");
	check_missing(&before, 80, 80, 80, "what was lost before tracing is not missing");
	check_missing(&unwatched, INFINITY, 80, NAN, "unlike a time that was not watched");
	check_missing(&anywhere, INFINITY, INFINITY, NAN,
		      "a loss of an unknown process is one of each");
	check_missing(&other, INFINITY, INFINITY, NAN,
		      "so is one of a process without allocations");
}

/* Samples of 1 to 9 words each are less certain than as many of one word, in a sum too. */
static void test_sum(void)
{
	struct mem_fixture x;
	mem_fixture_begin(&x, 1, &(struct mem_options){0});
	struct mem_process sum = {.processes = 1, .small_samples = 4, .small_squares = 40},
			   p = {.processes = 2,
				.small_samples = 6,
				.small_squares = 90,
				.has_generations = true};
	ok(!mem_process_add(&sum, &p, x.session) && sum.processes == 3 && sum.has_generations,
	   "processes that have ended are added up");
	mem_process_settle(&sum);
	ok(fabs(sum.scale.each - 13) < 1e-9, "their interval is that of all of their samples");
	mem_process_done(&sum, x.session);
	mem_process_done(&p, x.session);
	mem_fixture_done(&x);
}

/* What processes have in common their sum has, too, and nothing else. */
static void test_sum_names(void)
{
	struct mem_fixture x;
	mem_fixture_begin(&x, 1, &(struct mem_options){0});
	struct strings *strings = x.session->strings;
	uint32_t prog = strings_put(strings, "/bin/prog", 9),
		 other = strings_put(strings, "other", 5);
	for (unsigned i = 0; i < 3; i++) {
		struct mem_process sum = {.pid = 7, .executable = prog, .context = prog},
				   p = {.pid = 8,
					.executable = i == 1 ? other : prog,
					.context = i == 2 ? other : prog};
		snprintf(sum.comm, sizeof(sum.comm), "prog");
		snprintf(p.comm, sizeof(p.comm), "prog");
		strings_hold(strings, prog);
		strings_hold(strings, prog);
		strings_hold(strings, p.executable);
		strings_hold(strings, p.context);
		int err = mem_process_add(&sum, &p, x.session);
		ok(!err && !sum.pid && sum.executable == (i == 1 ? 0 : prog) &&
			   sum.context == (i == 2 ? 0 : prog) &&
			   !strcmp(sum.comm, i == 1 ? "several programs" : "prog"),
		   "a sum has %s",
		   i == 0   ? "the program and the context of all"
		   : i == 1 ? "no program where they differ"
			    : "no context where they differ");
		mem_process_done(&sum, x.session);
		mem_process_done(&p, x.session);
	}
	ok(strings_drop(strings, other) && strings_drop(strings, prog),
	   "and gives back the names that it held");
	mem_fixture_done(&x);
}

/* Each ends before the next begins; those beyond a number are summed up. */
static void test_many_ended(void)
{
	enum { ENDED = MEM_ENDED_APART + 10 };
	struct mem_fixture x;
	struct mem_options o = {.needs = MEM_FATES};
	mem_fixture_begin(&x, 1, &o);
	uint32_t stack = mem_fixture_stack(&x, "ab");
	mem_fixture_push(&x, mem_alloc(1, 1, 1, stack, 5));
	for (unsigned i = 0; i < ENDED; i++) {
		mem_fixture_push(&x, mem_alloc(2 + i, 2, 1, stack, 7));
		if (mem_model_forget(&x.model, 2))
			abort();
	}
	mem_fixture_push(&x, mem_alloc(1000, 3, 1, stack, 9));
	mem_model_end(&x.model);
	unsigned processes = 0, apart = 0;
	uint64_t oldest_ns = 0;
	for (const struct mem_process *p = x.model.first; p; p = p->next, apart++) {
		processes += p->processes;
		oldest_ns = p->processes > 1 ? p->fate[1].oldest_ns : oldest_ns;
	}
	ok(processes == ENDED + 2 && apart == MEM_ENDED_APART + 3,
	   "of many that have ended the later ones are one, and one that comes then is apart");
	ok(x.model.alloc.objects == ENDED + 2 && x.model.alloc.samples == 5 + 7 * ENDED + 9,
	   "and all is counted, once");
	is(oldest_ns, 2 + MEM_ENDED_APART, "the oldest object of a sum is that of the first of it");
	mem_fixture_done(&x);
}

/* The collection of the object before was not seen. */
static void test_id_again(void)
{
	struct mem_fixture x;
	struct mem_options o = {.needs = MEM_FATES | MEM_TIMELINE};
	mem_fixture_begin(&x, 1, &o);
	mem_fixture_push(&x, mem_alloc(1000, 1, 5, mem_fixture_stack(&x, "a"), 3));
	mem_fixture_push(&x, mem_alloc(2000, 1, 5, mem_fixture_stack(&x, "b"), 4));
	mem_model_end(&x.model);
	const struct mem_process *p = x.model.first;
	ok(!p->fate[1].live.samples && p->fate[2].live.samples == 4 &&
		   x.model.alloc.samples == 3 + 4,
	   "an id that comes again is another object, and the one before is gone");
	const struct mem_timeline *t = x.model.timeline;
	is(t->point[t->count - 1].live, 8 * 4, "also in the timeline");
	mem_fixture_done(&x);
}

/* Of one that came late: its time is not that at which it was emitted. */
static void test_late_lifetime(void)
{
	struct mem_fixture x;
	struct mem_options o = {.needs = MEM_FATES};
	mem_fixture_begin(&x, 1, &o);
	struct ebt_event made = mem_alloc(9000000, 1, 5, mem_fixture_stack(&x, "a"), 3);
	struct ebt_event gone = {.ts = 10000000, .kind = EBT_COLLECT, .process = 1, .arg = {5}};
	made.size = 8000;
	gone.size = 2000;
	mem_fixture_push(&x, made);
	mem_fixture_push(&x, gone);
	mem_model_end(&x.model);
	const struct mem_fate *f = &x.model.first->fate[1];
	is(f->lifetime ? f->lifetime[mem_lifetime_bucket(7000000)] : 0, 3,
	   "a lifetime is between the own times of its events");
	mem_fixture_done(&x);
}

/* At each moment the bands of sites are what is alive. */
static void test_bands(void)
{
	struct mem_fixture x;
	struct mem_options o = {.needs = MEM_FATES | MEM_TIMELINE | MEM_BANDS};
	uint64_t state = 7;
	bool is_sum = true, is_most = true, is_sorted = true;
	mem_fixture_begin(&x, 1, &o);
	const uint32_t stack[] = {mem_fixture_stack(&x, "a"), mem_fixture_stack(&x, "b"),
				  mem_fixture_stack(&x, "c")};
	for (unsigned i = 1; i <= 20000; i++) {
		uint32_t which = (uint32_t)(random_next(&state) % 3);
		struct ebt_event ev =
			mem_alloc(1000ull * i * i, 1, i % 50, stack[which], 1 + which);
		if (i % 3 == 0)
			ev.kind = EBT_COLLECT;
		mem_fixture_push(&x, ev);
	}
	mem_model_end(&x.model);
	const struct mem_timeline *t = x.model.timeline;
	const struct mem_bands *b = x.model.bands;
	uint32_t at[3] = {0};
	double most[3] = {0};
	for (uint32_t k = 0; k < t->count; k++) {
		double sum = 0;
		for (uint32_t i = 0; i < b->bands; i++) {
			double live = mem_band_live(&b->band[i], k, &at[i]);
			most[i] = live > most[i] ? live : most[i];
			sum += live;
		}
		is_sum &= sum == t->point[k].live;
	}
	for (uint32_t i = 0; i < b->bands; i++) {
		is_most &= b->band[i].most == most[i];
		is_sorted &= !i || b->band[i - 1].most >= b->band[i].most;
	}
	ok(b->bands == 3 && t->halvings > 2 && is_sum,
	   "the bands of sites add up to what is alive");
	ok(is_most && is_sorted, "the most of each is the most that it shows, in this order");
	mem_fixture_done(&x);
}

int main(void)
{
	test_missing();
	test_sum_names();
	test_many_ended();
	test_id_again();
	test_late_lifetime();
	test_bands();
	test_sum();
	test_sites();
	test_unresolved();
	test_fates();
	test_filters();
	test_until();
	return tap_done();
}
