/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Minimum mutator utilization against a computation of all windows: time is in steps of STEP_NS,
 * all edges lie on these, and each window of each length that begins on one is summed up.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/parts/ids.h"
#include "report/stat/model/mutator.h"
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/stat_fixture.h"

#define STEP_NS 100000ull
#define STEPS	25000u /* 2.5 s */
#define DOMAINS 3
#define ROUNDS	12
#define HOLED	24

/* The share that is stopped in each step; negative: in no window. */
struct truth {
	double share[STEPS];
};

static double least_of(const struct truth *t, uint64_t length_ns)
{
	unsigned n = (unsigned)(length_ns / STEP_NS), whole = 0;
	double sum = 0, least = NAN;
	for (unsigned i = 0; i < STEPS; i++) {
		if (t->share[i] < 0) {
			whole = 0;
			sum = 0;
			continue;
		}
		sum += t->share[i];
		if (whole++ < n - 1)
			continue;
		if (whole > n)
			sum -= t->share[i - n];
		double share = 1 - sum / n;
		if (isnan(least) || share < least)
			least = share;
	}
	return least;
}

static bool is_least(const double *least, const struct truth *t, double within)
{
	bool same = true;
	for (unsigned i = 0; i < MMU_WINDOWS; i++) {
		double want = least_of(t, mmu_window_ns[i]);
		bool right = isnan(want) ? isnan(least[i]) : fabs(least[i] - want) <= within;
		if (!right)
			diag("%g ms: got %.9f, expected %.9f", (double)mmu_window_ns[i] / 1e6,
			     least[i], want);
		same = same && right;
	}
	return same;
}

/* ---- windows alone ---- */

/* So many steps that the pauses or what is between them last: a few, some, or very many. */
static unsigned length(uint64_t *state)
{
	static const unsigned most[] = {3, 40, 3, 300, 8, 3000};
	unsigned below = most[random_next(state) % 6];
	return 1 + (unsigned)(random_next(state) % below);
}

static bool try_windows(uint64_t seed, struct truth *t)
{
	static const double shares[] = {0, 1, 0, 0.25, 0.5, 1};
	struct mmu_room room = {0};
	struct mmu m = {.room = &room};
	uint64_t state = seed;
	unsigned at = 0;
	memset(t, 0, sizeof(*t));
	if (mmu_begin(&m, 0))
		abort();
	while (at < STEPS) {
		double share = shares[random_next(&state) % 6];
		unsigned n = length(&state);
		if (mmu_set(&m, at * STEP_NS, share))
			abort();
		if (random_next(&state) % 4 == 0)
			mmu_until(&m, (at + n / 2) * STEP_NS);
		for (; n-- && at < STEPS; at++)
			t->share[at] = share;
	}
	mmu_settle(&m, STEPS * STEP_NS);
	bool right = is_least(m.least, t, 1e-9);
	mmu_done(&m);
	return right && !room.bytes;
}

/* Pauses of 3 us each 6 us, of a second and a half: four times what is kept. */
static void test_many(void)
{
	struct mmu_room room = {0};
	struct mmu m = {.room = &room};
	if (mmu_begin(&m, 0))
		abort();
	for (uint64_t i = 0; i < 250000; i++) {
		uint64_t ns = i * 6000, pause = i % 50000 == 25000 ? 5000 : 3000;
		if (mmu_set(&m, ns, 1) || mmu_set(&m, ns + pause, 0))
			abort();
	}
	mmu_settle(&m, 250000ull * 6000);
	ok(room.bytes <= MMU_EDGES * sizeof(struct mmu_edge), "edges have a limit: %zu bytes",
	   room.bytes);
	bool right = true;
	for (unsigned i = 0; i < MMU_WINDOWS; i++)
		right = right && m.least[i] < 0.5 && m.least[i] > 0.5 - 8e-3 / (i + 1);
	ok(right, "and windows are right but for the time between two that are kept");
	for (unsigned i = 0; i < MMU_WINDOWS; i++) {
		double off_ns = (m.least[i] - 0.5) * (double)mmu_window_ns[i] + 2000;
		right = right && fabs(off_ns) <= (double)mmu_within_ns(&m) + 1;
	}
	ok(right && mmu_within_ns(&m) >= 3000 && mmu_within_ns(&m) < 50000,
	   "which is known: %llu ns", (unsigned long long)mmu_within_ns(&m));
	/* Others have used up the room. */
	room.bytes += MMU_ROOM_BYTES;
	struct mmu late = {.room = &room};
	if (mmu_begin(&late, 0))
		abort();
	for (uint64_t i = 0; i < 100000; i++)
		if (mmu_set(&late, i * 6000, 1) || mmu_set(&late, i * 6000 + 3000, 0))
			abort();
	ok(late.cap > MMU_EDGES_MIN / 2 && late.cap <= MMU_EDGES_MIN,
	   "where others have used up the room a few are left");
	mmu_settle(&late, 100000ull * 6000);
	ok(late.least[9] != late.least[9] && fabs(late.least[8] - 0.5) < 0.1,
	   "which are enough for a good guess");
	mmu_done(&late);
	mmu_done(&m);
}

