/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/profile/model/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int profile_diff_init(struct profile_diff *d)
{
	*d = (struct profile_diff){0};
	int err = strings_new(&d->strings);
	return err ? err : frame_tree_init_named(&d->tree, d->strings);
}

void profile_diff_done(struct profile_diff *d)
{
	frame_tree_done(&d->tree);
	free(d->section);
	free(d->function);
	free(d->node);
	map_done(&d->function_of);
	strings_free(d->strings);
	*d = (struct profile_diff){0};
}

/* 0: no memory. */
static uint32_t put_text(struct profile_diff *d, const char *text)
{
	return strings_put(d->strings, text, strlen(text));
}

static void add_pair(struct profile_pair *to, unsigned side, uint64_t samples)
{
	to->of[side] += samples;
}

/* ---- the tree ---- */

/* What a node has of both sides. NULL: no memory. */
static struct profile_diff_node *sides_of(struct profile_diff *d, uint32_t node)
{
	return array_room(d->node, d->node_room, node) ? &d->node[node] : NULL;
}

static int add_node_values(struct profile_diff *d, unsigned side, const struct frame_tree *t,
			   uint32_t from, uint32_t to)
{
	const struct frame_tree_node *n = &t->node[from];
	const char *file = n->file ? strings_text(t->strings, n->file) : NULL;
	struct frame_tree_node *mine = &d->tree.node[to];
	struct profile_diff_node *sides = sides_of(d, to);
	if (!sides)
		return -ENOMEM;
	add_pair(&sides->self, side, n->self);
	add_pair(&sides->total, side, n->total);
	if (!file)
		return 0;
	mine->file = put_text(d, file);
	mine->has_line = n->has_line;
	mine->line = n->line;
	mine->more_positions |= n->more_positions;
	return mine->file ? 0 : -ENOMEM;
}

/* Adds the tree of a section. `to` has room for a number of each of its nodes. */
static int add_tree(struct profile_diff *d, unsigned side, const struct frame_tree *t,
		    uint32_t root, uint32_t to_root, uint32_t *to)
{
	to[root] = to_root;
	int err = add_node_values(d, side, t, root, to_root);
	for (uint32_t n = root; !err && (n = frame_tree_next(t, root, n));) {
		uint32_t name = put_text(d, frame_tree_name(t, n));
		to[n] = name ? frame_tree_child(&d->tree, to[t->node[n].parent], name) : 0;
		err = to[n] ? add_node_values(d, side, t, n, to[n]) : -ENOMEM;
	}
	return err;
}

/* ---- sides ---- */

/* The section of a name. UINT32_MAX: no memory. */
static uint32_t section_of(struct profile_diff *d, const char *name)
{
	uint32_t i = 0;
	while (i < d->sections && strcmp(d->section[i].name, name) != 0)
		i++;
	if (i < d->sections)
		return i;
	uint32_t root = frame_tree_root(&d->tree);
	if (!root || !array_reserve(d->section, d->section_room, d->sections))
		return UINT32_MAX;
	d->section[i] = (struct profile_diff_section){.root = root};
	memcpy(d->section[i].name, name, PROFILE_NAME_BYTES);
	return d->sections++;
}

/* NULL: no memory. */
static struct profile_diff_function *function_of(struct profile_diff *d, uint32_t section,
						 const char *text)
{
	uint32_t name = put_text(d, text);
	uint64_t key = (uint64_t)section << 32 | name;
	uint64_t *known = name ? map_put(&d->function_of, key) : NULL;
	if (!known || *known)
		return known ? &d->function[*known - 1] : NULL;
	if (!array_reserve(d->function, d->function_room, d->functions)) {
		map_delete(&d->function_of, key);
		return NULL;
	}
	d->function[d->functions++] =
		(struct profile_diff_function){.section = section, .name = name};
	*known = d->functions;
	return &d->function[d->functions - 1];
}

static int add_function(struct profile_diff *d, unsigned side, uint32_t section,
			const struct profile_function *from)
{
	struct profile_diff_function *f = function_of(d, section, from->name);
	if (!f)
		return -ENOMEM;
	add_pair(&f->self, side, from->self);
	add_pair(&f->total, side, from->total);
	if (!from->file)
		return 0;
	f->file = put_text(d, from->file);
	f->line = from->line;
	return f->file ? 0 : -ENOMEM;
}

