// SPDX-License-Identifier: BSD-2-Clause
#include "work.h"
#include <string.h>

/* Roots of a domain: the first two are always there, the rest is a stack. */
enum { ROOT_TABLE, ROOT_BORROWED, ROOT_FIXED };
/* Fields of a node; of a tree node the first two are its children, the third its seed. */
enum { NODE_NEXT, NODE_TREE, NODE_POINTERS, NODE_KEY = NODE_POINTERS, NODE_VERSION, NODE_FIELDS };
enum { TREE_LEFT, TREE_RIGHT, TREE_SEED };

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint64_t next_random(struct work *w)
{
	return mix(w->rng += 0x9e3779b97f4a7c15u);
}

static struct obj *build_tree(struct domain *d, unsigned depth, uint64_t seed)
{
	if (depth > 0) {
		heap_push(d, build_tree(d, depth - 1, mix(seed)));
		heap_push(d, build_tree(d, depth - 1, mix(seed + 1)));
	}
	struct obj *t = heap_alloc(d, 2, 1);
	if (depth > 0) {
		t->field[TREE_RIGHT].ptr = heap_pop(d);
		t->field[TREE_LEFT].ptr = heap_pop(d);
	}
	t->field[TREE_SEED].raw = seed;
	heap_seal(t);
	return t;
}

static void check_tree(const struct obj *t, unsigned depth, uint64_t seed)
{
	if (!t || t->tag != OBJ_LIVE || t->field[TREE_SEED].raw != seed || t->sum != heap_sum(t))
		heap_fatal("a tree is not what was built");
	if (depth > 0) {
		check_tree(t->field[TREE_LEFT].ptr, depth - 1, mix(seed));
		check_tree(t->field[TREE_RIGHT].ptr, depth - 1, mix(seed + 1));
	}
}

static uint64_t tree_seed(const struct domain *d, uint64_t key, uint64_t version)
{
	return mix((uint64_t)d->index << 56 ^ key << 32 ^ version);
}
static unsigned tree_depth(uint64_t seed)
{
	return seed & 3;
}

/* Nearly all payloads are small; some are large enough for the last buckets. */
static unsigned payload_words(uint64_t seed)
{
	uint64_t r = seed >> 8 & 63;
	return r < 60 ? (unsigned)(r & 7) : (unsigned)(r - 59) * 25;
}

static struct obj *find(const struct domain *d, uint64_t key, struct obj **ret_before)
{
	*ret_before = NULL;
	struct obj *n = d->roots[ROOT_TABLE]->field[key % WORK_BUCKETS].ptr;
	while (n && n->field[NODE_KEY].raw != key) {
		*ret_before = n;
		n = n->field[NODE_NEXT].ptr;
	}
	return n;
}

static void unlink_key(struct domain *d, uint64_t key)
{
	struct obj *before;
	struct obj *n = find(d, key, &before);
	if (!n)
		return;
	if (before)
		heap_store(d, before, NODE_NEXT, n->field[NODE_NEXT].ptr);
	else
		heap_store(d, d->roots[ROOT_TABLE], key % WORK_BUCKETS, n->field[NODE_NEXT].ptr);
	d->work->keys--;
	d->work->version[key] = 0;
}

static void put(struct domain *d, uint64_t key)
{
	struct work *w = d->work;
	uint32_t version = ++w->versions;
	uint64_t seed = tree_seed(d, key, version);

	heap_push(d, build_tree(d, tree_depth(seed), seed));
	struct obj *n = heap_alloc(d, NODE_POINTERS, 2 + payload_words(seed));
	n->field[NODE_TREE].ptr = heap_pop(d);
	n->field[NODE_KEY].raw = key;
	n->field[NODE_VERSION].raw = version;
	for (unsigned i = NODE_FIELDS; i < (unsigned)n->words - OBJ_HEADER_WORDS; i++)
		n->field[i].raw = seed + i;
	heap_seal(n);

	/* No allocation from here on: the table and the array change together. */
	struct obj *table = d->roots[ROOT_TABLE];
	unlink_key(d, key);
	n->field[NODE_NEXT].ptr = table->field[key % WORK_BUCKETS].ptr;
	heap_store(d, table, key % WORK_BUCKETS, n);
	w->version[key] = version;
	w->keys++;
}

static void check(const struct domain *d, uint64_t key)
{
	struct obj *before;
	const struct obj *n = find(d, key, &before);
	uint32_t version = d->work->version[key];
	if (!n != !version)
		heap_fatal("a key is lost, or back from the dead");
	if (!n)
		return;
	if (n->tag != OBJ_LIVE || n->field[NODE_VERSION].raw != version || n->sum != heap_sum(n))
		heap_fatal("a node is not what was stored");
	uint64_t seed = tree_seed(d, key, version);
	check_tree(n->field[NODE_TREE].ptr, tree_depth(seed), seed);
}

/* Shows one old tree to the others, and looks at what another domain shows. */
static void exchange(struct domain *d, uint64_t key)
{
	struct gc *gc = d->gc;
	struct obj *before;
	const struct obj *n = find(d, key, &before);
	if (n && !heap_is_young(d, n->field[NODE_TREE].ptr))
		gc->published[d->index] = n->field[NODE_TREE].ptr;
	d->roots[ROOT_BORROWED] = gc->published[key % (unsigned)gc->domains];
	const struct obj *t = d->roots[ROOT_BORROWED];
	if (t)
		check_tree(t, tree_depth(t->field[TREE_SEED].raw), t->field[TREE_SEED].raw);
}

static void operate(struct domain *d)
{
	uint64_t r = next_random(d->work);
	uint64_t key = r % WORK_KEYS;
	unsigned dice = r >> 32 & 15;
	if (dice < 4)
		put(d, key);
	else if (dice < 5)
		unlink_key(d, key);
	else if (dice < 9)
		check(d, key);
	else if (dice < 10)
		exchange(d, key);
	else
		build_tree(d, r >> 40 & 3, r);
	d->work->ops++;
}

static void emit_user_events(struct domain *d)
{
	const struct emit_user *u = d->work->user;
	uint64_t r = next_random(d->work);
	uint64_t payload[64];
	size_t bytes = (r & 255) == 0 ? r >> 8 & 511 : r >> 8 & 63;

	for (size_t i = 0; i <= bytes / 8; i++)
		payload[i] = r + i;
	emit_unit(&d->emit, u->safepoint);
	emit_int(&d->emit, u->live_keys, (int64_t)d->work->keys - WORK_KEYS / 2);
	emit_custom(&d->emit, u->trace, payload, bytes);
}

void work_init(struct domain *d, struct work *w, uint64_t seed, const struct emit_user *user)
{
	memset(w, 0, sizeof(*w));
	w->rng = mix(seed + (uint64_t)d->index);
	w->user = user;
	d->work = w;
	d->nroots = 0;
	heap_push(d, NULL);
	heap_push(d, NULL);
	struct obj *table = heap_alloc(d, WORK_BUCKETS, 0);
	heap_seal(table);
	d->roots[ROOT_TABLE] = table;
}

void work_batch(struct domain *d)
{
	const struct emit_user *u = d->work->user;
	if (u)
		emit_span_begin(&d->emit, u->batch);
	for (int i = 0; i < WORK_BATCH_OPS && d->next + HEAP_MAX_WORDS < d->limit; i++)
		operate(d);
	if (u) {
		emit_span_end(&d->emit, u->batch);
		emit_user_events(d);
	}
	minor_collect(d);
}

void work_check_all(struct domain *d)
{
	for (uint64_t key = 0; key < WORK_KEYS; key++)
		check(d, key);
}