/* Edges are dropped when the windows of 1 ms have passed all: the next ones begin behind. */
static void test_dropped_behind(void)
{
	struct mmu_room room = {MMU_ROOM_BYTES};
	struct mmu m = {.room = &room};
	uint64_t ns = 0;
	bool stopped = false;
	/* An edge more, so that the last one is the end of a pause. */
	if (mmu_begin(&m, 0) || mmu_set(&m, ns += 1000, 0.5))
		abort();
	while (m.count < m.cap || m.cap + m.cap / 2 + 4 <= MMU_EDGES_MIN)
		if (mmu_set(&m, ns += 1000, stopped = !stopped))
			abort();
	uint32_t kept = m.count;
	if (stopped || mmu_set(&m, ns += 2000000, 1))
		abort();
	ok(m.count < kept, "edges are dropped where there is no room");
	if (mmu_set(&m, ns + 900000, 0) || mmu_set(&m, ns + 3000000, 1) ||
	    mmu_set(&m, ns + 3100000, 0))
		abort();
	mmu_settle(&m, ns + 8000000);
	ok(fabs(m.least[0] - 0.1) < 1e-9, "a pause behind them counts: %f", m.least[0]);
	mmu_done(&m);
}

/* ---- of a stream of events ---- */

struct domain {
	bool seen, paused;
	unsigned from; /* its last change */
};

static struct ebt_event event(unsigned step, uint16_t domain, uint16_t kind, uint32_t id)
{
	return (struct ebt_event){.ts = step * STEP_NS,
				  .kind = kind,
				  .id = id,
				  .domain = domain,
				  .pid = 1,
				  .pos = step,
				  .cpu = EBT_NO_CPU};
}

static void fill(struct truth *t, struct domain *d, unsigned until)
{
	for (; d->from < until; d->from++)
		t->share[d->from] = d->paused;
}

/* Of the process: of the domains that have been seen. */
static void fill_process(struct truth *t, const struct domain *d, unsigned from, unsigned until)
{
	unsigned seen = 0, paused = 0;
	for (unsigned i = 0; i < DOMAINS; i++) {
		seen += d[i].seen;
		paused += d[i].seen && d[i].paused;
	}
	for (; from < until; from++)
		t->share[from] = seen ? (double)paused / seen : 0;
}

static void push(struct stat_run *r, struct ebt_event ev)
{
	stat_run_push(r, &ev);
}

static void begin(struct stat_run *r)
{
	stat_run_begin(r, 0);
	stat_model_measure_mutators(&r->model);
	push(r, event(0, 0, EBT_LIFECYCLE, LIFECYCLE_ring_start));
}

static const struct stat_lane *lane_of(const struct stat_run *r, uint16_t domain)
{
	const struct stat_lane *l = r->end.first->lanes;
	while (l && l->number != domain)
		l = l->next;
	return l;
}

