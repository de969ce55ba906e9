/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/model/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_NAME "program without a name"

static const char *name_of(const struct session *s, const struct mem_process *p)
{
	const char *path = strings_text(s->strings, p->executable);
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash && slash[1] ? slash + 1 : path && *path ? path : p->comm;
	return *name ? name : NO_NAME;
}

struct named {
	const char *name;
	const struct mem_process *process;
};

static int by_program(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	const struct mem_scale *sx = &x->process->scale, *sy = &y->process->scale;
	int order = strcmp(x->name, y->name);
	if (!order)
		order = sx->rate < sy->rate ? -1 : sx->rate > sy->rate;
	if (!order)
		order = sx->word_bytes < sy->word_bytes ? -1 : sx->word_bytes > sy->word_bytes;
	if (!order)
		order = sx->weighted - sy->weighted;
	if (!order)
		order = (int)sx->doubt - (int)sy->doubt;
	if (!order)
		order = x->process->is_of_memtrace - y->process->is_of_memtrace;
	return order;
}

/* Adds the tree of n processes of one program. */
static int add_program(struct mem_flame *f, const struct named *of, size_t n, mem_pick *pick)
{
	size_t rows = 0, used = 0;
	for (size_t i = 0; i < n; i++)
		rows += of[i].process->rows;
	struct frame_tree_value *value = calloc(rows + 1, sizeof(*value));
	struct mem_flame_program *p = &f->program[f->programs];
	*p = (struct mem_flame_program){.name = of->name, .scale = of->process->scale};
	if (!value)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (uint32_t row = 1; row <= of[i].process->rows; row++) {
			uint64_t samples = pick(of[i].process, row).samples;
			if (samples)
				value[used++] = (struct frame_tree_value){
					of[i].process->row[row].stack, samples};
		}
	/* As memtrace's own flame graph, which has functions alone. */
	f->tree.without_addresses = of->process->is_of_memtrace;
	int err = frame_tree_add(&f->tree, value, used, &p->root);
	f->programs += !err;
	free(value);
	return err;
}

static int add_programs(struct mem_flame *f, struct named *process, size_t n, mem_pick *pick)
{
	int err = 0;
	qsort(process, n, sizeof(*process), by_program);
	for (size_t i = 0, end; i < n && !err; i = end) {
		for (end = i + 1; end < n && !by_program(&process[i], &process[end]);)
			end++;
		err = add_program(f, &process[i], end - i, pick);
	}
	return err ? err : frame_tree_sort(&f->tree);
}

int mem_flame_make(struct mem_flame *f, const struct mem_model *m, mem_pick *pick)
{
	size_t n = 0;
	*f = (struct mem_flame){0};
	for (const struct mem_process *p = m->first; p; p = p->next)
		n++;
	struct named *process = calloc(n + 1, sizeof(*process));
	f->program = calloc(n + 1, sizeof(*f->program));
	int err = process && f->program ? frame_tree_init(&f->tree, m->session) : -ENOMEM;
	if (!err) {
		n = 0;
		for (const struct mem_process *p = m->first; p; p = p->next)
			process[n++] = (struct named){name_of(m->session, p), p};
		err = add_programs(f, process, n, pick);
	}
	free(process);
	return err;
}

void mem_flame_done(struct mem_flame *f)
{
	frame_tree_done(&f->tree);
	free(f->program);
}
