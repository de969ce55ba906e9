/* SPDX-License-Identifier: BSD-2-Clause */
/* The model of pages against a naive one, an array of pages, with random events, right and
 * wrong. */
#include "report/pages/model/alive.h"
#include "report/pages/model/fragmentation.h"
#include "report/pages/model/heat.h"
#include "report/pages/model/matrix.h"
#include "report/pages/model/occupancy.h"
#include "report/pages/model/pages.h"
#include "tests/random.h"
#include "tests/tap.h"

#define BASE	   0xc000000000ull
#define CHUNK	   512 /* pages */
#define HUGE_PAGES 256
#define PAGES	   (9 * CHUNK)
#define HOLE	   (4 * CHUNK) /* the first page of a chunk that no event is about */
#define EVENTS	   30000
#define PS	   5
#define FROM_NS	   2000000ull

struct naive_page {
	uint8_t state;
	int p;
	uint64_t since, allocations;
	uint64_t run; /* number of the allocation; 0: none */
	bool found;
};

struct naive {
	struct naive_page page[PAGES];
	uint64_t time, runs, run_ns[EVENTS + 1], run_at[EVENTS + 1], run_pages[EVENTS + 1];
	uint64_t fault[PAGES_FAULTS];
	/* Of the window. */
	uint64_t events, allocated, freed, returned, peak, peak_ns;
	uint64_t matrix[PS][PS], lives, life_ns, partial, joined, again, again_ns;
};

static uint64_t count(const struct naive *n, enum pages_state state)
{
	uint64_t sum = 0;
	for (int i = 0; i < PAGES; i++)
		sum += n->page[i].state == state;
	return sum;
}

static void naive_window(struct naive *n, uint64_t from)
{
	n->events = n->allocated = n->freed = n->returned = 0;
	n->lives = n->life_ns = n->partial = n->joined = n->again = n->again_ns = 0;
	memset(n->matrix, 0, sizeof(n->matrix));
	n->peak = count(n, PAGES_ALLOCATED);
	n->peak_ns = from;
	for (int i = 0; i < PAGES; i++)
		n->page[i].allocations = 0;
}

static void naive_alloc(struct naive *n, int at, int pages, int p)
{
	bool bad = false;
	n->run_ns[++n->runs] = n->time;
	n->run_at[n->runs] = (uint64_t)at;
	n->run_pages[n->runs] = (uint64_t)pages;
	for (int i = at; i < at + pages; i++) {
		struct naive_page *g = &n->page[i];
		bad |= g->state == PAGES_ALLOCATED;
		n->allocated += g->state != PAGES_ALLOCATED;
		if (g->state == PAGES_SCAVENGED) {
			n->again++;
			n->again_ns += n->time - g->since;
		}
		*g = (struct naive_page){PAGES_ALLOCATED,    p,	      n->time,
					 g->allocations + 1, n->runs, false};
	}
	n->fault[PAGES_DOUBLE_ALLOC] += bad;
}

/* Pages that are all allocated: whether they are one run, several whole ones, or part of one. */
static void naive_end_runs(struct naive *n, int at, int pages)
{
	uint64_t first = n->page[at].run, last = n->page[at + pages - 1].run;
	uint64_t end = n->run_at[last] + n->run_pages[last], begins = 0;
	for (int i = at; i < at + pages; i++)
		begins += n->run_at[n->page[i].run] == (uint64_t)i;
	if (n->run_at[first] != (uint64_t)at || end != (uint64_t)(at + pages)) {
		n->partial++;
	} else if (begins == 1) {
		n->lives++;
		n->life_ns += n->time - n->run_ns[first];
	} else {
		n->joined++;
	}
}

