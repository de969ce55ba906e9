/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small garbage-collected heap for several threads ("domains"). Each domain allocates in its own
 * nursery; a minor collection copies what is still reachable into the domain's old space and
 * empties the nursery. A major collection stops all domains, marks from every root and sweeps
 * every old space.
 *
 * Invariants: a nursery is referred to only from its own domain's roots, and from old objects
 * whose slot is in that domain's remembered set; so a minor collection needs no other domain.
 * A domain stops for others only at the end of a minor collection, when its nursery is empty; so
 * while the world is stopped there are old objects only. A pointer held over heap_alloc() must be
 * in the domain's roots, since objects move.
 */
#ifndef MINIGC_HEAP_H
#define MINIGC_HEAP_H

#include "emit.h"
#include "pool.h"
#include "sampled.h"
#include <pthread.h>
#include <stdatomic.h>

#define HEAP_MAX_DOMAINS 64
#define HEAP_MAX_ROOTS	 64
#define HEAP_CLASSES	 10
#define HEAP_CHUNK_BYTES 65536
#define HEAP_MAX_CHUNKS	 16384 /* 1 GiB */
#define HEAP_MAX_WORDS	 160   /* of one object */

enum obj_tag { OBJ_LIVE = 1, OBJ_FREE = 2, OBJ_MOVED = 3 };

/*
 * Two words, then `pointers` fields that are pointers or NULL, then raw words. `sum` guards the
 * shape and the raw words; of a free cell it is the next free cell, of a moved object its copy.
 */
struct obj {
	uint16_t tag; /* enum obj_tag */
	uint8_t marked;
	uint8_t seen; /* by the verifier */
	uint16_t words;
	uint16_t pointers;
	uint64_t sum;
	union {
		struct obj *ptr;
		uint64_t raw;
	} field[];
};
#define OBJ_HEADER_WORDS 2
#define OBJ_MIN_WORDS	 3

/* One size class each, aligned to its size, so that a cell's chunk is found by its address. */
struct chunk {
	struct chunk *next;
	uint64_t cell_words;
	uint64_t cells;
	uint64_t used_words; /* of live objects, as of the last sweep */
	uint64_t cell[];
};

struct space {
	struct chunk *chunks;
	struct obj *free[HEAP_CLASSES];
	uint64_t words;	      /* in chunks */
	uint64_t live_words;  /* in cells in use */
	uint64_t live_blocks; /* cells in use */
};

struct gc;

struct domain {
	struct gc *gc;
	int index;
	struct emit emit;
	uint64_t *nursery, *next, *limit;
	struct obj *roots[HEAP_MAX_ROOTS];
	int nroots;
	struct obj ***remembered; /* slots of old objects that may point into the nursery */
	size_t nremembered;
	struct obj *todo; /* copied, its fields not yet */
	struct space space;
	struct sampled_heap sampled;
	struct pool_counts pages;
	uint64_t minors;
	uint64_t promoted_words;  /* since the last minor collection began */
	uint64_t allocated_words; /* by promotion, since the last major */
	struct work *work;	  /* what the program keeps beside the heap */
	pthread_t thread;
};

struct gc {
	int domains;
	size_t nursery_words;
	uint64_t major_threshold_words;
	bool verify;
	bool sample; /* report allocated objects */
	bool pages;  /* put empty chunks back into the pool, and report them */

	/* The world: `stopped` of `active` domains are at a safepoint or asleep. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int active, stopped;
	_Atomic bool stw;
	_Atomic uint64_t promoted_words; /* by all since the last major */

	/* One old object a domain that others may take, or NULL. */
	_Atomic(struct obj *) published[HEAP_MAX_DOMAINS];
	/* Addresses of chunks, hashed by chunk_slot(); filled under `lock`. Those in the pool have
	 * no cells. */
	struct chunk *chunk_set[HEAP_MAX_CHUNKS * 2];
	struct chunk_pool pool;
	size_t nchunks;
	struct obj **mark_stack;
	size_t mark_cap, mark_top;
	uint64_t majors, verified;
	struct domain domain[HEAP_MAX_DOMAINS];
};

/* All abort the program with one line when memory is out or the heap is found corrupt. */
void heap_init(struct gc *gc);
void heap_done(struct gc *gc);
_Noreturn void heap_fatal(const char *what);

/* A new object; fields are NULL and 0. May collect: see the invariants above. */
struct obj *heap_alloc(struct domain *d, unsigned pointers, unsigned raw_words);
/* obj->field[i] = value, for an object that may be old. */
void heap_store(struct domain *d, struct obj *obj, unsigned i, struct obj *value);
/* To be called when the raw words of an object have been written. */
void heap_seal(struct obj *obj);
uint64_t heap_sum(const struct obj *obj);

static inline void heap_push(struct domain *d, struct obj *obj)
{
	if (d->nroots == HEAP_MAX_ROOTS)
		heap_fatal("too many roots");
	d->roots[d->nroots++] = obj;
}
static inline struct obj *heap_pop(struct domain *d)
{
	return d->roots[--d->nroots];
}

static inline bool heap_is_young(const struct domain *d, const struct obj *obj)
{
	return (uintptr_t)obj - (uintptr_t)d->nursery < d->gc->nursery_words * 8;
}

/* Empties the nursery, then lets others stop the world, or stops it if it is time. */
void minor_collect(struct domain *d);

/* The domain sleeps: others may stop the world meanwhile. Its nursery must be empty. */
void major_sleep(struct domain *d, uint64_t ns);
void major_safepoint(struct domain *d);
/* One major collection now, by this domain. Its nursery must be empty. */
void major_collect(struct domain *d);
/* The domain leaves: others no longer wait for it. */
void major_leave(struct domain *d);
/* Puts an object on the stack of what is still to be scanned, of the marker or the verifier. */
void major_push(struct gc *gc, struct obj *obj);

struct obj *space_alloc(struct domain *d, unsigned words);
/* Frees what is not marked and clears the marks. By domain d, which has stopped the world. */
void space_sweep(struct domain *d, struct space *s);
void space_done(struct space *s);
/* True if `obj` is the address of a cell of some old space. */
bool space_holds(const struct gc *gc, const struct obj *obj);

/*
 * Walks everything that is reachable while the world is stopped: sums intact, no pointer into a
 * nursery or to a free cell or outside of the heap; and, `exact` after a sweep, nothing alive that
 * is not reachable. Returns the number of objects; aborts on the first wrong one.
 */
uint64_t verify_heap(struct gc *gc, bool exact);

#endif
