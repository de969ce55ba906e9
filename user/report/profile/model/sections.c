/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/profile/model/sections.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const char *profile_place_name(unsigned place)
{
	if (place_is_collector(place))
		return phases_name(place);
	return place == PLACE_MUTATOR	? "mutator"
	       : place == PLACE_SILENT	? "phase not known"
	       : place == PLACE_OUTSIDE ? "no domain"
					: "threads";
}

static void name_section(const struct profile_model *m, const struct profile_context *c,
			 unsigned place, char ret[PROFILE_NAME_BYTES])
{
	const struct profile_process *p = &m->process[c->process];
	const char *comm = *p->comm ? p->comm : "program without a name";
	switch (m->by) {
	case PROFILE_BY_DEFAULT:
		snprintf(ret, PROFILE_NAME_BYTES, "%s",
			 c->part != BLAME_CPU	     ? blame_part_text(c->part)
			 : place_is_collector(place) ? "collector"
						     : profile_place_name(place));
		break;
	case PROFILE_BY_PHASE:
		snprintf(ret, PROFILE_NAME_BYTES, "%s", profile_place_name(place));
		break;
	case PROFILE_BY_THREAD:
		snprintf(ret, PROFILE_NAME_BYTES, "thread %u of %s (%u)", c->key, comm, p->pid);
		break;
	case PROFILE_BY_DOMAIN:
		if (c->key == EBT_NO_DOMAIN)
			snprintf(ret, PROFILE_NAME_BYTES, "%s of %s (%u)",
				 place == PLACE_THREADS ? "threads" : "no domain,", comm, p->pid);
		else
			snprintf(ret, PROFILE_NAME_BYTES, "domain %u of %s (%u)", c->key, comm,
				 p->pid);
		break;
	case PROFILE_BY_PROGRAM:
		snprintf(ret, PROFILE_NAME_BYTES, "%s", comm);
		break;
	case PROFILE_BY_SPAN:
		snprintf(ret, PROFILE_NAME_BYTES, "%s", profile_spans_name(m->spans, c->key));
		break;
	}
}

/* The section of a name. UINT32_MAX: no memory. */
static uint32_t find_section(struct profile_sections *s, const char *name)
{
	uint32_t i = 0;
	while (i < s->count && strcmp(s->section[i].name, name) != 0)
		i++;
	if (i < s->count)
		return i;
	if (!array_reserve(s->section, s->room, s->count))
		return UINT32_MAX;
	s->section[s->count] = (struct profile_section){0};
	memcpy(s->section[s->count].name, name, PROFILE_NAME_BYTES);
	return s->count++;
}

static int find_sections(struct profile_sections *s, const struct profile_model *m)
{
	s->of_context = calloc(m->contexts + 1ull, sizeof(*s->of_context));
	if (!s->of_context)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->contexts; i++) {
		char name[PROFILE_NAME_BYTES] = "";
		const struct profile_context *c = &m->context[i];
		name_section(m, c, profile_place(m, c), name);
		s->of_context[i] = find_section(s, name);
		if (s->of_context[i] == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

/* The rows of a section are value[first[i]] up to before value[first[i + 1]]. */
static int add_trees(struct profile_sections *s, const struct profile_model *m,
		     struct frame_tree_value *value, size_t *first)
{
	for (uint32_t i = 0; i < m->rows; i++)
		first[s->of_context[m->row[i].context] + 2]++;
	for (uint32_t i = 0; i < s->count; i++)
		first[i + 2] += first[i + 1];
	for (uint32_t i = 0; i < m->rows; i++) {
		const struct profile_row *row = &m->row[i];
		uint32_t of = s->of_context[row->context];
		struct profile_section *section = &s->section[of];
		value[first[of + 1]++] = (struct frame_tree_value){row->stack, row->samples};
		section->samples += row->samples;
		if (place_is_collector(profile_place(m, &m->context[row->context])))
			section->collector += row->samples;
	}
	int err = 0;
	for (uint32_t i = 0; i < s->count && !err; i++)
		err = frame_tree_add(&s->tree, value + first[i], first[i + 1] - first[i],
				     &s->section[i].root);
	return err ? err : frame_tree_sort(&s->tree);
}

static int by_samples(const void *a, const void *b)
{
	const struct profile_section *x = a, *y = b;
	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return strcmp(x->name, y->name);
}

int profile_sections_make(struct profile_sections *s, const struct profile_model *m)
{
	*s = (struct profile_sections){0};
	int err = frame_tree_init(&s->tree, m->session);
	s->tree.keeps_recursion = true;
	if (!err)
		err = find_sections(s, m);
	struct frame_tree_value *value = calloc(m->rows + 1ull, sizeof(*value));
	size_t *first = calloc(s->count + 2ull, sizeof(*first));
	if (!err)
		err = value && first ? add_trees(s, m, value, first) : -ENOMEM;
	free(value);
	free(first);
	if (!err && s->count)
		qsort(s->section, s->count, sizeof(*s->section), by_samples);
	return err;
}

void profile_sections_done(struct profile_sections *s)
{
	frame_tree_done(&s->tree);
	free(s->section);
	free(s->of_context);
}

/* ---- functions ---- */

/* Whether a function is below itself. */
static bool is_inner(const struct frame_tree *t, uint32_t root, uint32_t node)
{
	for (uint32_t at = node; at != root;) {
		at = t->node[at].parent;
		if (t->node[at].label == t->node[node].label)
			return true;
	}
	return false;
}

static void count_node(const struct frame_tree *t, uint32_t root, uint32_t node,
		       struct profile_function *f)
{
	const struct strings *strings = t->session->strings;
	const struct frame_tree_node *n = &t->node[node];
	f->name = t->label[n->label].text;
	f->self += n->self;
	if (is_inner(t, root, node))
		return;
	f->total += n->total;
	if (n->total < f->heaviest)
		return;
	f->heaviest = n->total;
	f->file = n->file ? strings_text(strings, n->file) : NULL;
	f->line = n->has_line ? n->line : 0;
}

static int by_self(const void *a, const void *b)
{
	const struct profile_function *x = a, *y = b;
	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->name, y->name);
}

int profile_functions(const struct profile_sections *s, const struct profile_section *of,
		      struct profile_function **ret, uint32_t *ret_count)
{
	const struct frame_tree *t = &s->tree;
	struct profile_function *f = calloc(t->labels + 1ull, sizeof(*f));
	uint32_t count = 0;
	if (!f)
		return -ENOMEM;
	for (uint32_t n = of->root; (n = frame_tree_next(t, of->root, n));)
		count_node(t, of->root, n, &f[t->node[n].label]);
	for (uint32_t i = 0; i < t->labels; i++) {
		/* A mark of what is missing is no function. */
		if (!f[i].name || (*f[i].name == '[' && !f[i].self))
			continue;
		f[count++] = f[i];
	}
	qsort(f, count, sizeof(*f), by_self);
	*ret = f;
	*ret_count = count;
	return 0;
}