static void naive_free(struct naive *n, int at, int pages, int p)
{
	bool bad = false;
	for (int i = at; i < at + pages; i++)
		bad |= n->page[i].state != PAGES_ALLOCATED;
	n->fault[PAGES_DOUBLE_FREE] += bad;
	if (!bad)
		naive_end_runs(n, at, pages);
	for (int i = at; i < at + pages; i++) {
		struct naive_page *g = &n->page[i];
		if (g->state == PAGES_ALLOCATED) {
			n->matrix[g->p][p]++;
			n->freed++;
		}
		g->state = PAGES_FREE;
		g->since = n->time;
		g->run = 0;
	}
}

static void naive_scavenge(struct naive *n, int at, int pages)
{
	bool bad = false;
	for (int i = at; i < at + pages; i++) {
		struct naive_page *g = &n->page[i];
		bad |= g->state == PAGES_ALLOCATED;
		n->fault[PAGES_SCAVENGED_UNSEEN] += g->state == PAGES_UNSEEN;
		n->returned += g->state != PAGES_SCAVENGED;
		if (g->state != PAGES_SCAVENGED)
			g->since = n->time;
		g->state = PAGES_SCAVENGED;
		g->run = 0;
	}
	n->fault[PAGES_SCAVENGED_ALLOCATED] += bad;
}

/* A random event of whole chunks, or of a page more or less. */
static struct ebt_pagetrace_event pick_chunks(const struct naive *n, uint64_t *state)
{
	int at = (int)(random_next(state) % (PAGES / CHUNK)) * CHUNK;
	if (at == HOLE)
		at = 0;
	int end = at + (1 + (int)(random_next(state) % 3)) * CHUNK;
	int limit = at < HOLE ? HOLE : PAGES;
	if (end > limit)
		end = limit;
	at += random_next(state) % 4 == 0;
	end -= random_next(state) % 4 == 0;
	return (struct ebt_pagetrace_event){
		.time_ns = n->time,
		.addr = BASE + (uint64_t)at * EBT_PAGETRACE_PAGE_BYTES,
		.pages = (uint64_t)(end - at),
		.p = (int32_t)(random_next(state) % PS) - 1,
		.what = 1 + (uint32_t)(random_next(state) % 3),
	};
}

/* A random event: where a run of pages of one state is, in most cases what is right there. */
static struct ebt_pagetrace_event pick(const struct naive *n, uint64_t *state)
{
	int at = (int)(random_next(state) % PAGES), end = at;
	int most = random_next(state) % 8 ? 1 + (int)(random_next(state) % 12)
					  : 1 + (int)(random_next(state) % 700);
	uint32_t what = 1 + (uint32_t)(random_next(state) % 3);
	if (at >= HOLE && at < HOLE + CHUNK)
		at = end = 0;
	uint8_t first = n->page[at].state;
	bool careful = random_next(state) % 16;
	uint64_t run = random_next(state) % 2 ? n->page[at].run : 0;
	while (run && at && n->page[at - 1].run == run)
		end = --at;
	while (end < PAGES && end - at < most && end != HOLE &&
	       (!careful || (n->page[end].state == first && (!run || n->page[end].run == run))))
		end++;
	if (careful)
		what = first == PAGES_ALLOCATED				    ? EBT_PAGETRACE_FREE
		       : first == PAGES_FREE && random_next(state) % 3 == 0 ? EBT_PAGETRACE_SCAVENGE
									    : EBT_PAGETRACE_ALLOC;
	return (struct ebt_pagetrace_event){
		.time_ns = n->time,
		.addr = BASE + (uint64_t)at * EBT_PAGETRACE_PAGE_BYTES,
		.pages = (uint64_t)(end > at ? end - at : 1),
		.p = (int32_t)(random_next(state) % PS) - 1,
		.what = what,
	};
}

static void naive_event(struct naive *n, const struct ebt_pagetrace_event *ev, bool found)
{
	int at = (int)((ev->addr - BASE) / EBT_PAGETRACE_PAGE_BYTES), pages = (int)ev->pages;
	n->events++;
	if (ev->what == EBT_PAGETRACE_ALLOC)
		naive_alloc(n, at, pages, ev->p + 1);
	else if (ev->what == EBT_PAGETRACE_FREE)
		naive_free(n, at, pages, ev->p + 1);
	else
		naive_scavenge(n, at, pages);
	for (int i = at; i < at + pages; i++)
		n->page[i].found = found && ev->what != EBT_PAGETRACE_SCAVENGE;
	uint64_t now = count(n, PAGES_ALLOCATED);
	if (now > n->peak) {
		n->peak = now;
		n->peak_ns = ev->time_ns;
	}
}

