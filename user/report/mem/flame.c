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
#include "report/flame_svg.h"
#include "report/folded.h"
#include "report/mem/format.h"
#include "report/mem/model/flame.h"

#define TITLE_BYTES 256

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
	struct folded out;
	uint64_t left_out = 0;
	int err = folded_init(&out, b);
	for (uint32_t i = 0; i < f->programs && !err; i++) {
		const char *name = f->programs > 1 ? f->program[i].name : NULL;
		left_out += folded_put(&out, &f->tree, f->program[i].root, name, 2);
		err = folded_error(&out);
	}
	folded_done(&out);
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
