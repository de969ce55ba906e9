/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/profile/profile.h"

#include <stdio.h>

#include "report/pprof.h"
#include "stream/loss.h"

static const struct pprof_type types[] = {{"samples", "count"}, {"cpu", "nanoseconds"}};
static const struct pprof_type time_types[] = {{"off_cpu", "nanoseconds"}, {"wall", "nanoseconds"}};

static void put_comments(struct pprof *out, const struct profile_view *v)
{
	struct totals t = session_run_totals(v->session);
	char text[LOSS_TEXT_BYTES + 64], lost[LOSS_TEXT_BYTES];
	pprof_comment(out, "ebtrace " EBT_VERSION);
	for (unsigned i = EBT_SAMPLE_WHOLE + 1; i < KINDS_SAMPLE_ENDS; i++) {
		uint64_t stacks = v->model->ends[i] + v->model->waits.ends[i];
		if (!stacks)
			continue;
		snprintf(text, sizeof(text), "%llu stacks: %s", (unsigned long long)stacks,
			 kinds_sample_end_help(i));
		pprof_comment(out, text);
	}
	if (!loss_hides_events(&t))
		return;
	snprintf(text, sizeof(text), "Not all is counted: %s", loss_text(&t, lost));
	pprof_comment(out, text);
}

/* The format's numbers have a sign: of a forged capture it has the largest that fits. */
static int64_t product(uint64_t a, uint64_t b)
{
	int64_t r;
	return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

int profile_pprof(struct buf *b, const struct profile_view *v)
{
	const struct profile_model *m = v->model;
	struct pprof_head head = {
		.type = types,
		.types = 2,
		.shown = 1,
		.period_type = {"cpu", "nanoseconds"},
		.period = m->period_ns,
		.executable = m->processes ? m->process[0].comm : "",
		.start = v->start,
		.duration_ns = v->elapsed_ns,
	};
	bool is_time = v->opt.time != PROFILE_ON_CPU;
	if (is_time) {
		head.type = &time_types[v->opt.time == PROFILE_WALL];
		head.types = 1;
		head.shown = 0;
		head.period_type = *head.type;
		head.period = 0;
	}
	struct pprof *out;
	int err = pprof_new(v->session, &head, &out);
	if (err)
		return err;
	for (uint32_t i = 0; i < m->rows; i++) {
		const struct profile_row *row = &m->row[i];
		int64_t values[] = {product(row->samples, 1),
				    is_time ? 0 : product(row->samples, m->period_ns)};
		const struct profile_process *p = &m->process[m->context[row->context].process];
		pprof_sample(out, row->stack, values, m->processes > 1 ? p->pid : 0);
	}
	put_comments(out, v);
	err = pprof_finish(out, b);
	pprof_free(out);
	return err;
}