static uint64_t count_found(const struct naive *n, enum pages_state state)
{
	uint64_t sum = 0;
	for (int i = 0; i < PAGES; i++)
		sum += n->page[i].found && n->page[i].state == state;
	return sum;
}

/* Whether the pages of each chunk are marked as the naive ones are. */
static bool same_marks(const struct pages_model *m, const struct naive *n)
{
	uint64_t at = 0;
	bool same = true;
	for (const struct pages_chunk *c; (c = pages_heap_next(&m->heap, &at));)
		for (uint32_t i = 0; i < CHUNK; i += 8) {
			const struct naive_page *g =
				&n->page[(c->addr - BASE) / EBT_PAGETRACE_PAGE_BYTES + i];
			uint32_t found[PAGES_COUNTS] = {0}, want = 0;
			pages_heap_count(c, i, 8, found);
			for (int k = 0; k < 8; k++)
				want += g[k].found;
			same &= found[PAGES_FOUND_ALLOCATED] + found[PAGES_FOUND_FREE] == want;
		}
	return same;
}

/* Pages of chunks without an event do not count as unseen. */
static bool same_counts(const struct pages_model *m, const struct naive *n)
{
	bool same = m->heap.count[PAGES_UNSEEN] ==
		    m->heap.chunks * CHUNK - count(n, PAGES_ALLOCATED) - count(n, PAGES_FREE) -
			    count(n, PAGES_SCAVENGED);
	for (unsigned s = PAGES_ALLOCATED; s < PAGES_STATES; s++)
		same &= m->heap.count[s] == count(n, s);
	same &= m->heap.count[PAGES_FOUND_ALLOCATED] == count_found(n, PAGES_ALLOCATED) &&
		m->heap.count[PAGES_FOUND_FREE] == count_found(n, PAGES_FREE);
	return same;
}

static bool same_runs(const struct naive *n, const struct pages_runs *r, bool free, bool scavenged)
{
	struct pages_runs want = {0};
	for (int i = 0, from; i < PAGES; i++) {
		for (from = i; i < PAGES && ((free && n->page[i].state == PAGES_FREE) ||
					     (scavenged && n->page[i].state == PAGES_SCAVENGED));)
			i++;
		uint64_t pages = (uint64_t)(i - from);
		if (!pages)
			continue;
		unsigned k = 0;
		while (1ull << k < pages)
			k++;
		want.runs++;
		want.pages += pages;
		want.size[k].runs++;
		want.size[k].pages += pages;
		if (pages > want.largest) {
			want.largest = pages;
			want.largest_addr = BASE + (uint64_t)from * EBT_PAGETRACE_PAGE_BYTES;
		}
	}
	return !memcmp(r, &want, sizeof(want));
}

static void check_units(const struct pages_model *m, const struct naive *n)
{
	struct pages_occupancy o;
	uint64_t full = 0, empty = 0, kept = 0, kept_free = 0, units = 0, best = 0;
	for (int i = 0; i < PAGES; i += HUGE_PAGES) {
		uint64_t c[PAGES_STATES] = {0};
		for (int k = i; k < i + HUGE_PAGES; k++)
			c[n->page[k].state]++;
		bool few = c[PAGES_ALLOCATED] && c[PAGES_ALLOCATED] <= 16;
		units += c[PAGES_UNSEEN] < HUGE_PAGES;
		full += c[PAGES_ALLOCATED] == HUGE_PAGES;
		empty += !c[PAGES_ALLOCATED] && c[PAGES_UNSEEN] < HUGE_PAGES;
		kept += few;
		kept_free += few ? c[PAGES_FREE] : 0;
		if (few && c[PAGES_FREE] + c[PAGES_SCAVENGED] > best)
			best = c[PAGES_FREE] + c[PAGES_SCAVENGED];
	}
	is(pages_occupancy_make(&o, m, 2), 0, "occupancy is made");
	ok(o.huge.units == units && o.huge.full == full && o.huge.empty == empty &&
		   o.huge.kept == kept && o.huge.kept_free == kept_free,
	   "huge pages are as full as the naive model's");
	ok(o.kept_rows == (kept < 2 ? kept : 2) &&
		   (!kept || o.kept->count[PAGES_FREE] + o.kept->count[PAGES_SCAVENGED] == best),
	   "the first of those that few pages keep has the most free ones");
	pages_occupancy_done(&o);
}