/* All domains but 0 begin with an event of their own. */
static bool try_events(uint64_t seed, struct truth *t)
{
	struct stat_run r;
	struct domain d[DOMAINS] = {{.seen = true}};
	uint64_t state = seed;
	unsigned at = 0;
	begin(&r);
	struct truth *whole = &t[DOMAINS];
	for (unsigned step; (step = at + length(&state) / 2) < STEPS; at = step) {
		uint16_t n = (uint16_t)(random_next(&state) % DOMAINS);
		fill_process(whole, d, at, step);
		if (!d[n].seen)
			push(&r, event(step, n, EBT_LIFECYCLE, LIFECYCLE_domain_spawn));
		for (unsigned i = 0; !d[n].seen && i < step; i++)
			t[n].share[i] = -1;
		d[n].from = d[n].seen ? d[n].from : step;
		d[n].seen = true;
		fill(&t[n], &d[n], step);
		/* A phase inside, one that does not stop, and no change are none. */
		push(&r, event(step, n, EBT_BEGIN, PHASE_domain_condition_wait));
		push(&r, event(step, n, EBT_END, PHASE_domain_condition_wait));
		d[n].paused = !d[n].paused;
		push(&r, event(step, n, d[n].paused ? EBT_BEGIN : EBT_END, PHASE_minor));
	}
	fill_process(whole, d, at, STEPS);
	stat_run_end(&r, STEPS * STEP_NS / US);
	bool right = is_least(r.end.first->mutator->windows.least, whole, 1e-9);
	for (uint16_t i = 0; i < DOMAINS; i++) {
		fill(&t[i], &d[i], STEPS);
		right = right && is_least(lane_of(&r, i)->mutator->windows.least, &t[i], 1e-9);
	}
	stat_run_done(&r);
	return right;
}

static bool is_about(double got, double want)
{
	return fabs(got - want) < 1e-9;
}

/* ---- of a stream with holes ---- */

enum state { RUNS, STOPPED, UNKNOWN, OUT };

/* What each domain does in each step, for itself, and as a part of the process, of which it may be
 * no part (OUT). */
struct lossy {
	struct domain d[DOMAINS];
	bool hidden[DOMAINS];	/* its pause began in its last hole */
	bool counts[DOMAINS];	/* in the process */
	unsigned hole[DOMAINS]; /* the end of its last hole */
	unsigned last;		/* of all events */
	uint8_t own[DOMAINS][STEPS], part[DOMAINS][STEPS];
};

static void fill_lossy(struct lossy *x, unsigned until)
{
	for (unsigned n = 0; n < DOMAINS; n++)
		for (unsigned i = x->last; i < until; i++) {
			uint8_t state = x->d[n].paused ? STOPPED : RUNS;
			x->own[n][i] = x->d[n].seen ? state : UNKNOWN;
			x->part[n][i] = x->counts[n] ? state : OUT;
		}
	x->last = until;
}

static void forget_between(struct lossy *x, unsigned n, unsigned from, unsigned until)
{
	memset(x->own[n] + from, UNKNOWN, until - from);
	memset(x->part[n] + from, UNKNOWN, until - from);
}

/* The first domain of a process that counts anew does so from the hole on. */
static void count_domain(struct lossy *x, unsigned n, unsigned from)
{
	bool first = true;
	for (unsigned i = 0; i < DOMAINS; i++)
		first = first && !x->counts[i];
	x->counts[n] = true;
	if (first)
		memset(x->part[n] + from, RUNS, x->last - from);
}

static struct ebt_event loss(unsigned since, unsigned step, uint16_t domain)
{
	struct ebt_event ev = event(step, domain, EBT_LOST, 0);
	ev.pos = since * STEP_NS;
	ev.arg[0] = 3;
	/* Of the process, or of all. */
	if (domain == EBT_NO_DOMAIN && since % 2)
		ev.process = 0;
	return ev;
}

static void break_domain(struct lossy *x, unsigned n, unsigned since, unsigned step, bool hidden)
{
	if (!x->d[n].seen)
		return;
	forget_between(x, n, since, step);
	x->d[n].paused = false;
	x->hidden[n] = hidden;
	x->hole[n] = step;
}

static void lose(struct lossy *x, struct stat_run *r, uint64_t *state, unsigned step)
{
	unsigned n = (unsigned)(random_next(state) % (DOMAINS + 1));
	unsigned below = random_next(state) % 2 ? step / 4 + 1 : 50;
	unsigned length = (unsigned)(random_next(state) % below);
	unsigned since = step - (length < step ? length : step);
	if (n < DOMAINS) {
		if (!x->d[n].seen)
			return;
		push(r, loss(since, step, (uint16_t)n));
		break_domain(x, n, since, step, random_next(state) % 2);
		count_domain(x, n, step);
		return;
	}
	push(r, loss(since, step, EBT_NO_DOMAIN));
	for (n = 0; n < DOMAINS; n++) {
		break_domain(x, n, since, step, random_next(state) % 2);
		x->counts[n] = false;
	}
}

