/* SPDX-License-Identifier: BSD-2-Clause */
/* map and ptrmap against arrays that are searched; and the hash below both. */
#include "base/hash.h"
#include "base/map.h"
#include "base/ptrarray.h"
#include "base/ptrmap.h"
#include "tests/tap.h"

#define KEYS 500

static void test_map_model(void)
{
	struct map m = {0};
	uint64_t value[KEYS];
	int there[KEYS] = {0}, good = 1;
	srand(7);
	for (int i = 0; i < 200000; i++) {
		int k = rand() % KEYS;
		uint64_t key = (uint64_t)k << 16 | (uint64_t)(k & 3); /* as pid and domain */
		if (rand() % 3) {
			uint64_t *v = map_put(&m, key);
			good &= v && (there[k] ? *v == value[k] : *v == 0);
			*v = value[k] = (uint64_t)i + 1;
			there[k] = 1;
		} else {
			good &= map_delete(&m, key) == there[k];
			there[k] = 0;
		}
		uint64_t *v = map_get(&m, key);
		good &= there[k] ? v && *v == value[k] : !v;
	}
	ok(good, "200,000 random puts, gets and deletes agree with an array");
	size_t at = 0, seen = 0, want = 0;
	while (map_next(&m, &at))
		seen++;
	for (int k = 0; k < KEYS; k++)
		want += (size_t)there[k];
	is(seen, want, "going through it meets every key once");
	map_done(&m);
}

struct lane {
	unsigned made;
	int seen;
};

/* One step of the model test; 1: map and array agree. */
static int step(struct lane *model[KEYS], void *map, unsigned i)
{
	PTRMAP(struct lane) *m = map;
	unsigned k = (unsigned)rand() % KEYS;
	uint64_t key = (uint64_t)k << 32 | 7;
	bool is_new;
	struct lane *l;
	switch (rand() % 4) {
	case 0:
		l = ptrmap_make(m, key, &is_new);
		if (!l || is_new != !model[k] || (is_new ? l->made || l->seen : l != model[k]))
			return 0;
		l->made = is_new ? i : l->made;
		model[k] = l;
		return 1;
	case 1:
		l = calloc(1, sizeof(*l));
		free(ptrmap_remove(m, key));
		model[k] = l;
		return l && !ptrmap_set(m, key, l);
	case 2:
		l = ptrmap_remove(m, key);
		if (l != model[k])
			return 0;
		free(l);
		model[k] = NULL;
		return 1;
	default:
		return ptrmap_get(m, key) == model[k];
	}
}

static void test_ptrmap_model(void)
{
	static struct lane *model[KEYS];
	PTRMAP(struct lane) m = {0};
	int good = 1;
	srand(11);
	for (unsigned i = 1; i <= 200000; i++)
		good &= step(model, &m, i);
	ok(good, "200,000 random calls of a map of pointers agree with an array of them");
	size_t at = 0, seen = 0, want = 0;
	for (struct lane *l; (l = ptrmap_next(&m, &at)); seen++)
		good &= l->seen++ == 0;
	for (unsigned k = 0; k < KEYS; k++) {
		want += !!model[k];
		good &= !model[k] || model[k]->seen == 1;
	}
	ok(good && seen == want, "going through it meets each pointer once");
	ptrmap_free(&m);
	at = 0;
	ok(!ptrmap_next(&m, &at) && !ptrmap_get(&m, 7), "freed, it is empty");
	ok(ptrmap_make(&m, 7, &(bool){0}), "and can be used again");
	ptrmap_free(&m);
}

static void test_ptrmap_keeps(void)
{
	struct lane a = {1, 0}, b = {2, 0};
	PTRMAP(const struct lane) m = {0};
	ok(!ptrmap_get(&m, 0) && !ptrmap_remove(&m, 0), "an empty map has nothing");
	is(ptrmap_set(&m, 0, &a), 0, "0 is a key, and what is constant can be kept");
	is(ptrmap_set(&m, UINT64_MAX, &b), 0, "so is the greatest");
	ok(ptrmap_get(&m, 0)->made == 1 && ptrmap_get(&m, UINT64_MAX)->made == 2,
	   "each has what was set");
	is(ptrmap_set(&m, 0, &b), 0, "what is set again");
	ok(ptrmap_remove(&m, 0) == &b && !ptrmap_get(&m, 0), "is replaced, and taken once");
	ptrmap_done(&m);
	ok(a.made == 1 && b.made == 2 && !ptrmap_get(&m, UINT64_MAX),
	   "a map that is done leaves what it pointed to");
}

/* The longest run of taken places, of keys that a hash without a secret could put on one place. */
static void test_spread(void)
{
	struct map m = {0};
	size_t run = 0, longest = 0;
	for (uint64_t i = 0; i < 4096; i++)
		map_put(&m, i << 48);
	for (size_t i = 0; i < 2 * m.cap; i++) {
		run = m.slots[i & (m.cap - 1)].used ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	/* Of 5,000 runs the longest was 67; one round of the hash has 119 in 1 of 100, and
	 * 4,048. */
	ok(longest < 200, "4,096 keys that differ in their top bits alone spread");
	map_done(&m);
}

static uint64_t of(const char *s)
{
	return hash_string(hash_start(), s);
}

static void test_hash(void)
{
	char a[] = "minor", long_a[] = "a name of more than eight bytes", b[16] = "minor\0tail";
	is(of(a), of(b), "a string's hash ends with it");
	is(of(long_a), hash_bytes(hash_start(), long_a, strlen(long_a)),
	   "and is that of its bytes");
	ok(of("ab") != of("ba") && of("") != of("a") && of("12345678") != of("123456789"),
	   "order, length and every byte count");
	ok(hash_bytes(hash_start(), "\0", 1) != hash_bytes(hash_start(), "\0\0", 2),
	   "zeros, too: bytes are not what follows them");
	ok(hash_string(of("ab"), "c") != hash_string(of("a"), "bc"),
	   "two strings are not one that is cut elsewhere");
	for (size_t i = 0; i < sizeof(long_a) - 1; i++) {
		uint64_t before = of(long_a);
		long_a[i] ^= 1;
		if (of(long_a) == before)
			ok(0, "byte %zu counts", i);
	}
}

static void test_ptrarray(void)
{
	PTRARRAY(int) a = {0};
	bool is_new, good = !ptrarray_get(&a, 0) && !ptrarray_remove(&a, 1000);
	for (uint32_t i = 1; i < 2000; i += 7) {
		int *p = ptrarray_make(&a, i, &is_new);
		good &= p && is_new && !*p;
		*p = (int)i;
		good &= ptrarray_make(&a, i, &is_new) == p && !is_new;
	}
	for (uint32_t i = 0; i < 3000; i++) {
		const int *p = ptrarray_get(&a, i);
		good &= i % 7 == 1 && i < 2000 ? p && *p == (int)i : !p;
	}
	ok(good, "an array has what was made under a number, and nothing elsewhere");
	int *taken = ptrarray_remove(&a, 8);
	ok(taken && *taken == 8 && !ptrarray_get(&a, 8), "taken out, it is the caller's");
	free(taken);
	size_t at = 0;
	unsigned count = 0;
	for (const int *p, *last = NULL; (p = ptrarray_next(&a, &at)); last = p)
		count += !last || *p > *last;
	is(count, 285, "the others come in the order of their numbers");
	ptrarray_free(&a);
	ok(!ptrarray_get(&a, 1), "and are freed with it");
}

int main(void)
{
	test_ptrarray();
	test_map_model();
	test_ptrmap_model();
	test_ptrmap_keeps();
	test_spread();
	test_hash();
	return tap_done();
}
