/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "report/flame_svg.h"
#include "report/mem/format.h"
#include "report/mem/model/flame.h"

#define PATH_BYTES  4096 /* at first */
#define TITLE_BYTES 256

/* A name as an element of a path: no ";", no end of a line. */
static void put_element(struct buf *path, const char *name)
{
	size_t left = strlen(name), at = path->len;
	while (left) {
		size_t n = utf8_plain(name, left);
		buf_put(path, name, n);
		if (n < left) {
			buf_puts(path, "?");
			n++;
		}
		name += n;
		left -= n;
	}
	for (; at < path->len; at++)
		if (path->data[at] == ';')
			path->data[at] = ':';
}

/* The names of the nodes from a root to the one that is being written. */
struct path {
	struct buf text;
	struct buf starts; /* size_t: where each name begins */
	size_t depth;
};

static void path_push(struct path *p, const char *name)
{
	buf_put(&p->starts, &p->text.len, sizeof(p->text.len));
	if (p->text.len)
		buf_puts(&p->text, ";");
	put_element(&p->text, name);
	p->depth++;
}

static void path_pop(struct path *p)
{
	p->depth--;
	p->starts.len -= sizeof(p->text.len);
	memcpy(&p->text.len, p->starts.data + p->starts.len, sizeof(p->text.len));
}

/* Writes the lines of a tree below what is in the path. Returns the samples of paths that are left
 * out. */
static uint64_t put_tree(struct buf *b, const struct frame_tree *t, uint32_t root,
			 struct path *path)
{
	uint64_t left_out = t->node[root].self;
	size_t first = path->depth;
	for (uint32_t n = root; !path->text.err && !path->starts.err;) {
		if (t->node[n].child) {
			n = t->node[n].child;
		} else {
			for (; n != root && !t->node[n].next; n = t->node[n].parent)
				path_pop(path);
			if (n == root)
				break;
			path_pop(path);
			n = t->node[n].next;
		}
		path_push(path, frame_tree_name(t, n));
		uint64_t samples = t->node[n].self;
		if (samples && path->depth == first + 1) {
			left_out += samples;
		} else if (samples) {
			buf_put(b, path->text.data, path->text.len);
			report_print(b, " %" PRIu64 "\n", samples);
		}
	}
	return left_out;
}

static void report_left_out(const struct messages *messages, const char *sample, uint64_t samples)
{
	if (samples)
		messages_at(messages, LOG_NORMAL,
			    "%" PRIu64 " %s%s left out, with one function or none in the "
			    "backtrace, which this format does not show",
			    samples, sample, plural_of(samples, " is", "s are"));
}

static int put_folded(struct buf *b, const struct mem_flame *f, const char *sample,
		      const struct messages *messages)
{
	struct path path = {0};
	uint64_t left_out = 0;
	int err = buf_init(&path.text, -1, PATH_BYTES);
	if (err)
		return err;
	err = buf_init(&path.starts, -1, PATH_BYTES);
	for (uint32_t i = 0; i < f->programs && !err; i++) {
		if (f->programs > 1)
			path_push(&path, f->program[i].name);
		left_out += put_tree(b, &f->tree, f->program[i].root, &path);
		if (f->programs > 1)
			path_pop(&path);
		err = path.text.err ? path.text.err : path.starts.err;
	}
	buf_done(&path.text);
	buf_done(&path.starts);
	if (!err)
		report_left_out(messages, sample, left_out);
	return err;
}

int mem_flame_folded(struct buf *b, const struct mem_view *v)
{
	struct mem_flame flame;
	int err = mem_flame_make(&flame, v->model, mem_pick_alloc);
	if (!err)
		err = put_folded(b, &flame, mem_sample_name(v), &v->session->messages);
	mem_flame_done(&flame);
	return err;
}

/* Exact intervals need a search, so those of the numbers that many frames have are kept. */
struct amounts {
	const struct mem_flame *flame;
	const char *sample;
	struct mem_amount (*few)[MEM_EXACT_SAMPLES + 1]; /* of each program; high 0: not known */
};

static struct mem_amount amount_of(const struct amounts *a, size_t program, uint64_t samples)
{
	const struct mem_scale *scale = &a->flame->program[program].scale;
	struct mem_amount other = {0}, *amount = samples <= MEM_EXACT_SAMPLES
							 ? &a->few[program][samples]
							 : &other;
	if (!(amount->high > 0 || isnan(amount->high)))
		*amount = mem_scale_amount(scale, samples);
	return *amount;
}

static void put_value(void *ctx, size_t part, uint64_t samples, struct buf *b)
{
	const struct amounts *a = ctx;
	struct mem_amount amount = amount_of(a, part, samples);
	report_print(b, "%s (%s), %" PRIu64 " %s%s", report_bytes_text(amount.bytes).text,
		     mem_interval_text(&amount).text, samples, a->sample, plural(samples));
}

static int put_svg(struct buf *b, const struct mem_flame *flame, const char *lines,
		   const char *sample)
{
	char title[TITLE_BYTES];
	struct amounts amounts = {flame, sample, calloc(flame->programs + 1, sizeof(*amounts.few))};
	struct flame_part *part = calloc(flame->programs + 1, sizeof(*part));
	int err = -ENOMEM;
	snprintf(title, sizeof(title), "Memory allocated by %s",
		 flame->programs == 1 ? flame->program->name : "several programs");
	struct flame_svg svg = {
		.title = title,
		.lines = lines,
		.legend = "Width: bytes allocated by a function and by what it calls. "
			  "Colour: module.",
		.unit = "bytes",
		.tree = &flame->tree,
		.part = part,
		.parts = flame->programs,
		.put_value = put_value,
		.ctx = &amounts,
	};
	if (part && amounts.few) {
		for (uint32_t i = 0; i < flame->programs; i++) {
			const struct mem_flame_program *p = &flame->program[i];
			part[i] = (struct flame_part){p->name, p->root,
						      mem_scale_bytes(&p->scale, 1)};
		}
		err = flame_svg_put(b, &svg);
	}
	free(part);
	free(amounts.few);
	return err;
}

static void put_total(struct buf *b, const struct mem_flame *flame)
{
	struct mem_sum sum = {0};
	for (uint32_t i = 0; i < flame->programs; i++) {
		const struct mem_flame_program *p = &flame->program[i];
		mem_sum_add(&sum, &p->scale, flame->tree.node[p->root].total);
	}
	struct mem_amount all = mem_sum_amount(&sum);
	report_print(b, "%s allocated (%s)\n", report_bytes_text(all.bytes).text,
		     mem_interval_text(&all).text);
}

int mem_flame_svg(struct buf *b, const struct mem_view *v)
{
	struct mem_flame flame;
	struct buf lines;
	int err = mem_flame_make(&flame, v->model, mem_pick_alloc);
	if (!err)
		err = buf_init(&lines, -1, TITLE_BYTES);
	if (!err) {
		if (mem_put_head(&lines, v))
			put_total(&lines, &flame);
		err = put_svg(b, &flame, buf_str(&lines), mem_sample_name(v));
		buf_done(&lines);
	}
	mem_flame_done(&flame);
	return err;
}