static void change(struct lossy *x, struct stat_run *r, unsigned n, unsigned step)
{
	uint16_t domain = (uint16_t)n;
	if (!x->d[n].seen)
		push(r, event(step, domain, EBT_LIFECYCLE, LIFECYCLE_domain_spawn));
	x->d[n].seen = true;
	if (x->hidden[n]) {
		/* What it did between the hole and the end of its pause is not known. */
		forget_between(x, n, x->hole[n], step);
		push(r, event(step, domain, EBT_END, PHASE_minor));
		x->hidden[n] = false;
		count_domain(x, n, step);
		return;
	}
	if (!x->counts[n])
		count_domain(x, n, x->hole[n]);
	x->d[n].paused = !x->d[n].paused;
	push(r, event(step, domain, x->d[n].paused ? EBT_BEGIN : EBT_END, PHASE_minor));
}

static void truth_of(const struct lossy *x, struct truth *t)
{
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned counted = 0, stopped = 0;
		bool known = true;
		for (unsigned n = 0; n < DOMAINS; n++) {
			t[n].share[i] = x->own[n][i] == UNKNOWN ? -1 : x->own[n][i] == STOPPED;
			known = known && x->part[n][i] != UNKNOWN;
			counted += x->part[n][i] != OUT;
			stopped += x->part[n][i] == STOPPED;
		}
		t[DOMAINS].share[i] = known && counted ? (double)stopped / counted : -1;
	}
}

/* Counts windows that are as they must be, and those that include what is not known. */
static void compare(const double *least, const struct truth *t, unsigned *right, unsigned *guessed)
{
	for (unsigned i = 0; i < MMU_WINDOWS; i++) {
		double want = least_of(t, mmu_window_ns[i]);
		bool same = isnan(want) ? isnan(least[i]) : fabs(least[i] - want) <= 1e-9;
		bool guess = !isnan(least[i]) && (isnan(want) || least[i] < want - 1e-9);
		*right += same;
		*guessed += guess;
		if (guess)
			diag("%g ms: got %.9f, of brute force %.9f", (double)mmu_window_ns[i] / 1e6,
			     least[i], want);
	}
}

static void try_holes(uint64_t seed, struct truth *t, unsigned *right, unsigned *guessed)
{
	static struct lossy x;
	struct stat_run r;
	uint64_t state = seed;
	unsigned holes = 0;
	x = (struct lossy){.d = {{.seen = true}}, .counts = {true}};
	begin(&r);
	for (unsigned step; (step = x.last + length(&state) / 2) < STEPS;) {
		fill_lossy(&x, step);
		if (random_next(&state) % 64 || holes > 30)
			change(&x, &r, (unsigned)(random_next(&state) % DOMAINS), step);
		else {
			lose(&x, &r, &state, step);
			holes++;
		}
	}
	fill_lossy(&x, STEPS);
	truth_of(&x, t);
	stat_run_end(&r, STEPS * STEP_NS / US);
	compare(r.end.first->mutator->windows.least, &t[DOMAINS], right, guessed);
	for (uint16_t i = 0; i < DOMAINS; i++)
		if (lane_of(&r, i))
			compare(lane_of(&r, i)->mutator->windows.least, &t[i], right, guessed);
	stat_run_done(&r);
}

