/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/mem_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* So many unresolved frames in a row belong to the function outside of them. */
#define UNRESOLVED_MAX 2

struct mem_count mem_pick_alloc(const struct mem_process *p, uint32_t row)
{
	return mem_row_alloc(&p->row[row]);
}

struct mem_count mem_pick_live(const struct mem_process *p, uint32_t row)
{
	return p->fate[row].live;
}

struct mem_count mem_pick_collected(const struct mem_process *p, uint32_t row)
{
	return p->fate[row].collected;
}

void mem_sites_done(struct mem_sites *t)
{
	for (uint32_t i = 0; i < t->functions; i++) {
		free(t->function[i].position);
		free(t->function[i].caller);
	}
	free(t->function);
	free(t->by_self);
	free(t->by_total);
	free(t->frame);
	free(t->stack);
	map_done(&t->by_name);
	map_done(&t->wrapping);
	*t = (struct mem_sites){0};
}

static void measure_add(struct mem_measure *m, const struct mem_scale *scale, struct mem_count c)
{
	m->objects += mem_scale_objects(scale, c.shares);
	mem_count_add(&m->count, (struct mem_count){c.objects, c.samples, 0});
	mem_sum_add(&m->sum, scale, c.samples);
}

/* Room for one more in an array of *cap entries. False: no memory. */
static bool make_room(void **array, uint32_t used, uint32_t *cap, size_t bytes)
{
	if (used < *cap)
		return true;
	size_t grown = *cap ? (size_t)*cap * 2 : 4;
	void *to = grown <= UINT32_MAX ? realloc(*array, grown * bytes) : NULL;
	if (!to)
		return false;
	*array = to;
	*cap = (uint32_t)grown;
	return true;
}

/* 1 or 0, or -ENOMEM. */
static int is_wrapper(struct mem_sites *t, uint32_t name)
{
	uint64_t *known = name ? map_put(&t->wrapping, name) : NULL;
	if (!known)
		return name ? -ENOMEM : 0;
	if (!*known)
		*known = mem_wrappers_has(&t->wrappers, strings_text(t->session->strings, name))
				 ? 2
				 : 1;
	return *known == 2;
}

/* Chooses the function of a frame: the innermost that is no wrapper, or the innermost. 0 or
 * -ENOMEM. */
static int choose_inlined(struct mem_sites *t, const struct frame *f, struct mem_frame *ret)
{
	for (uint32_t i = f->count; i-- > 0;) {
		int wraps = is_wrapper(t, f->position[i].function);
		if (wraps < 0)
			return wraps;
		ret->inlined = (uint8_t)i;
		if (!wraps)
			return 0;
	}
	ret->inlined = (uint8_t)(f->count - 1);
	ret->is_wrapper = true;
	return 0;
}

/* A number of the function at a position, from 1; 0: no memory. */
static uint32_t function_of(struct mem_sites *t, uint32_t id, const struct frame_position *p)
{
	bool named = p && p->function;
	/* Ids of strings have less than 32 bits, so no name has the key of a frame. */
	uint64_t key = named ? (uint64_t)p->function << 32 | p->file : UINT64_C(1) << 63 | id;
	uint64_t *number = map_put(&t->by_name, key);
	if (!number)
		return 0;
	if (*number)
		return (uint32_t)*number;
	if (!make_room((void **)&t->function, t->functions, &t->function_cap, sizeof(*t->function)))
		return 0;
	t->function[t->functions++] = (struct mem_function){
		.name = named ? p->function : 0,
		.file = p ? p->file : 0,
		.frame = named ? 0 : id,
	};
	*number = t->functions;
	return (uint32_t)*number;
}

static bool same_position(const struct mem_position *a, const struct mem_position *b)
{
	return a->line == b->line && a->start_char == b->start_char && a->end_char == b->end_char &&
	       a->has_line == b->has_line && a->has_chars == b->has_chars;
}

/* A number of a position in its function, from 1; 0: no memory. */
static uint32_t position_of(struct mem_function *fn, const struct frame_position *p)
{
	struct mem_position at = {0};
	if (p) {
		/* A trace has zeros where a number is not known. */
		at = (struct mem_position){.line = p->line,
					   .start_char = p->start_char,
					   .end_char = p->end_char,
					   .has_line = p->has_line && p->line,
					   .has_chars = p->has_chars && p->end_char};
	}
	for (uint32_t i = 0; i < fn->positions; i++)
		if (same_position(&fn->position[i], &at))
			return i + 1;
	if (!make_room((void **)&fn->position, fn->positions, &fn->position_cap,
		       sizeof(*fn->position)))
		return 0;
	fn->position[fn->positions++] = at;
	return fn->positions;
}