static int add_section(struct profile_diff *d, unsigned side, const struct profile_sections *s,
		       const struct profile_section *from, uint32_t *nodes)
{
	struct profile_function *f = NULL;
	uint32_t count = 0, section = section_of(d, from->name);
	if (section == UINT32_MAX)
		return -ENOMEM;
	struct profile_diff_section *to = &d->section[section];
	add_pair(&to->samples, side, from->samples);
	int err = add_tree(d, side, &s->tree, from->root, to->root, nodes);
	if (!err)
		err = profile_functions(s, from, &f, &count);
	for (uint32_t i = 0; i < count && !err; i++)
		err = add_function(d, side, section, &f[i]);
	free(f);
	return err;
}

int profile_diff_add(struct profile_diff *d, unsigned side, const struct profile_sections *s,
		     const struct profile_model *m, uint64_t elapsed_ns)
{
	struct profile_side *of = &d->side[side];
	uint32_t *nodes = calloc(s->tree.nodes + 1ull, sizeof(*nodes));
	int err = nodes ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < s->count && !err; i++)
		err = add_section(d, side, s, &s->section[i], nodes);
	free(nodes);
	of->elapsed_ns = elapsed_ns;
	of->samples = m->samples;
	of->time_ns = m->time_ns;
	of->period_ns = m->period_ns;
	memcpy(of->ends, m->ends, sizeof(of->ends));
	of->has_cpu = profile_cpu_ns(m, &of->cpu_ns);
	of->totals = session_run_totals(m->session);
	if (!m->rows || err)
		return err;
	of->program = put_text(d, m->process[m->context[m->row[0].context].process].comm);
	return of->program ? 0 : -ENOMEM;
}

/* ---- both ---- */

struct profile_difference profile_diff_of(const struct profile_diff *d,
					  const struct profile_pair *samples)
{
	struct profile_difference r;
	for (unsigned i = 0; i < PROFILE_SIDES; i++)
		r.value[i] = proportion_of(samples->of[i], d->side[i].samples);
	const struct proportion *a = &r.value[PROFILE_BEFORE], *b = &r.value[PROFILE_AFTER];
	r.change = b->percent - a->percent;
	r.low = r.change - hypot(b->percent - b->low, a->high - a->percent);
	r.high = r.change + hypot(b->high - b->percent, a->percent - a->low);
	r.is_noise = r.low <= 0 && r.high >= 0;
	return r;
}

/* Samples of a side count as often as the other side has some: exact, and of one scale. */
static uint64_t weight_of(const struct profile_diff *d, const struct profile_pair *p)
{
	uint64_t sum = 0, one;
	for (unsigned i = 0; i < PROFILE_SIDES; i++) {
		uint64_t of_other = d->side[!i].samples;
		if (__builtin_mul_overflow(p->of[i], of_other ? of_other : 1, &one) ||
		    __builtin_add_overflow(sum, one, &sum))
			return UINT64_MAX;
	}
	return sum;
}

static int finish_tree(struct profile_diff *d)
{
	struct frame_tree *t = &d->tree;
	/* The last node has been added with its sides, and so the others have memory for theirs. */
	for (uint32_t i = 1; i < t->nodes; i++)
		t->node[i].self = weight_of(d, &d->node[i].self);
	return frame_tree_sort(t);
}

/* By the change, then by the name, so that the order is that of no hash table. */
static int compare_functions(const void *x, const void *y, void *ctx)
{
	const struct profile_diff_function *a = x, *b = y;
	const struct profile_diff *d = ctx;
	if (a->section != b->section)
		return a->section < b->section ? -1 : 1;
	double p = fabs(profile_diff_of(d, &a->self).change);
	double q = fabs(profile_diff_of(d, &b->self).change);
	if (p != q)
		return p < q ? 1 : -1;
	p = fabs(profile_diff_of(d, &a->total).change);
	q = fabs(profile_diff_of(d, &b->total).change);
	if (p != q)
		return p < q ? 1 : -1;
	return strcmp(strings_text(d->strings, a->name), strings_text(d->strings, b->name));
}

static int compare_sections(const void *x, const void *y, void *ctx)
{
	const struct profile_diff_section *a = x, *b = y;
	uint64_t p = weight_of(ctx, &a->samples), q = weight_of(ctx, &b->samples);
	if (p != q)
		return p < q ? 1 : -1;
	return strcmp(a->name, b->name);
}

int profile_diff_finish(struct profile_diff *d)
{
	if (d->functions)
		qsort_r(d->function, d->functions, sizeof(*d->function), compare_functions, d);
	for (uint32_t i = d->functions; i-- > 0;) {
		d->section[d->function[i].section].first = i;
		d->section[d->function[i].section].count++;
	}
	if (d->sections)
		qsort_r(d->section, d->sections, sizeof(*d->section), compare_sections, d);
	d->weight_of_all = 0;
	for (uint32_t i = 0; i < d->sections; i++)
		d->weight_of_all += (double)weight_of(d, &d->section[i].samples);
	return finish_tree(d);
}