/* A pause from 10 to 14 ms, a hole from 20 to 30, and pauses from 31 to 32 and at 40. */
static void test_hole(void)
{
	struct stat_run r;
	begin(&r);
	push(&r, event(100, 0, EBT_BEGIN, PHASE_minor));
	push(&r, event(140, 0, EBT_END, PHASE_minor));
	struct ebt_event lost = event(300, 0, EBT_LOST, 0);
	lost.pos = 200 * STEP_NS;
	lost.arg[0] = 3;
	push(&r, lost);
	push(&r, event(310, 0, EBT_BEGIN, PHASE_minor));
	push(&r, event(320, 0, EBT_END, PHASE_minor));
	push(&r, event(400, 0, EBT_BEGIN, PHASE_minor));
	struct stat_snapshot s = {0};
	if (stat_snapshot_take(&s, &r.model, moment_at(401 * STEP_NS)))
		abort();
	const double *least = s.first->mutator->windows.least;
	ok(is_about(least[0], 0) && is_about(least[2], 0.2) && is_about(least[3], 0.6),
	   "windows lie on either side of a hole: %g %g %g", least[0], least[2], least[3]);
	ok(is_about(least[4], 0.8) && isnan(least[5]), "time up to the hole is known: %g",
	   least[4]);
	ok(!memcmp(least, s.first->lanes->mutator->windows.least, sizeof(double) * 5),
	   "those of a process with one domain are that domain's");
	if (stat_snapshot_take(&s, &r.model, moment_at(455 * STEP_NS)))
		abort();
	least = s.first->mutator->windows.least;
	ok(is_about(least[2], 0) && is_about(least[3], 0.45),
	   "a pause that is open counts up to the moment: %g %g", least[2], least[3]);
	stat_snapshot_done(&s);
	stat_run_end(&r, 0);
	stat_run_done(&r);
}

/* The begin of the first pause was not seen: it is in no window. */
static void test_unseen(void)
{
	struct stat_run r;
	begin(&r);
	push(&r, event(500, 0, EBT_END, PHASE_minor));
	push(&r, event(600, 0, EBT_BEGIN, PHASE_minor));
	push(&r, event(602, 0, EBT_END, PHASE_minor));
	push(&r, event(620, 0, EBT_COUNTER, COUNTER_minor_allocated_words));
	stat_run_end(&r, 0);
	const double *least = r.end.first->mutator->windows.least;
	ok(is_about(least[0], 0.8) && is_about(least[3], 0.98) && isnan(least[4]),
	   "time before the end of a pause whose begin was not seen is in no window");
	stat_run_done(&r);
}

/* Threads of a domain: what another one does while one pauses is no part of it. */
static void test_threads(void)
{
	struct stat_run r;
	static const struct {
		unsigned step, tid;
		uint16_t kind;
		uint32_t id;
	} run[] = {{100, 1, EBT_BEGIN, PHASE_explicit_gc_full_major},
		   {110, 1, EBT_UNIT, 0},
		   {150, 2, EBT_UNIT, 0},
		   {160, 2, EBT_UNIT, 0},
		   {170, 1, EBT_UNIT, 0},
		   {180, 1, EBT_END, PHASE_explicit_gc_full_major},
		   {400, 1, EBT_UNIT, 0}};
	stat_run_begin(&r, 0);
	stat_model_measure_mutators(&r.model);
	for (size_t i = 0; i < sizeof(run) / sizeof(*run); i++) {
		struct ebt_event ev = event(run[i].step, 0, run[i].kind, run[i].id);
		ev.tid = run[i].tid;
		ev.pos = EBT_NO_POS;
		ev.flags = EBT_F_BPF;
		push(&r, ev);
	}
	stat_run_end(&r, 0);
	const double *least = r.end.first->mutator->windows.least;
	is(r.end.first->numbers.gc_ns / STEP_NS, 20, "a pause has the time of its own thread");
	ok(is_about(least[3], 1 - 2.0 / 10) && is_about(least[0], 0),
	   "and so have the windows: %g %g", least[0], least[3]);
	stat_run_done(&r);
}

int main(void)
{
	static struct truth t[DOMAINS + 1];
	uint64_t wrong = 0;
	for (uint64_t seed = 1; seed <= ROUNDS && !wrong; seed++)
		wrong = try_windows(seed, t) ? 0 : seed;
	is(wrong, 0, "the least of all windows of each length is that of a brute force; seed");
	for (uint64_t seed = 1; seed <= ROUNDS && !wrong; seed++)
		wrong = try_events(seed, t) ? 0 : seed;
	is(wrong, 0, "so it is of the domains and the process of a stream; seed");
	unsigned right = 0, guessed = 0;
	for (uint64_t seed = 1; seed <= HOLED; seed++)
		try_holes(seed, t, &right, &guessed);
	is(guessed, 0, "with holes, no window includes time that is not known");
	unsigned all = HOLED * (DOMAINS + 1) * MMU_WINDOWS;
	ok(right >= all - all / 100, "nor are those before one left out, but for a few: %u of %u",
	   all - right, all);
	test_many();
	test_dropped_behind();
	test_hole();
	test_unseen();
	test_threads();
	return tap_done();
}
