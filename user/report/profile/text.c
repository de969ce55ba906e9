/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "report/proportion.h"
#include "report/text.h"

struct share_text {
	char text[40];
};

/* "40.1 % (37.0-43.2)" */
static struct share_text share_text(uint64_t part, uint64_t whole)
{
	struct share_text t;
	struct proportion p = proportion_of(part, whole);
	snprintf(t.text, sizeof(t.text), "%5.1f %% (%.1f-%.1f)", p.percent, p.low, p.high);
	return t;
}

static void put_ends(struct buf *b, const struct profile_model *m)
{
	report_print(b, "Stacks: %" PRIu64 " whole", m->ends[EBT_SAMPLE_WHOLE]);
	for (unsigned i = EBT_SAMPLE_WHOLE + 1; i <= KINDS_SAMPLE_ENDS; i++)
		if (m->ends[i])
			report_print(b, "; %" PRIu64 " %s: %s", m->ends[i],
				     kinds_sample_end_name(i), kinds_sample_end_help(i));
	buf_puts(b, "\n");
}

static void put_head(struct buf *b, const struct profile_view *v)
{
	const struct profile_model *m = v->model;
	uint64_t cpu_ns;
	report_print(b, "%" PRIu64 " sample%s in %s", m->samples, plural(m->samples),
		     report_ns_text((double)v->elapsed_ns).text);
	if (m->period_ns)
		report_print(b, ", at %.0f Hz: %s of CPU time", 1e9 / (double)m->period_ns,
			     report_ns_text((double)m->time_ns).text);
	if (profile_cpu_ns(m, &cpu_ns))
		report_print(b, "; by the kernel's clock %s", report_ns_text((double)cpu_ns).text);
	buf_puts(b, "\n");
	report_put_loss(b, v->session);
	if (m->unasked)
		report_print(b,
			     "Not counted: %" PRIu64
			     " block%s off the CPU, which --off-cpu and --wall report\n",
			     m->unasked, plural(m->unasked));
	if (!m->samples)
		return;
	put_ends(b, m);
	if (m->kernel)
		report_print(b, "In the kernel: %s\n", share_text(m->kernel, m->samples).text);
}

/* In which phases the collector was. */
static void put_phases(struct buf *b, const struct profile_model *m)
{
	uint64_t of_place[PLACES] = {0};
	for (uint32_t i = 0; i < m->rows; i++)
		of_place[profile_place(m, &m->context[m->row[i].context])] += m->row[i].samples;
	for (unsigned n = 0; n < PHASE_ROWS; n++) {
		unsigned most = 0;
		for (unsigned i = 0; i < PHASE_ROWS; i++)
			if (of_place[i] > of_place[most])
				most = i;
		if (!of_place[most])
			return;
		report_print(b, "  %-20s  phase %s\n", share_text(of_place[most], m->samples).text,
			     profile_place_name(most));
		of_place[most] = 0;
	}
}

void profile_put_name(struct buf *b, const struct profile_function *f)
{
	report_put_text(b, f->name);
	if (f->file) {
		const char *slash = strrchr(f->file, '/');
		buf_puts(b, " (");
		report_put_text(b, slash && slash[1] ? slash + 1 : f->file);
		if (f->line)
			report_print(b, ":%" PRIu32, f->line);
		buf_puts(b, ")");
	}
	buf_puts(b, "\n");
}

static void put_function(struct buf *b, const struct profile_function *f, uint64_t samples)
{
	report_print(b, "%-22s ", share_text(f->self, samples).text);
	report_print(b, "%-22s ", share_text(f->total, samples).text);
	profile_put_name(b, f);
}

static int put_functions(struct buf *b, const struct profile_view *v,
			 const struct profile_section *of)
{
	struct profile_function *f;
	uint32_t count, top = v->opt.top ? v->opt.top : PROFILE_TOP;
	int err = profile_functions(v->sections, of, &f, &count);
	if (err)
		return err;
	if (count)
		buf_puts(b, "  SELF                   TOTAL                 FUNCTION\n");
	for (uint32_t i = 0; i < count && i < top; i++)
		put_function(b, &f[i], v->model->samples);
	if (count > top)
		report_print(b, "(%" PRIu32 " more; --top N shows more)\n", count - top);
	free(f);
	return 0;
}

static int put_section(struct buf *b, const struct profile_view *v,
		       const struct profile_section *of)
{
	const struct profile_model *m = v->model;
	buf_puts(b, "\n");
	report_put_text(b, of->name);
	report_print(b, ": %s", share_text(of->samples, m->samples).text);
	bool is_mixed = of->collector && of->collector < of->samples;
	if (is_mixed)
		report_print(b, ", the collector %s of it",
			     share_text(of->collector, of->samples).text);
	buf_puts(b, "\n");
	if (m->by == PROFILE_BY_DEFAULT && of->collector)
		put_phases(b, m);
	return put_functions(b, v, of);
}

int profile_text(struct buf *b, const struct profile_view *v)
{
	int err = 0;
	put_head(b, v);
	for (uint32_t i = 0; i < v->sections->count && !err; i++)
		err = put_section(b, v, &v->sections->section[i]);
	return err;
}