/* The entry of a frame with its function. NULL: no memory. */
static struct mem_frame *look_up(struct mem_sites *t, uint32_t id)
{
	if (id >= t->frames) {
		size_t count = (size_t)id + id / 2 + 64;
		struct mem_frame *grown =
			count <= UINT32_MAX ? realloc(t->frame, count * sizeof(*grown)) : NULL;
		if (!grown)
			return NULL;
		memset(grown + t->frames, 0, (count - t->frames) * sizeof(*grown));
		t->frame = grown;
		t->frames = (uint32_t)count;
	}
	struct mem_frame *e = &t->frame[id];
	if (!e->function) {
		const struct frame *f = id ? frames_get(t->session->frames, id) : NULL;
		e->resolved = f && f->count;
		if (e->resolved && choose_inlined(t, f, e))
			return NULL;
		e->function = function_of(t, id, e->resolved ? &f->position[e->inlined] : NULL);
	}
	return e->function ? e : NULL;
}

/* Puts the frame outside of an unresolved one in its place. */
static bool resolve(struct mem_sites *t, size_t n)
{
	uint32_t outer = 0, unresolved = 0;
	for (size_t i = 0; i < n; i++) {
		const struct mem_frame *e = look_up(t, t->stack[i]);
		if (!e)
			return false;
		if (e->resolved) {
			outer = t->stack[i];
			unresolved = 0;
		} else if (outer && unresolved++ < UNRESOLVED_MAX) {
			t->stack[i] = outer;
		}
	}
	return true;
}

/* The number of frames without the innermost ones that are wrappers. */
static size_t without_wrappers(const struct mem_sites *t, size_t n)
{
	size_t rest = n;
	while (rest && t->frame[t->stack[rest - 1]].is_wrapper)
		rest--;
	return rest ? rest : n;
}

/* Reads the frames of a stack into t->stack, without wrappers. Returns their number, at least 1: a
 * stack without frames has frame 0. 0: no memory. */
static size_t read_stack(struct mem_sites *t, uint32_t stack)
{
	for (;;) {
		size_t n = stacks_frames(t->session->stacks, stack, t->stack, t->stack_cap);
		if (n <= t->stack_cap && t->stack_cap) {
			if (!n)
				t->stack[0] = 0;
			n = n ? n : 1;
			return resolve(t, n) ? without_wrappers(t, n) : 0;
		}
		size_t cap = n + n / 2 + 64;
		uint32_t *grown = realloc(t->stack, cap * sizeof(*grown));
		if (!grown)
			return 0;
		t->stack = grown;
		t->stack_cap = cap;
	}
}

uint32_t mem_sites_site(struct mem_sites *t, uint32_t stack)
{
	size_t n = read_stack(t, stack);
	return n ? t->frame[t->stack[n - 1]].function - 1 : UINT32_MAX;
}

static int count_row(struct mem_sites *t, const struct mem_process *p, uint32_t row,
		     struct mem_count c)
{
	size_t n = read_stack(t, p->row[row].stack);
	struct mem_frame *inner = n ? look_up(t, t->stack[n - 1]) : NULL;
	if (!inner)
		return -ENOMEM;
	struct mem_function *fn = &t->function[inner->function - 1];
	if (!inner->position) {
		const struct frame *f =
			inner->resolved ? frames_get(t->session->frames, t->stack[n - 1]) : NULL;
		inner->position = position_of(fn, f ? &f->position[inner->inlined] : NULL);
	}
	if (!inner->position)
		return -ENOMEM;
	measure_add(&t->all, &p->scale, c);
	measure_add(&fn->self, &p->scale, c);
	measure_add(&fn->position[inner->position - 1].measure, &p->scale, c);
	measure_add(&fn->total, &p->scale, c);
	uint32_t self = inner->function - 1, number = ++t->number;
	for (size_t i = n - 1; i-- > 0;) {
		const struct mem_frame *e = look_up(t, t->stack[i]);
		if (!e)
			return -ENOMEM;
		fn = &t->function[e->function - 1];
		if (fn->seen == number)
			continue;
		fn->seen = number;
		measure_add(&fn->above, &p->scale, c);
		if (e->function - 1 != self)
			measure_add(&fn->total, &p->scale, c);
	}
	return 0;
}

/* What a function is sorted by. */
struct sort_key {
	double bytes;
	uint32_t index;
};

