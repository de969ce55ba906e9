// SPDX-License-Identifier: BSD-2-Clause
#include "heap.h"
#include <stdlib.h>
#include <time.h>

void major_push(struct gc *gc, struct obj *obj)
{
	if (gc->mark_top == gc->mark_cap) {
		gc->mark_cap = gc->mark_cap ? gc->mark_cap * 2 : 4096;
		gc->mark_stack = realloc(gc->mark_stack, gc->mark_cap * sizeof(*gc->mark_stack));
		if (!gc->mark_stack)
			heap_fatal("out of memory");
	}
	gc->mark_stack[gc->mark_top++] = obj;
}

static void mark(struct gc *gc, struct obj *obj)
{
	if (!obj || obj->marked)
		return;
	obj->marked = 1;
	major_push(gc, obj);
}

static void mark_roots(struct gc *gc)
{
	for (int i = 0; i < gc->domains; i++) {
		struct domain *d = &gc->domain[i];
		for (int r = 0; r < d->nroots; r++)
			mark(gc, d->roots[r]);
		mark(gc, gc->published[i]);
	}
}

static void mark_reachable(struct gc *gc)
{
	while (gc->mark_top) {
		struct obj *obj = gc->mark_stack[--gc->mark_top];
		for (unsigned i = 0; i < obj->pointers; i++)
			mark(gc, obj->field[i].ptr);
	}
}

static void report_heap(struct domain *d)
{
	struct space all = {0};
	for (int i = 0; i < d->gc->domains; i++) {
		all.words += d->gc->domain[i].space.words;
		all.live_words += d->gc->domain[i].space.live_words;
		all.live_blocks += d->gc->domain[i].space.live_blocks;
	}
	emit_counter(&d->emit, EBT_COUNTER_major_heap_words, all.words);
	emit_counter(&d->emit, EBT_COUNTER_major_heap_pool_words, all.words);
	emit_counter(&d->emit, EBT_COUNTER_major_heap_pool_live_words, all.live_words);
	emit_counter(&d->emit, EBT_COUNTER_major_heap_pool_live_blocks, all.live_blocks);
	emit_counter(&d->emit, EBT_COUNTER_major_allocated_words, d->allocated_words);
}

/* The world is stopped. Not inlined, so that a stack taken at its first probe names it. */
__attribute__((noinline)) static void collect_stopped(struct domain *d)
{
	struct gc *gc = d->gc;
	struct emit *e = &d->emit;

	emit_begin(e, EBT_PHASE_major);
	emit_begin(e, EBT_PHASE_major_mark_roots);
	mark_roots(gc);
	emit_end(e, EBT_PHASE_major_mark_roots);
	emit_begin(e, EBT_PHASE_major_mark);
	mark_reachable(gc);
	sampled_major(d);
	emit_end(e, EBT_PHASE_major_mark);
	emit_begin(e, EBT_PHASE_major_sweep);
	for (int i = 0; i < gc->domains; i++)
		space_sweep(d, &gc->domain[i].space);
	pool_scavenge(d);
	emit_end(e, EBT_PHASE_major_sweep);
	report_heap(d);
	emit_end(e, EBT_PHASE_major);

	for (int i = 0; i < gc->domains; i++)
		gc->domain[i].allocated_words = 0;
	gc->promoted_words = 0;
	gc->majors++;
	if (gc->verify)
		gc->verified += verify_heap(gc, true);
}

/* Called with the lock held: this domain counts as stopped until nobody stops the world. */
static void wait_stopped(struct gc *gc)
{
	while (gc->stw)
		pthread_cond_wait(&gc->changed, &gc->lock);
	gc->stopped--;
}

static void join_stw(struct domain *d)
{
	emit_begin(&d->emit, EBT_PHASE_stw_handler);
	pthread_mutex_lock(&d->gc->lock);
	d->gc->stopped++;
	pthread_cond_broadcast(&d->gc->changed);
	wait_stopped(d->gc);
	pthread_mutex_unlock(&d->gc->lock);
	emit_end(&d->emit, EBT_PHASE_stw_handler);
}

void major_collect(struct domain *d)
{
	struct gc *gc = d->gc;

	pthread_mutex_lock(&gc->lock);
	if (gc->stw) { /* another domain was first */
		pthread_mutex_unlock(&gc->lock);
		join_stw(d);
		return;
	}
	gc->stw = true;
	emit_begin(&d->emit, EBT_PHASE_stw_leader);
	emit_begin(&d->emit, EBT_PHASE_stw_api_barrier);
	while (gc->stopped < gc->active - 1)
		pthread_cond_wait(&gc->changed, &gc->lock);
	emit_end(&d->emit, EBT_PHASE_stw_api_barrier);
	collect_stopped(d);
	gc->stw = false;
	pthread_cond_broadcast(&gc->changed);
	pthread_mutex_unlock(&gc->lock);
	emit_end(&d->emit, EBT_PHASE_stw_leader);
}

void major_safepoint(struct domain *d)
{
	struct gc *gc = d->gc;
	if (gc->stw)
		join_stw(d);
	else if (gc->promoted_words >= gc->major_threshold_words)
		major_collect(d);
}

void major_sleep(struct domain *d, uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000),
			     .tv_nsec = (long)(ns % 1000000000)};

	pthread_mutex_lock(&d->gc->lock);
	d->gc->stopped++;
	pthread_cond_broadcast(&d->gc->changed);
	pthread_mutex_unlock(&d->gc->lock);
	nanosleep(&t, NULL);
	pthread_mutex_lock(&d->gc->lock);
	wait_stopped(d->gc);
	pthread_mutex_unlock(&d->gc->lock);
}

void major_leave(struct domain *d)
{
	pthread_mutex_lock(&d->gc->lock);
	/* A leader does not wait for this domain any more, but it may be at work already, and
	 * would not like the roots to change below it. */
	d->gc->stopped++;
	pthread_cond_broadcast(&d->gc->changed);
	wait_stopped(d->gc);
	d->gc->active--;
	d->nroots = 0;
	pthread_cond_broadcast(&d->gc->changed);
	pthread_mutex_unlock(&d->gc->lock);
}
