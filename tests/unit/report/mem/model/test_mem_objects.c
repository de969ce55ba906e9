/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of live objects over many that come and go, against a list of them. */
#include "report/mem/model/objects.h"

#include "tests/random.h"
#include "tests/tap.h"

#define LIVE   40
#define ROUNDS 200000

static uint64_t live[LIVE];

/* Whether the table has these objects, and no others. */
static bool has_all(const struct mem_objects *t, size_t n)
{
	size_t at = 0, seen = 0;
	bool same = t->count == n;
	for (size_t i = 0; i < n && same; i++) {
		const struct mem_object *o = mem_objects_get(t, live[i]);
		same = o && o->id == live[i] && o->samples == live[i] * 3;
	}
	while (mem_objects_next(t, &at))
		seen++;
	return same && seen == n;
}

static void put(struct mem_objects *t, uint64_t id)
{
	struct mem_object *o = mem_objects_put(t, id);
	if (!o || o->row)
		abort();
	o->row = 1;
	o->samples = id * 3;
}

/* Ids ascend, as a runtime's do, or are any. */
static void test_long(bool any, const char *name)
{
	struct mem_objects t = {0};
	uint64_t state = 5, next = 1;
	size_t n = 0, wrong = 0, most = 0;
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (n == LIVE || (n && random_next(&state) % 2)) {
			size_t which = random_next(&state) % n;
			mem_objects_delete(&t, mem_objects_get(&t, live[which]));
			wrong += mem_objects_get(&t, live[which]) != NULL;
			live[which] = live[--n];
		} else {
			live[n] = any ? random_next(&state) | 1 : next++;
			put(&t, live[n++]);
		}
		wrong += i % 97 == 0 && !has_all(&t, n);
		most = t.cap > most ? t.cap : most;
	}
	is(wrong, 0, name);
	ok(most <= 128, "its room is that of those that live: %zu", most);
	mem_objects_done(&t);
}

static void test_again(void)
{
	struct mem_objects t = {0};
	put(&t, 7);
	ok(mem_objects_put(&t, 7)->row == 1 && t.count == 1, "an id that is there has its entry");
	ok(!mem_objects_get(&t, 8), "another one has none");
	mem_objects_delete(&t, mem_objects_get(&t, 7));
	ok(!t.count && !mem_objects_put(&t, 7)->row, "one that is gone begins anew");
	mem_objects_done(&t);
}

int main(void)
{
	test_long(false, "200,000 changes of objects in order leave those that live");
	test_long(true, "and so do those of any ids");
	test_again();
	return tap_done();
}
