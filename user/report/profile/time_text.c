/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of a profile of time: blocks alone, or with samples on one scale. */
#include "report/profile/profile.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/plural.h"
#include "report/text.h"

static struct report_text time_text(uint64_t ns)
{
	return report_ns_text((double)ns);
}

const char *profile_time_name(enum profile_time time)
{
	return time == PROFILE_OFF_CPU ? "off_cpu" : time == PROFILE_WALL ? "wall" : "on_cpu";
}

/* ---- sums ---- */

static void put_samples(struct buf *b, const struct profile_model *m)
{
	report_print(b, "On a CPU: %s in %" PRIu64 " sample%s", time_text(m->time_ns).text,
		     m->samples, plural(m->samples));
	if (m->period_ns)
		report_print(b, " at %.0f Hz", 1e9 / (double)m->period_ns);
	uint64_t cpu_ns;
	if (profile_cpu_ns(m, &cpu_ns))
		report_print(b, "; by the kernel's clock %s", time_text(cpu_ns).text);
	buf_puts(b, "\n");
}

static void put_blocks(struct buf *b, const struct waits *w)
{
	report_print(b, "Off CPU: %s in %" PRIu64 " block%s", time_text(w->ns).text, w->blocks,
		     plural(w->blocks));
	if (w->blocks) {
		report_print(b, ", from %s", time_text(w->shortest_ns).text);
		report_print(b, " to %s", time_text(w->longest_ns).text);
	}
	buf_puts(b, "\n");
	if (w->open)
		report_print(b, "Not ended: %" PRIu64 " of the blocks, %s so far\n", w->open,
			     time_text(w->open_ns).text);
}

static void put_head(struct buf *b, const struct profile_view *v)
{
	static const char not_kept[] = "not kept: tracing began later, or had no room";
	const struct profile_model *m = v->model;
	report_print(b, "%s of threads in %s\n", time_text(m->weight).text,
		     time_text(v->elapsed_ns).text);
	if (m->time == PROFILE_WALL)
		put_samples(b, m);
	put_blocks(b, &m->waits);
	report_put_loss(b, v->session);
	if (m->samples)
		profile_put_ends(b, "Stacks of samples", not_kept, m->ends);
	if (m->waits.blocks)
		profile_put_ends(b, "Stacks of blocks", not_kept, m->waits.ends);
}

/* ---- what was waited for ---- */

static void put_by(struct buf *b, const struct waits_row *r)
{
	bool queued = r->part == BLAME_WAIT;
	switch (r->by) {
	case WAITS_BY_THREAD:
		buf_puts(b, queued ? ", behind " : ", woken by ");
		buf_put_plain(b, *r->comm ? r->comm : "a thread without a name");
		break;
	case WAITS_BY_INTERRUPT:
		buf_puts(b, ", woken by an interrupt");
		break;
	case WAITS_STILL_OPEN:
		buf_puts(b, ", not ended");
		break;
	case WAITS_BY_UNKNOWN:
		buf_puts(b, queued ? "" : ", woken by what is not known");
		break;
	}
}

static void put_wait(struct buf *b, const struct waits_row *r, uint64_t whole)
{
	const char *call = blame_call_name(r->syscall);
	report_print(b, "%12s ", time_text(r->ns).text);
	report_print(b, "%5.1f %% %8" PRIu64 " ", report_percent((double)r->ns, (double)whole),
		     r->count);
	report_print(b, "%12s  %s", time_text(r->longest_ns).text, blame_part_text(r->part));
	if (call)
		report_print(b, " (%s)", call);
	else if (r->syscall != BLAME_NO_CALL)
		report_print(b, " (system call %" PRId32 ")", r->syscall);
	put_by(b, r);
	buf_puts(b, "\n");
}

static void put_waits(struct buf *b, const struct profile_view *v)
{
	const struct waits *w = &v->model->waits;
	uint32_t top = v->opt.top ? v->opt.top : PROFILE_TOP;
	if (!w->rows)
		return;
	buf_puts(b, "\n        TIME   SHARE    WAITS      LONGEST  REASON\n");
	for (uint32_t i = 0; i < w->rows && i < top; i++)
		put_wait(b, &w->row[i], v->model->weight);
	if (w->rows > top)
		report_print(b, "(%" PRIu32 " more; --top N shows more)\n", w->rows - top);
	if (w->others)
		report_print(b, "(%" PRIu64 " waits, %s, of too many kinds to be listed)\n",
			     w->others, time_text(w->others_ns).text);
}

/* ---- functions ---- */

static void put_share(struct buf *b, uint64_t ns, uint64_t whole)
{
	report_print(b, "%12s %5.1f %%  ", time_text(ns).text,
		     report_percent((double)ns, (double)whole));
}

static int put_section(struct buf *b, const struct profile_view *v,
		       const struct profile_section *of)
{
	buf_puts(b, "\n");
	buf_put_plain(b, of->name);
	report_print(b, ": %s, %.1f %%", time_text(of->samples).text,
		     report_percent((double)of->samples, (double)v->model->weight));
	if (of->collector && of->collector < of->samples)
		report_print(b, ", %s of it in the collector", time_text(of->collector).text);
	buf_puts(b, "\n");
	return profile_put_functions(b, v, of,
				     "        SELF                 TOTAL          FUNCTION",
				     v->model->weight, put_share);
}

int profile_time_text(struct buf *b, const struct profile_view *v)
{
	int err = 0;
	put_head(b, v);
	put_waits(b, v);
	for (uint32_t i = 0; i < v->sections->count && !err; i++)
		err = put_section(b, v, &v->sections->section[i]);
	return err;
}
