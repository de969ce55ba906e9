/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/profile/model/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

void waits_done(struct waits *w)
{
	free(w->row);
	map_done(&w->row_of);
	*w = (struct waits){0};
}

enum blame_part waits_part(const struct offcpu *o, uint64_t *ret_wait_ns)
{
	*ret_wait_ns = o->wait_ns;
	if (o->reason != EBT_OFFCPU_PREEMPTED)
		return blame_part_of_block(o->reason, o->syscall);
	*ret_wait_ns = o->end_ns - o->begin_ns;
	return BLAME_WAIT;
}

static bool same_key(const struct waits_row *a, const struct waits_row *b)
{
	return a->part == b->part && a->syscall == b->syscall && a->by == b->by &&
	       !memcmp(a->comm, b->comm, sizeof(a->comm));
}

static uint64_t hash_key(const struct waits_row *r)
{
	uint64_t comm[BLAME_COMM_BYTES / sizeof(uint64_t)];
	memcpy(comm, r->comm, sizeof(comm));
	uint64_t h = hash_u64(hash_start(), (uint64_t)r->part << 40 | (uint64_t)r->by << 32 |
						    (uint32_t)r->syscall);
	return hash_u64(hash_u64(h, comm[0]), comm[1]);
}

/* *ret NULL: there are too many. 0 or -ENOMEM. */
static int find_row(struct waits *w, const struct waits_row *key, struct waits_row **ret)
{
	uint64_t *at, hash = hash_key(key);
	while ((at = map_put(&w->row_of, hash)) && *at) {
		*ret = &w->row[*at - 1];
		if (same_key(*ret, key))
			return 0;
		hash++;
	}
	*ret = NULL;
	if (!at)
		return -ENOMEM;
	if (w->rows == WAITS_ROWS) {
		map_delete(&w->row_of, hash);
		return 0;
	}
	if (!array_reserve(w->row, w->room, w->rows)) {
		map_delete(&w->row_of, hash);
		return -ENOMEM;
	}
	w->row[w->rows++] = *key;
	*at = w->rows;
	*ret = &w->row[w->rows - 1];
	return 0;
}

static int add_wait(struct waits *w, const struct waits_row *key, uint64_t ns)
{
	struct waits_row *r;
	int err = find_row(w, key, &r);
	if (err)
		return err;
	if (!r) {
		w->others++;
		w->others_ns += ns;
		return 0;
	}
	r->count++;
	r->ns += ns;
	r->longest_ns = ns > r->longest_ns ? ns : r->longest_ns;
	return 0;
}

static void set_comm(struct waits_row *r, const char *comm)
{
	r->by = WAITS_BY_THREAD;
	memcpy(r->comm, comm, strnlen(comm, sizeof(r->comm) - 1));
}

static int add_blocked(struct waits *w, const struct offcpu *o, enum blame_part part, uint64_t ns,
		       bool ended)
{
	struct waits_row key = {.part = part, .syscall = o->syscall};
	if (!ended)
		key.by = WAITS_STILL_OPEN;
	else if (o->interrupt)
		key.by = WAITS_BY_INTERRUPT;
	else if (o->waker || *o->waker_comm)
		set_comm(&key, o->waker_comm);
	return add_wait(w, &key, ns);
}

static int add_queued(struct waits *w, const struct offcpu *o, uint64_t ns)
{
	struct waits_row key = {.part = BLAME_WAIT, .syscall = BLAME_NO_CALL};
	if (o->runner || *o->runner_comm)
		set_comm(&key, o->runner_comm);
	else if (o->open)
		key.by = WAITS_STILL_OPEN;
	return add_wait(w, &key, ns);
}

int waits_add(struct waits *w, const struct offcpu *o, bool has_stack)
{
	uint64_t ns = o->end_ns - o->begin_ns, wait_ns;
	enum blame_part part = waits_part(o, &wait_ns);
	w->shortest_ns = !w->blocks || ns < w->shortest_ns ? ns : w->shortest_ns;
	w->longest_ns = ns > w->longest_ns ? ns : w->longest_ns;
	w->blocks++;
	w->ns += ns;
	w->open += o->open;
	w->open_ns += o->open ? ns : 0;
	w->ends[has_stack || o->ends ? o->ends : KINDS_SAMPLE_ENDS]++;
	int err = 0;
	if (ns > wait_ns)
		err = add_blocked(w, o, part, ns - wait_ns, !o->open || wait_ns);
	if (!err && wait_ns)
		err = add_queued(w, o, wait_ns);
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct waits_row *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	if (x->syscall != y->syscall)
		return x->syscall < y->syscall ? -1 : 1;
	if (x->by != y->by)
		return x->by < y->by ? -1 : 1;
	return memcmp(x->comm, y->comm, sizeof(x->comm));
}

void waits_sort(struct waits *w)
{
	map_done(&w->row_of);
	w->row_of = (struct map){0};
	if (w->rows)
		qsort(w->row, w->rows, sizeof(*w->row), by_time);
}
