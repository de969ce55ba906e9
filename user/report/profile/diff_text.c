/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/profile/diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "report/text.h"
#include "stream/loss.h"

int profile_diff_before(struct buf *b, const struct profile_view *v)
{
	(void)b;
	return profile_diff_add(v->opt.diff, PROFILE_BEFORE, v->sections, v->model, v->elapsed_ns);
}

static void put_side(struct buf *b, const struct profile_diff *d, unsigned side, const char *title)
{
	const struct profile_side *s = &d->side[side];
	const char *program = strings_text(d->strings, s->program);
	char lost[LOSS_TEXT_BYTES];
	report_print(b, "%s: ", title);
	buf_put_plain(b, program && *program ? program
			 : s->samples	     ? "program without a name"
					     : "no program");
	report_print(b, ", %" PRIu64 " sample%s in %s", s->samples, plural(s->samples),
		     report_ns_text((double)s->elapsed_ns).text);
	if (s->period_ns)
		report_print(b, ", at %.0f Hz: %s of CPU time", 1e9 / (double)s->period_ns,
			     report_ns_text((double)s->time_ns).text);
	if (s->samples)
		report_print(b, "; %.1f %% of the stacks whole",
			     report_percent((double)s->ends[EBT_SAMPLE_WHOLE], (double)s->samples));
	buf_puts(b, "\n");
	if (loss_hides_events(&s->totals))
		report_print(b, "  Not all is counted: %s\n", loss_text(&s->totals, lost));
	if (s->totals.damaged)
		report_print(b,
			     "  Not all is counted: %" PRIu64 " place%s of the input %s damaged\n",
			     s->totals.damaged, plural(s->totals.damaged),
			     plural_of(s->totals.damaged, "is", "are"));
}

/* Before, after and the change, in columns. */
static void put_shares(struct buf *b, const struct profile_difference *n)
{
	report_print(b, "%6.2f %%  %6.2f %%  %+7.2f %%", n->value[PROFILE_BEFORE].percent,
		     n->value[PROFILE_AFTER].percent, n->change);
}

static void put_self(struct buf *b, const struct profile_difference *n)
{
	char ratio[32] = "-", interval[48];
	double before = n->value[PROFILE_BEFORE].percent, after = n->value[PROFILE_AFTER].percent;
	if (before > 0)
		snprintf(ratio, sizeof(ratio), "%.2f", after / before);
	snprintf(interval, sizeof(interval), "%+.2f %% to %+.2f %%", n->low, n->high);
	put_shares(b, n);
	report_print(b, "  %22s  %6s  %-5s ", interval, ratio, n->is_noise ? "noise" : "");
}

static void put_function(struct buf *b, const struct profile_diff *d,
			 const struct profile_diff_function *f)
{
	struct profile_difference self = profile_diff_of(d, &f->self);
	struct profile_difference total = profile_diff_of(d, &f->total);
	const char *file = strings_text(d->strings, f->file);
	put_self(b, &self);
	put_shares(b, &total);
	buf_puts(b, !f->total.of[PROFILE_BEFORE]  ? "  new   "
		    : !f->total.of[PROFILE_AFTER] ? "  gone  "
						  : "        ");
	buf_put_plain(b, strings_text(d->strings, f->name));
	if (file) {
		const char *slash = strrchr(file, '/');
		buf_puts(b, " (");
		buf_put_plain(b, slash && slash[1] ? slash + 1 : file);
		if (f->line)
			report_print(b, ":%" PRIu32, f->line);
		buf_puts(b, ")");
	}
	buf_puts(b, "\n");
}

static void put_heads(struct buf *b)
{
	report_print(b, "%-69s%s\n", "    SELF", "   TOTAL");
	report_print(b, "%8s  %8s  %9s  %22s  %6s  %5s ", "before", "after", "change",
		     "95 % interval", "ratio", "");
	report_print(b, "%8s  %8s  %9s        FUNCTION\n", "before", "after", "change");
}

static void put_section(struct buf *b, const struct profile_diff *d,
			const struct profile_diff_section *s, uint32_t top)
{
	struct profile_difference n = profile_diff_of(d, &s->samples);
	buf_puts(b, "\n");
	buf_put_plain(b, s->name);
	report_print(b, ": %.2f %% before, %.2f %% after, change %+.2f %% (%+.2f to %+.2f)%s\n",
		     n.value[PROFILE_BEFORE].percent, n.value[PROFILE_AFTER].percent, n.change,
		     n.low, n.high, n.is_noise ? ", noise" : "");
	if (s->count)
		put_heads(b);
	for (uint32_t i = 0; i < s->count && i < top; i++)
		put_function(b, d, &d->function[s->first + i]);
	if (s->count > top)
		report_print(b, "(%" PRIu32 " more; --top N shows more)\n", s->count - top);
}

int profile_diff_text(struct buf *b, const struct profile_view *v)
{
	struct profile_diff *d = v->opt.diff;
	int err = profile_diff_add(d, PROFILE_AFTER, v->sections, v->model, v->elapsed_ns);
	if (!err)
		err = profile_diff_finish(d);
	if (err)
		return err;
	put_side(b, d, PROFILE_BEFORE, "before");
	put_side(b, d, PROFILE_AFTER, "after ");
	for (uint32_t i = 0; i < d->sections; i++)
		put_section(b, d, &d->section[i], v->opt.top ? v->opt.top : PROFILE_TOP);
	return 0;
}