static int compare_keys(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int compare_measures(const struct mem_measure *x, const struct mem_measure *y)
{
	double a = mem_sum_bytes(&x->sum), b = mem_sum_bytes(&y->sum);
	return a < b ? 1 : a > b ? -1 : 0;
}

static int compare_positions(const void *a, const void *b)
{
	const struct mem_position *x = a, *y = b;
	int order = compare_measures(&x->measure, &y->measure);
	if (order)
		return order;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->start_char < y->start_char ? -1 : x->start_char > y->start_char;
}

static int compare_callers(const void *a, const void *b)
{
	const struct mem_caller *x = a, *y = b;
	int order = compare_measures(&x->measure, &y->measure);
	return order ? order : x->function < y->function ? -1 : x->function > y->function;
}

/* The indices of all functions, those with the most bytes first; NULL: no memory. */
static uint32_t *sorted(const struct mem_sites *t, bool by_total)
{
	struct sort_key *key = calloc((size_t)t->functions + 1, sizeof(*key));
	uint32_t *index = calloc((size_t)t->functions + 1, sizeof(*index));
	if (!key || !index) {
		free(key);
		free(index);
		return NULL;
	}
	for (uint32_t i = 0; i < t->functions; i++) {
		const struct mem_function *f = &t->function[i];
		key[i] = (struct sort_key){mem_sum_bytes(by_total ? &f->total.sum : &f->self.sum),
					   i};
	}
	qsort(key, t->functions, sizeof(*key), compare_keys);
	for (uint32_t i = 0; i < t->functions; i++)
		index[i] = key[i].index;
	free(key);
	return index;
}

int mem_sites_make(struct mem_sites *t, const struct mem_process *first, mem_pick *pick)
{
	for (const struct mem_process *p = first; p; p = p->next) {
		/* No sample is not the same as nothing. */
		mem_sum_add(&t->all.sum, &p->scale, 0);
		for (uint32_t row = 1; row <= p->rows; row++) {
			struct mem_count c = pick(p, row);
			int err = c.objects ? count_row(t, p, row, c) : 0;
			if (err)
				return err;
		}
	}
	for (uint32_t i = 0; i < t->functions; i++) {
		struct mem_function *f = &t->function[i];
		if (f->positions)
			qsort(f->position, f->positions, sizeof(*f->position), compare_positions);
	}
	t->by_self = sorted(t, false);
	t->by_total = sorted(t, true);
	return t->by_self && t->by_total ? 0 : -ENOMEM;
}

/* Counts a row for each function above its site. */
static int count_callers(struct mem_sites *t, struct map *pairs, const struct mem_process *p,
			 uint32_t row, struct mem_count c)
{
	size_t n = read_stack(t, p->row[row].stack);
	if (!n)
		return -ENOMEM;
	uint32_t site = t->frame[t->stack[n - 1]].function - 1, number = ++t->number;
	struct mem_function *fn = &t->function[site];
	for (size_t i = n - 1; i-- > 0 && fn->wants_callers;) {
		uint32_t above = t->frame[t->stack[i]].function - 1;
		if (t->function[above].seen == number)
			continue;
		t->function[above].seen = number;
		uint64_t *at = map_put(pairs, (uint64_t)site << 32 | above);
		if (!at)
			return -ENOMEM;
		if (!*at) {
			if (!make_room((void **)&fn->caller, fn->callers, &fn->caller_cap,
				       sizeof(*fn->caller)))
				return -ENOMEM;
			fn->caller[fn->callers++] = (struct mem_caller){.function = above};
			*at = fn->callers;
		}
		measure_add(&fn->caller[*at - 1].measure, &p->scale, c);
	}
	return 0;
}

int mem_sites_callers(struct mem_sites *t, const struct mem_process *first, mem_pick *pick,
		      uint32_t count)
{
	struct map pairs = {0};
	int err = 0;
	for (uint32_t i = 0; i < count && i < t->functions; i++)
		t->function[t->by_self[i]].wants_callers = true;
	for (const struct mem_process *p = first; p; p = p->next)
		for (uint32_t row = 1; row <= p->rows && !err; row++) {
			struct mem_count c = pick(p, row);
			err = c.objects ? count_callers(t, &pairs, p, row, c) : 0;
		}
	for (uint32_t i = 0; i < count && i < t->functions; i++) {
		struct mem_function *f = &t->function[t->by_self[i]];
		if (f->callers)
			qsort(f->caller, f->callers, sizeof(*f->caller), compare_callers);
	}
	map_done(&pairs);
	return err;
}
