/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/profile/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/plural.h"
#include "report/flame_svg.h"
#include "report/folded.h"
#include "report/text.h"

/* Of flame.css: a share grew, and by more than half of the larger one; it shrank. */
enum { GREW = 0, GREW_MUCH = 23, SHRANK = 14, SHRANK_MUCH = 15 };

static int finish(const struct profile_view *v)
{
	struct profile_diff *d = v->opt.diff;
	int err = profile_diff_add(d, PROFILE_AFTER, v->sections, v->model, v->elapsed_ns);
	return err ? err : profile_diff_finish(d);
}

/* ---- folded ---- */

/* Samples of the first side are scaled to the sum of the second, so that they compare. */
static void put_samples(void *ctx, uint32_t node, struct buf *b)
{
	const struct profile_diff *d = ctx;
	const struct profile_pair *self = &d->node[node].self;
	double before = (double)self->of[PROFILE_BEFORE];
	if (d->side[PROFILE_BEFORE].samples && d->side[PROFILE_AFTER].samples)
		before *= (double)d->side[PROFILE_AFTER].samples /
			  (double)d->side[PROFILE_BEFORE].samples;
	report_print(b, " %.0f %" PRIu64, before, self->of[PROFILE_AFTER]);
}

static int put_section(struct folded *out, struct profile_diff *d,
		       const struct profile_diff_section *s)
{
	if (folded_put(out, &d->tree, s->root, s->name, 1)) {
		report_print(out->out, "%s;" PROFILE_NO_STACK, s->name);
		put_samples(d, s->root, out->out);
		buf_puts(out->out, "\n");
	}
	return folded_error(out);
}

int profile_diff_folded(struct buf *b, const struct profile_view *v)
{
	struct profile_diff *d = v->opt.diff;
	struct folded out;
	int err = finish(v), failed = folded_init(&out, b);
	out.put_values = put_samples;
	out.ctx = d;
	err = err ? err : failed;
	for (uint32_t i = 0; i < d->sections && !err; i++)
		err = put_section(&out, d, &d->section[i]);
	folded_done(&out);
	return err;
}

/* ---- the picture ---- */

static void put_difference(const struct profile_diff *d, const struct profile_pair *samples,
			   const char *what, struct buf *b)
{
	struct profile_difference n = profile_diff_of(d, samples);
	const uint64_t *of = samples->of;
	report_print(b,
		     "%s%.2f %% before (%" PRIu64 " sample%s), %.2f %% after (%" PRIu64
		     " sample%s), change %+.2f %% (%+.2f to %+.2f)%s",
		     what, n.value[PROFILE_BEFORE].percent, of[PROFILE_BEFORE],
		     plural(of[PROFILE_BEFORE]), n.value[PROFILE_AFTER].percent, of[PROFILE_AFTER],
		     plural(of[PROFILE_AFTER]), n.change, n.low, n.high,
		     n.is_noise ? ", noise" : "");
}

static void put_node(void *ctx, uint32_t node, struct buf *b)
{
	const struct profile_diff *d = ctx;
	const struct profile_diff_node *n = &d->node[node];
	put_difference(d, &n->total, "", b);
	for (unsigned i = 0; i < PROFILE_SIDES; i++)
		if (n->self.of[i] && n->self.of[i] != n->total.of[i]) {
			put_difference(d, &n->self, "\nitself ", b);
			break;
		}
}

static void put_value(void *ctx, size_t part, uint64_t weight, struct buf *b)
{
	const struct profile_diff *d = ctx;
	(void)part;
	report_print(b, "%.2f %% of both", report_percent((double)weight, d->weight_of_all));
}

static bool colour(void *ctx, uint32_t node, unsigned *ret)
{
	const struct profile_diff *d = ctx;
	struct profile_difference n = profile_diff_of(d, &d->node[node].total);
	double larger = fmax(n.value[PROFILE_BEFORE].percent, n.value[PROFILE_AFTER].percent);
	bool is_much = fabs(n.change) > larger / 2;
	if (n.is_noise)
		return false;
	*ret = n.change > 0 ? (is_much ? GREW_MUCH : GREW) : (is_much ? SHRANK_MUCH : SHRANK);
	return true;
}

static int put_svg(struct buf *b, struct profile_diff *d, const char *lines)
{
	struct flame_part *part = calloc(d->sections + 1ull, sizeof(*part));
	if (!part)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->sections; i++)
		part[i] = (struct flame_part){d->section[i].name, d->section[i].root,
					      100 / d->weight_of_all};
	const struct flame_svg svg = {
		.title = "Where threads ran, before and after",
		.lines = lines,
		.legend = "Width: the mean of both shares. Red: the share grew; blue: it shrank; "
			  "dark: by more than half of the larger; grey: within the noise of "
			  "sampling.",
		.unit = "%",
		.tree = &d->tree,
		.part = part,
		.parts = d->sections,
		.put_value = put_value,
		.put_node = put_node,
		.colour = colour,
		.ctx = d,
	};
	int err = flame_svg_put(b, &svg);
	free(part);
	return err;
}

int profile_diff_svg(struct buf *b, const struct profile_view *v)
{
	struct profile_diff *d = v->opt.diff;
	char lines[320];
	int err = finish(v);
	if (err)
		return err;
	const struct profile_side *s = d->side;
	snprintf(lines, sizeof(lines),
		 "before: %" PRIu64 " sample%s, %s of CPU time\nafter: %" PRIu64
		 " sample%s, %s of CPU time\n",
		 s[PROFILE_BEFORE].samples, plural(s[PROFILE_BEFORE].samples),
		 report_ns_text((double)s[PROFILE_BEFORE].time_ns).text, s[PROFILE_AFTER].samples,
		 plural(s[PROFILE_AFTER].samples),
		 report_ns_text((double)s[PROFILE_AFTER].time_ns).text);
	return put_svg(b, d, lines);
}
