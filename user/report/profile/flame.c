/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/plural.h"
#include "report/flame_svg.h"
#include "report/folded.h"
#include "report/proportion.h"
#include "report/text.h"

int profile_folded(struct buf *b, const struct profile_view *v)
{
	struct folded out;
	const struct profile_sections *s = v->sections;
	int err = folded_init(&out, b);
	for (uint32_t i = 0; i < s->count && !err; i++) {
		const struct profile_section *of = &s->section[i];
		uint64_t bare = folded_put(&out, &s->tree, of->root, of->name, 1);
		if (bare)
			report_print(b, "%s;" PROFILE_NO_STACK " %" PRIu64 "\n", of->name, bare);
		err = folded_error(&out);
	}
	folded_done(&out);
	return err;
}

static void put_value(void *ctx, size_t part, uint64_t samples, struct buf *b)
{
	const struct profile_view *v = ctx;
	struct proportion p = proportion_of(samples, v->model->samples);
	(void)part;
	if (v->opt.time != PROFILE_ON_CPU) {
		report_print(b, "%s, %.1f %%", report_ns_text((double)samples).text,
			     report_percent((double)samples, (double)v->model->weight));
		return;
	}
	report_print(b, "%s, %.1f %% (%.1f to %.1f), %" PRIu64 " sample%s",
		     report_ns_text((double)samples * (double)v->model->period_ns).text, p.percent,
		     p.low, p.high, samples, plural(samples));
}

static int put_svg(struct buf *b, const struct profile_view *v, const char *lines)
{
	static const struct {
		const char *title, *legend;
	} of_time[] = {
		[PROFILE_ON_CPU] = {"Where threads ran", "Width: CPU time of a function and of "
							 "what it calls. Colour: module."},
		[PROFILE_OFF_CPU] = {"Where threads waited",
				     "Width: time in which a function, or what it calls, did not "
				     "run. Colour: module."},
		[PROFILE_WALL] = {"Where threads were", "Width: time of a function and of what it "
							"calls. Colour: module."},
	};
	const struct profile_sections *s = v->sections;
	bool is_time = v->opt.time != PROFILE_ON_CPU;
	struct flame_part *part = calloc(s->count + 1ull, sizeof(*part));
	if (!part)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++)
		part[i] = (struct flame_part){s->section[i].name, s->section[i].root,
					      is_time ? 1 : (double)v->model->period_ns};
	const struct flame_svg svg = {
		.title = of_time[v->opt.time].title,
		.lines = lines,
		.legend = of_time[v->opt.time].legend,
		.unit = "ns",
		.tree = &s->tree,
		.part = part,
		.parts = s->count,
		.put_value = put_value,
		.ctx = (void *)v,
	};
	int err = flame_svg_put(b, &svg);
	free(part);
	return err;
}

int profile_svg(struct buf *b, const struct profile_view *v)
{
	char lines[160];
	const struct waits *w = &v->model->waits;
	if (v->opt.time == PROFILE_ON_CPU)
		snprintf(lines, sizeof(lines), "%" PRIu64 " sample%s, %s of CPU time\n",
			 v->model->samples, plural(v->model->samples),
			 report_ns_text((double)v->model->time_ns).text);
	else
		snprintf(lines, sizeof(lines),
			 "%s of threads: %" PRIu64 " sample%s, %" PRIu64 " block%s\n",
			 report_ns_text((double)v->model->weight).text, v->model->samples,
			 plural(v->model->samples), w->blocks, plural(w->blocks));
	return put_svg(b, v, lines);
}
