/* SPDX-License-Identifier: BSD-2-Clause */
/* The live files of processes, against a list of each, in any order of additions and removals. */
#include "source/ring/live_files.h"

#include <string.h>

#include "tests/random.h"
#include "tests/tap.h"

#define FILES	  64
#define PROCESSES 4

static struct ring_file file[FILES];

/* The files of a process, latest first, as the numbers of `file`; their count. */
static unsigned listed(const struct ring_live *l, uint32_t process, unsigned ret[FILES])
{
	unsigned n = 0;
	const struct ring_file *before = NULL;
	for (struct ring_file *f = ring_live_first(l, process); f && n < FILES; f = f->next_live) {
		if (f->prev_live != before || f->process != process || !f->live)
			return FILES + 1;
		before = f;
		ret[n++] = (unsigned)(f - file);
	}
	return n;
}

/* What there should be. */
struct model {
	unsigned at[PROCESSES + 1][FILES], count[PROCESSES + 1];
};

static bool is_same(const struct ring_live *l, const struct model *m)
{
	for (uint32_t p = 1; p <= PROCESSES; p++) {
		unsigned got[FILES], n = listed(l, p, got);
		if (n != m->count[p])
			return false;
		for (unsigned i = 0; i < n; i++)
			if (got[i] != m->at[p][n - 1 - i])
				return false;
	}
	return true;
}

static void add(struct ring_live *l, struct model *m, unsigned i, uint32_t process)
{
	file[i] = (struct ring_file){.process = process, .live = true};
	if (ring_live_add(l, &file[i]))
		abort();
	m->at[process][m->count[process]++] = i;
}

static void take(struct ring_live *l, struct model *m, unsigned i)
{
	uint32_t p = file[i].process;
	ring_live_remove(l, &file[i]);
	for (unsigned k = 0; k < m->count[p]; k++)
		if (m->at[p][k] == i && file[i].live) {
			memmove(&m->at[p][k], &m->at[p][k + 1],
				(--m->count[p] - k) * sizeof(m->at[p][0]));
			break;
		}
	file[i].live = false;
}

static void test_random(void)
{
	unsigned wrong = 0, alive = 0;
	uint64_t seed = 1;
	struct ring_live l = {0};
	struct model m = {0};
	memset(file, 0, sizeof(file));
	for (unsigned i = 0; i < 20000; i++) {
		unsigned k = (unsigned)(random_next(&seed) % FILES);
		uint32_t process = 1 + (uint32_t)(random_next(&seed) % PROCESSES);
		if (!(random_next(&seed) % 20)) {
			ring_live_end(&l, process);
			for (unsigned n = 0; n < m.count[process]; n++)
				alive += file[m.at[process][n]].live;
			m.count[process] = 0;
		} else if (file[k].live) {
			take(&l, &m, k);
		} else {
			add(&l, &m, k, process);
		}
		wrong += !is_same(&l, &m);
	}
	is(wrong, 0, "a process has the files that were added and not removed, the latest first");
	is(alive, 0, "at its end none of them is live");
	ring_live_end_all(&l);
	for (unsigned i = 0; i < FILES; i++)
		alive += file[i].live;
	is(alive, 0, "at the end of all processes none is");
	ring_live_done(&l);
}

static void test_ended(void)
{
	struct ring_live l = {0};
	struct model m = {0};
	add(&l, &m, 0, 1);
	add(&l, &m, 1, 1);
	ring_live_end(&l, 1);
	add(&l, &m, 2, 1);
	ring_live_remove(&l, &file[0]);
	ring_live_remove(&l, &file[1]);
	unsigned got[FILES];
	ok(listed(&l, 1, got) == 1 && got[0] == 2,
	   "a file that is live no more is in no set, and its removal changes none");
	ok(!ring_live_first(&l, 2), "a process without files has none");
	ring_live_done(&l);
}

int main(void)
{
	test_random();
	test_ended();
	return tap_done();
}