static void check_heat(const struct pages_model *m, const struct naive *n)
{
	struct pages_heat t;
	uint64_t all = 0, most = 0;
	for (int i = 0; i < PAGES; i++) {
		all += n->page[i].allocations;
		most = n->page[i].allocations > most ? n->page[i].allocations : most;
	}
	is(pages_heat_make(&t, m, 3), 0, "heat is made");
	ok(t.allocations == all && t.page.count == 3 && t.page.row[0].value == most &&
		   t.page.row[0].value >= t.page.row[1].value,
	   "pages were allocated as often as the naive model's");
	pages_heat_done(&t);
}

static void check_matrix(const struct pages_model *m, const struct naive *n)
{
	struct pages_matrix t;
	bool same = true;
	is(pages_matrix_make(&t, &m->owners, 100), 0, "the matrix is made");
	for (uint32_t of = 0; of < t.ps; of++)
		for (uint32_t by = 0; by < t.ps; by++)
			same &= pages_matrix_at(&t, of, by) ==
				n->matrix[t.owner[of].p + 1][t.owner[by].p + 1];
	ok(t.ps == PS && same && t.freed == n->freed, "the matrix is the naive one's");
	pages_matrix_done(&t);
}

static void check_all(const struct pages_model *m, const struct naive *n)
{
	struct pages_fragmentation f;
	struct pages_alive a;
	uint64_t lives = 0, runs = 0, alive = 0;
	unsigned __int128 ns = 0;
	for (unsigned i = 0; i < PAGES_SIZE_CLASSES; i++) {
		lives += m->lifetimes.size[i].ns.count;
		ns += m->lifetimes.size[i].ns.sum;
		runs += m->lifetimes.size[i].runs;
	}
	pages_fragmentation_make(&f, &m->heap);
	ok(same_runs(n, &f.all, true, true), "runs of free pages are those of the naive model");
	ok(same_runs(n, &f.free, true, false), "those that are not scavenged, too");
	ok(same_runs(n, &f.scavenged, false, true), "and those that are");
	ok(!memcmp(m->damage.fault, n->fault, sizeof(n->fault)), "so are the violations");
	ok(m->events == n->events && m->moved.allocated == n->allocated &&
		   m->moved.freed == n->freed && m->moved.returned == n->returned,
	   "so are the pages that moved");
	ok(m->peak == n->peak && m->peak_ns == n->peak_ns, "so is the peak");
	ok(lives == n->lives && ns == n->life_ns, "so are the lifetimes of whole runs");
	ok(m->lifetimes.partial == n->partial && m->lifetimes.joined == n->joined,
	   "so are frees of parts and of several runs");
	ok(m->churn.again_ns.count == n->again && m->churn.again_ns.sum == n->again_ns,
	   "so are the pages that were taken again");
	pages_alive_make(&a, &m->heap);
	for (unsigned i = 0; i < PAGES_SIZE_CLASSES; i++)
		alive += a.size[i].pages;
	is(alive + a.rest, count(n, PAGES_ALLOCATED), "alive are the pages that are allocated");
	check_units(m, n);
	check_heat(m, n);
	check_matrix(m, n);
}

