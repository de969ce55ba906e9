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

void profile_put_ends(struct buf *b, const char *title, const char *unknown,
		      const uint64_t ends[KINDS_SAMPLE_ENDS + 1])
{
	report_print(b, "%s: %" PRIu64 " whole", title, ends[EBT_SAMPLE_WHOLE]);
	for (unsigned i = EBT_SAMPLE_WHOLE + 1; i < KINDS_SAMPLE_ENDS; i++)
		if (ends[i])
			report_print(b, "; %" PRIu64 " %s: %s", ends[i], kinds_sample_end_name(i),
				     kinds_sample_end_help(i));
	if (ends[KINDS_SAMPLE_ENDS])
		report_print(b, "; %" PRIu64 " %s", ends[KINDS_SAMPLE_ENDS], unknown);
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
	profile_put_ends(b, "Stacks", "unknown: unknown", m->ends);
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

static void put_name(struct buf *b, const struct profile_function *f)
{
	buf_put_plain(b, f->name);
	if (f->file) {
		const char *slash = strrchr(f->file, '/');
		buf_puts(b, " (");
		buf_put_plain(b, slash && slash[1] ? slash + 1 : f->file);
		if (f->line)
			report_print(b, ":%" PRIu32, f->line);
		buf_puts(b, ")");
	}
	buf_puts(b, "\n");
}

int profile_put_functions(struct buf *b, const struct profile_view *v,
			  const struct profile_section *of, const char *head, uint64_t whole,
			  profile_put_share *put_share)
{
	struct profile_function *f;
	uint32_t count, top = v->opt.top ? v->opt.top : PROFILE_TOP;
	int err = profile_functions(v->sections, of, &f, &count);
	if (err)
		return err;
	if (count)
		report_print(b, "%s\n", head);
	for (uint32_t i = 0; i < count && i < top; i++) {
		put_share(b, f[i].self, whole);
		put_share(b, f[i].total, whole);
		put_name(b, &f[i]);
	}
	if (count > top)
		report_print(b, "(%" PRIu32 " more; --top N shows more)\n", count - top);
	free(f);
	return 0;
}

static void put_share(struct buf *b, uint64_t part, uint64_t whole)
{
	report_print(b, "%-22s ", share_text(part, whole).text);
}

static int put_section(struct buf *b, const struct profile_view *v,
		       const struct profile_section *of)
{
	const struct profile_model *m = v->model;
	buf_puts(b, "\n");
	buf_put_plain(b, of->name);
	report_print(b, ": %s", share_text(of->samples, m->samples).text);
	bool is_mixed = of->collector && of->collector < of->samples;
	if (is_mixed)
		report_print(b, ", the collector %s of it",
			     share_text(of->collector, of->samples).text);
	buf_puts(b, "\n");
	if (m->by == PROFILE_BY_DEFAULT && of->collector)
		put_phases(b, m);
	return profile_put_functions(b, v, of,
				     "  SELF                   TOTAL                 FUNCTION",
				     m->samples, put_share);
}

int profile_text(struct buf *b, const struct profile_view *v)
{
	int err = 0;
	put_head(b, v);
	for (uint32_t i = 0; i < v->sections->count && !err; i++)
		err = put_section(b, v, &v->sections->section[i]);
	return err;
}
