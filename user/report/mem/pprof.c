/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/pprof.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "report/mem/model/mem.h"
#include "report/pprof.h"
#include "stream/loss.h"

#define COMMENT_BYTES (LOSS_TEXT_BYTES + 128)

/* Pairs: the objects of a row, and their bytes, both estimated. */
static const struct pprof_type types[] = {
	{"alloc_objects", "count"},
	{"alloc_space", "bytes"},
	{"inuse_objects", "count"},
	{"inuse_space", "bytes"},
};
static mem_pick *const picks[] = {mem_pick_alloc, mem_pick_live};
#define PICKS (sizeof(picks) / sizeof(*picks))
_Static_assert(sizeof(types) / sizeof(*types) == 2 * PICKS, "a pair of each");

/* A sum so far, and what of it was written: the next value is the difference, so what rounding
 * leaves is not lost. */
struct rounded {
	double sum;
	int64_t written;
};

static int64_t round_next(struct rounded *r, double more)
{
	r->sum += more;
	int64_t written = r->sum < 0x1p62 ? (int64_t)llround(r->sum) : INT64_C(1) << 62;
	int64_t next = written - r->written;
	r->written = written;
	return next;
}

static void put_samples(struct pprof *out, const struct mem_model *m)
{
	struct rounded objects[PICKS] = {0}, bytes[PICKS] = {0};
	bool several = m->first && m->first->next;
	for (const struct mem_process *p = m->first; p; p = p->next) {
		for (uint32_t row = 1; row <= p->rows; row++) {
			int64_t values[2 * PICKS], any = 0;
			for (size_t i = 0; i < PICKS; i++) {
				struct mem_count c = picks[i](p, row);
				values[2 * i] = round_next(&objects[i],
							   mem_scale_objects(&p->scale, c.shares));
				values[2 * i + 1] =
					round_next(&bytes[i], mem_process_bytes(p, c.samples));
				any |= values[2 * i] | values[2 * i + 1];
			}
			if (any)
				pprof_sample(out, p->row[row].stack, values, several ? p->pid : 0);
		}
	}
}

/* When the stream began, on the clock that profiles have. */
static struct moment start_of(const struct mem_model *m)
{
	const struct timebase realtime = {.clock = TIMEBASE_REALTIME};
	struct moment begin = m->session->start.known ? m->session->start : m->begin;
	uint64_t shift_ns;
	if (!begin.known || !timebase_shift(&m->session->timebase, &realtime, &shift_ns))
		return (struct moment){0};
	return moment_at(begin.ns + shift_ns);
}

/* Bytes for a sample, if they are the same everywhere. */
static uint64_t period_of(const struct mem_model *m)
{
	double unit = 0;
	for (const struct mem_process *p = m->first; p; p = p->next) {
		double of_it = p->scale.word_bytes / p->scale.rate;
		if (!(p->scale.rate > 0) || (unit > 0 && of_it != unit))
			return 0;
		unit = of_it;
	}
	return unit < 0x1p62 ? (uint64_t)llround(unit) : 0;
}

static void put_comments(struct pprof *out, const struct mem_view *v)
{
	struct totals t = session_run_totals(v->session);
	char text[COMMENT_BYTES], lost[LOSS_TEXT_BYTES];
	pprof_comment(out, "ebtrace " EBT_VERSION);
	pprof_comment(out, "Bytes and objects are estimates from samples.");
	if (loss_hides_events(&t)) {
		snprintf(text, sizeof(text), "Not all is counted: %s", loss_text(&t, lost));
		pprof_comment(out, text);
	}
	if (t.damaged)
		pprof_comment(out, "Not all is counted: places of the input are damaged");
}

int mem_pprof(struct buf *b, const struct mem_view *v)
{
	const struct mem_process *first = v->model->first;
	const char *executable = first ? strings_text(v->session->strings, first->executable) : "";
	if (first && (!executable || !*executable))
		executable = first->comm;
	struct pprof_head head = {
		.type = types,
		.types = 2 * PICKS,
		.shown = 1,
		.period_type = {"space", "bytes"},
		.period = period_of(v->model),
		.executable = executable,
		.start = start_of(v->model),
		.duration_ns = mem_model_elapsed_ns(v->model),
	};
	struct pprof *out;
	int err = pprof_new(v->session, &head, &out);
	if (err)
		return err;
	put_samples(out, v->model);
	put_comments(out, v);
	err = pprof_finish(out, b);
	pprof_free(out);
	return err;
}