/* from: not 0: what happened counts from then on. chunks: of so many events one is of whole
 * chunks. */
static void test_random(uint64_t seed, uint64_t from, unsigned chunks)
{
	static struct naive n;
	struct pages_model m;
	uint64_t state = seed;
	bool same = true, turned = !from;
	n = (struct naive){0};
	is(pages_model_init(&m, &(struct pages_options){.page_bytes = EBT_PAGETRACE_PAGE_BYTES,
							.from = {from, from != 0}}),
	   0, "a model is made");
	for (int i = 0; i < EVENTS; i++) {
		n.time += random_next(&state) % 300;
		if (!i)
			n.peak_ns = n.time = 1000;
		if (!turned && n.time >= from + 1000) {
			naive_window(&n, from + 1000);
			turned = true;
		}
		struct ebt_pagetrace_event ev = chunks && random_next(&state) % chunks == 0
							? pick_chunks(&n, &state)
							: pick(&n, &state);
		bool found = random_next(&state) % 4 == 0;
		naive_event(&n, &ev, found);
		same &= !(found ? pages_model_space_event(&m, &ev, EBT_PAGE_POPULATED, 9)
				: pages_model_events(&m, &ev, 1));
		if (i % 64 == 0)
			same &= same_counts(&m, &n);
	}
	pages_model_end(&m);
	ok(same && same_counts(&m, &n), "pages by state are those of the naive model at all times");
	ok(same_marks(&m, &n), "those that were found are marked, and no others");
	check_all(&m, &n);
	pages_model_done(&m);
}

static void page_event(struct pages_model *m, uint8_t what, uint64_t page, uint64_t pages)
{
	static uint64_t ns = 1;
	struct ebt_pagetrace_event e = {.what = what,
					.time_ns = ns++,
					.addr = (1ull << 40) + page * EBT_PAGETRACE_PAGE_BYTES,
					.pages = pages};
	if (pages_model_events(m, &e, 1))
		abort();
}

/* Runs that are alive are as many as were allocated, also where they fill whole chunks. */
static void test_alive(void)
{
	struct pages_model m;
	struct pages_alive a;
	if (pages_model_init(&m, &(struct pages_options){.page_bytes = EBT_PAGETRACE_PAGE_BYTES}))
		abort();
	uint64_t chunk = m.heap.chunk_pages;
	page_event(&m, EBT_PAGETRACE_ALLOC, 0, 3 * chunk);
	page_event(&m, EBT_PAGETRACE_ALLOC, 3 * chunk, chunk);
	page_event(&m, EBT_PAGETRACE_ALLOC, 5 * chunk - 1, chunk + 1);
	page_event(&m, EBT_PAGETRACE_ALLOC, 8 * chunk, 2 * chunk);
	page_event(&m, EBT_PAGETRACE_FREE, 10 * chunk - 1, 1);
	page_event(&m, EBT_PAGETRACE_ALLOC, 20 * chunk, 2 * chunk);
	page_event(&m, EBT_PAGETRACE_FREE, 20 * chunk, chunk);
	pages_alive_make(&a, &m.heap);
	const struct pages_run_class *three = &a.size[pages_size_class(3 * chunk)],
				     *one = &a.size[pages_size_class(chunk)],
				     *more = &a.size[pages_size_class(chunk + 1)];
	ok(three->runs == 1 && three->pages == 3 * chunk, "a run of three chunks is one");
	ok((one == more ? one->runs == 2 : one->runs == 1 && more->runs == 1) &&
		   one->pages + (one == more ? 0 : more->pages) == 2 * chunk + 1,
	   "so is one of a chunk behind it, and one that begins on the last page of a chunk");
	is(a.rest, 2 * chunk - 1 + chunk, "runs of which a part was freed are none");
	pages_model_done(&m);
}

int main(void)
{
	test_alive();
	test_random(7, 0, 0);
	test_random(11, FROM_NS, 0);
	test_random(13, 0, 2);
	test_random(17, FROM_NS, 40);
	return tap_done();
}
