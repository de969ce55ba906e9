/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/model/sites.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* Up to this number of unresolved frames in a row belong to the function outside of them. */
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
	free(t->path);
	mem_tree_done(&t->tree);
	map_done(&t->by_name);
	map_done(&t->wrapping);
	*t = (struct mem_sites){0};
}

static struct mem_scale scale_of(const struct mem_sites *t, const struct mem_process *p)
{
	return t->of_live ? mem_process_live_scale(p) : p->scale;
}

static void measure_add(struct mem_measure *m, const struct mem_scale *scale, struct mem_count c)
{
	m->objects += mem_scale_objects(scale, c.shares);
	mem_sum_add_count(&m->sum, scale, &c);
	uint64_t taken = scale->by_object ? c.objects - c.exact_objects : c.samples;
	if (__builtin_add_overflow(m->taken, taken, &m->taken))
		m->taken = UINT64_MAX;
	c.shares = 0;
	mem_count_add(&m->count, c);
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
	ret->is_wrapper = false;
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

static bool is_nameless(const struct mem_sites *t, const struct frame *f)
{
	return mem_wrappers_nameless(
		strings_text(t->session->strings, f->position[f->count - 1].function));
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
	if (!array_room(t->function, t->function_cap, t->functions))
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
	if (!array_room(fn->position, fn->position_cap, fn->positions))
		return 0;
	fn->position[fn->positions++] = at;
	return fn->positions;
}

/* The entry of a frame with its function. NULL: no memory. */
static struct mem_frame *look_up(struct mem_sites *t, uint32_t id)
{
	if (!array_room(t->frame, t->frames, id))
		return NULL;
	struct mem_frame *e = &t->frame[id];
	if (!e->function) {
		const struct frame *f = id ? frames_get(t->session->frames, id) : NULL;
		e->resolved = f && f->count;
		if (e->resolved && choose_inlined(t, f, e))
			return NULL;
		e->is_nameless = !e->resolved || is_nameless(t, f);
		e->function = function_of(t, id, e->resolved ? &f->position[e->inlined] : NULL);
	}
	return e->function ? e : NULL;
}

/* Finds the frame that represents a stack's innermost one. The parent of the stack is known. False:
 * no memory. */
static bool know_stack(struct mem_sites *t, uint32_t id)
{
	uint32_t parent = stacks_parent(t->session->stacks, id);
	const struct mem_stack *up = &t->stack[parent];
	struct mem_stack s = {
		.frame = stacks_frame(t->session->stacks, id),
		.outer = up->outer,
		.unresolved = up->unresolved,
		.is_known = true,
	};
	const struct mem_frame *e = look_up(t, s.frame);
	if (!e)
		return false;
	if (e->resolved) {
		s.outer = s.frame;
		s.unresolved = 0;
	} else if (s.outer && s.unresolved < UNRESOLVED_MAX) {
		s.frame = s.outer;
		s.unresolved++;
	}
	const struct mem_frame *at = &t->frame[s.frame];
	s.wraps = at->is_wrapper || (at->is_nameless && up->wraps);
	s.end = s.wraps ? up->end : id;
	t->stack[id] = s;
	return true;
}

/* Ids of stacks and frames that were not held may be others' now. */
static void forget_reclaimed(struct mem_sites *t)
{
	if (t->reclaimed == t->session->stacks->reclaimed)
		return;
	for (uint32_t i = 1; i < t->stacks; i++)
		t->stack[i].is_known = false;
	for (uint32_t i = 1; i < t->frames; i++)
		t->frame[i].function = t->frame[i].position = 0;
	t->reclaimed = t->session->stacks->reclaimed;
}

/* Looks up what a stack is, and each that it extends. False: no memory. */
static bool know(struct mem_sites *t, uint32_t stack)
{
	const struct stacks *stacks = t->session->stacks;
	uint32_t n = 0;
	for (uint32_t id = stack; id; id = stacks_parent(stacks, id)) {
		if (!array_room(t->stack, t->stacks, id) || !array_room(t->path, t->path_cap, n))
			return false;
		if (t->stack[id].is_known)
			break;
		t->path[n++] = id;
	}
	while (n--)
		if (!know_stack(t, t->path[n]))
			return false;
	return true;
}

/* The stack that ends with the site of a stack. *ret_frame: the frame. False: no memory. */
static bool find_end(struct mem_sites *t, uint32_t stack, uint32_t *ret_end, uint32_t *ret_frame)
{
	uint32_t frame = 0;
	if (stack) {
		if (!know(t, stack))
			return false;
		if (t->stack[stack].end)
			stack = t->stack[stack].end;
		frame = t->stack[stack].frame;
	}
	*ret_end = stack;
	*ret_frame = frame;
	return look_up(t, frame);
}

uint32_t mem_sites_site(struct mem_sites *t, uint32_t stack)
{
	uint32_t end, frame;
	forget_reclaimed(t);
	return find_end(t, stack, &end, &frame) ? t->frame[frame].function - 1 : UINT32_MAX;
}

typedef int visit_node(struct mem_sites *t, void *ctx, uint32_t function,
		       const struct mem_scale *scale, const struct mem_tree_node *n);

/* Counts a row for its site, and in the tree. */
static int count_row(struct mem_sites *t, const struct mem_process *p, uint32_t row,
		     struct mem_count c)
{
	uint32_t end, frame;
	if (!find_end(t, p->row[row].stack, &end, &frame))
		return -ENOMEM;
	struct mem_frame *inner = &t->frame[frame];
	struct mem_function *fn = &t->function[inner->function - 1];
	if (!inner->position) {
		const struct frame *f =
			inner->resolved ? frames_get(t->session->frames, frame) : NULL;
		inner->position = position_of(fn, f ? &f->position[inner->inlined] : NULL);
	}
	if (!inner->position)
		return -ENOMEM;
	const struct mem_scale scale = scale_of(t, p);
	measure_add(&t->all, &scale, c);
	measure_add(&fn->self, &scale, c);
	measure_add(&fn->position[inner->position - 1].measure, &scale, c);
	return mem_tree_add(&t->tree, t->session->stacks, end, c);
}

/* Visits the outermost node of each function on each path through the tree. 0 or -ENOMEM. */
static int walk(struct mem_sites *t, const struct mem_scale *scale, visit_node *visit, void *ctx)
{
	const struct mem_tree_node *node = t->tree.node;
	int err = 0;
	for (uint32_t at = t->tree.nodes ? node[0].child : 0, next; at && !err; at = next) {
		uint32_t function = t->frame[t->stack[node[at].stack].frame].function - 1;
		if (!t->function[function].on_path++)
			err = visit(t, ctx, function, scale, &node[at]);
		next = node[at].child;
		while (at && !next) {
			uint32_t frame = t->stack[node[at].stack].frame;
			t->function[t->frame[frame].function - 1].on_path--;
			next = node[at].next;
			at = node[at].parent;
		}
	}
	return err;
}

static int count_total(struct mem_sites *t, void *ctx, uint32_t function,
		       const struct mem_scale *scale, const struct mem_tree_node *n)
{
	(void)ctx;
	struct mem_function *fn = &t->function[function];
	if (n->own.objects)
		measure_add(&fn->total, scale, n->own);
	if (n->below.objects) {
		measure_add(&fn->total, scale, n->below);
		measure_add(&fn->above, scale, n->below);
	}
	return 0;
}

static int count_process(struct mem_sites *t, const struct mem_process *p, mem_pick *pick)
{
	int err = 0;
	const struct mem_scale scale = scale_of(t, p);
	/* No sample is not the same as nothing. */
	mem_sum_add(&t->all.sum, &scale, 0);
	for (uint32_t row = 1; row <= p->rows && !err; row++) {
		struct mem_count c = pick(p, row);
		err = c.objects ? count_row(t, p, row, c) : 0;
	}
	if (err)
		return err;
	mem_tree_sum(&t->tree);
	/* Allocations without a backtrace are below no function. */
	if (t->tree.nodes && t->tree.node[0].own.objects)
		measure_add(&t->function[t->frame[0].function - 1].total, &scale,
			    t->tree.node[0].own);
	err = walk(t, &scale, count_total, NULL);
	mem_tree_clear(&t->tree);
	return err;
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

/* 0 or -ENOMEM. */
static int sort_functions(struct mem_sites *t)
{
	free(t->by_self);
	free(t->by_total);
	t->by_self = sorted(t, false);
	t->by_total = sorted(t, true);
	return t->by_self && t->by_total ? 0 : -ENOMEM;
}

int mem_sites_make(struct mem_sites *t, const struct mem_process *first, mem_pick *pick)
{
	forget_reclaimed(t);
	t->of_live = pick == mem_pick_live;
	for (const struct mem_process *p = first; p; p = p->next) {
		int err = count_process(t, p, pick);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < t->functions; i++) {
		struct mem_function *f = &t->function[i];
		if (f->positions)
			qsort(f->position, f->positions, sizeof(*f->position), compare_positions);
	}
	return sort_functions(t);
}

/* Counts a function above a site. ctx: the site's index. */
static int count_caller(struct mem_sites *t, void *ctx, uint32_t function,
			const struct mem_scale *scale, const struct mem_tree_node *n)
{
	uint32_t site = *(const uint32_t *)ctx;
	struct mem_function *fn = &t->function[site], *above = &t->function[function];
	if (!n->below.objects)
		return 0;
	if (above->caller_of != site + 1) {
		if (!array_room(fn->caller, fn->caller_cap, fn->callers))
			return -ENOMEM;
		above->caller_of = site + 1;
		above->caller_at = fn->callers;
		fn->caller[fn->callers++] = (struct mem_caller){.function = function};
	}
	measure_add(&fn->caller[above->caller_at].measure, scale, n->below);
	return 0;
}

/* A row of a site with callers that are counted. */
struct site_row {
	uint32_t site, process, end;
	const struct mem_scale *scale;
	struct mem_count count;
};

static int compare_rows(const void *a, const void *b)
{
	const struct site_row *x = a, *y = b;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

struct site_rows {
	struct site_row *row;
	uint32_t rows, cap;
};

/* Adds the rows of a process that have sites with callers. 0 or -ENOMEM. */
static int add_rows(struct mem_sites *t, struct site_rows *rows, const struct mem_process *p,
		    uint32_t process, mem_pick *pick)
{
	for (uint32_t row = 1; row <= p->rows; row++) {
		struct site_row r = {.process = process, .scale = &p->scale, .count = pick(p, row)};
		uint32_t frame;
		if (!r.count.objects)
			continue;
		if (!find_end(t, p->row[row].stack, &r.end, &frame))
			return -ENOMEM;
		r.site = t->frame[frame].function - 1;
		if (!t->function[r.site].wants_callers)
			continue;
		if (!array_room(rows->row, rows->cap, rows->rows))
			return -ENOMEM;
		rows->row[rows->rows++] = r;
	}
	return 0;
}

/* Counts the callers of one site after the other, of each process apart. 0 or -ENOMEM. */
static int count_rows(struct mem_sites *t, const struct site_rows *rows)
{
	const struct site_row *r = rows->row, *end = r + rows->rows;
	while (r < end) {
		const struct site_row *first = r;
		int err = 0;
		for (; r < end && !compare_rows(r, first) && !err; r++)
			err = mem_tree_add(&t->tree, t->session->stacks, r->end, r->count);
		if (err)
			return err;
		mem_tree_sum(&t->tree);
		uint32_t site = first->site;
		err = walk(t, first->scale, count_caller, &site);
		mem_tree_clear(&t->tree);
		if (err)
			return err;
	}
	return 0;
}

static void sort_callers(struct mem_sites *t, uint32_t count)
{
	for (uint32_t i = 0; i < count && i < t->functions; i++) {
		struct mem_function *f = &t->function[t->by_self[i]];
		if (f->callers)
			qsort(f->caller, f->callers, sizeof(*f->caller), compare_callers);
	}
}

/* The next function outside of a site that is neither it nor a wrapper. `end`: the stack that ends
 * with the site. *ret: from 1; 0: there is none. False: no memory. */
static bool find_next(struct mem_sites *t, uint32_t end, uint32_t frame, uint32_t *ret)
{
	const struct stacks *stacks = t->session->stacks;
	const struct frame *f =
		t->frame[frame].resolved ? frames_get(t->session->frames, frame) : NULL;
	uint32_t site = t->frame[frame].function;
	*ret = 0;
	/* Functions that the site is inlined in have its frame. */
	for (uint32_t i = f ? t->frame[frame].inlined : 0; i-- > 0 && !*ret;) {
		const struct frame_position *p = &f->position[i];
		int wraps = is_wrapper(t, p->function);
		uint32_t function = wraps ? 0 : function_of(t, frame, p);
		if (wraps < 0 || (!wraps && !function))
			return false;
		*ret = function == site ? 0 : function;
	}
	for (uint32_t id = stacks_parent(stacks, end); id && !*ret;
	     id = stacks_parent(stacks, id)) {
		const struct mem_frame *e = &t->frame[t->stack[id].frame];
		if (!e->is_wrapper && !e->is_nameless && e->function != site)
			*ret = e->function;
	}
	return true;
}

/* Counts a row for the next function outside of its site. 0 or -ENOMEM. */
static int count_next(struct mem_sites *t, struct map *known, const struct mem_process *p,
		      uint32_t row, struct mem_count c)
{
	uint32_t end, frame, next;
	if (!find_end(t, p->row[row].stack, &end, &frame))
		return -ENOMEM;
	uint32_t site = t->frame[frame].function - 1;
	if (!t->function[site].wants_callers)
		return 0;
	if (!find_next(t, end, frame, &next))
		return -ENOMEM;
	if (!next)
		return 0;
	struct mem_function *fn = &t->function[site];
	uint64_t *number = map_put(known, (uint64_t)site << 32 | next);
	if (!number || (!*number && !array_room(fn->caller, fn->caller_cap, fn->callers)))
		return -ENOMEM;
	if (!*number) {
		fn->caller[fn->callers++] = (struct mem_caller){.function = next - 1};
		*number = fn->callers;
	}
	const struct mem_scale scale = scale_of(t, p);
	measure_add(&fn->caller[*number - 1].measure, &scale, c);
	return 0;
}

int mem_sites_next(struct mem_sites *t, const struct mem_process *first, mem_pick *pick,
		   uint32_t count)
{
	struct map known = {0};
	int err = 0;
	count = count < t->functions ? count : t->functions;
	forget_reclaimed(t);
	for (uint32_t i = 0; i < count; i++)
		t->function[t->by_self[i]].wants_callers = true;
	for (const struct mem_process *p = first; p && !err; p = p->next)
		for (uint32_t row = 1; row <= p->rows && !err; row++) {
			struct mem_count c = pick(p, row);
			err = c.objects ? count_next(t, &known, p, row, c) : 0;
		}
	map_done(&known);
	/* Functions that sites are inlined in may be new: they have no bytes, and come last. */
	if (!err)
		err = sort_functions(t);
	if (!err)
		sort_callers(t, count);
	return err;
}

int mem_sites_callers(struct mem_sites *t, const struct mem_process *first, mem_pick *pick,
		      uint32_t count)
{
	struct site_rows rows = {0};
	uint32_t process = 0;
	int err = 0;
	forget_reclaimed(t);
	for (uint32_t i = 0; i < count && i < t->functions; i++)
		t->function[t->by_self[i]].wants_callers = true;
	for (const struct mem_process *p = first; p && !err; p = p->next)
		err = add_rows(t, &rows, p, process++, pick);
	if (!err && rows.rows)
		qsort(rows.row, rows.rows, sizeof(*rows.row), compare_rows);
	if (!err)
		err = count_rows(t, &rows);
	if (!err)
		sort_callers(t, count);
	free(rows.row);
	return err;
}
