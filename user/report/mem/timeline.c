/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/timeline.h"
#include "report/mem/timeline_bands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/axis.h"
#include "report/mem/format.h"

#define LABEL	      10 /* columns of a label on the left */
#define COLUMNS	      66
#define TICKS_MAX     8 /* labels on the left */
#define ROWS_PER_TICK 2
#define TIMES	      4 /* labels below */

double mem_timeline_ns(const struct mem_timeline *t)
{
	return (double)t->count * (double)t->width_ns;
}

uint64_t mem_timeline_peak_ns(const struct mem_timeline *t)
{
	return t->peak_ns > t->begin_ns ? t->peak_ns - t->begin_ns : 0;
}

struct mem_amount mem_timeline_amount(const struct mem_model *m, double bytes)
{
	double live = bytes > 0 ? bytes : 0;
	struct mem_amount unknown = {live, NAN, NAN};
	struct mem_sum sum = {0};
	if (!m->first)
		return (struct mem_amount){0};
	for (const struct mem_process *p = m->first; p; p = p->next)
		if (!mem_scale_same(&p->scale, &m->first->scale))
			return unknown;
	struct mem_scale scale = mem_process_live_scale(m->first);
	double samples = live / mem_scale_bytes(&scale, 1);
	mem_sum_add(&sum, &scale, (uint64_t)llround(fmin(samples, 0x1p62)));
	return mem_sum_amount(&sum);
}

static void put_amount(struct buf *b, const struct mem_model *m, double bytes)
{
	struct mem_amount a = mem_timeline_amount(m, bytes);
	buf_puts(b, report_bytes_text(a.bytes).text);
	if (!isnan(a.low))
		report_print(b, " (%s)", mem_interval_text(&a).text);
}

void mem_timeline_put_summary(struct buf *b, const struct mem_view *v)
{
	const struct mem_timeline *t = v->model->timeline;
	buf_puts(b, "peak ");
	put_amount(b, v->model, t->peak);
	report_print(b, " at %s, ", report_ns_text((double)mem_timeline_peak_ns(t)).text);
	put_amount(b, v->model, t->live);
	buf_puts(b, " alive at the end\n");
}

/* What is shown in each column: live bytes, or bytes allocated in a second. */
struct columns {
	double at[COLUMNS], most;
};

double mem_timeline_rate(const struct mem_timeline *t, uint32_t i, uint32_t columns)
{
	uint32_t from = i * t->count / columns, to = (i + 1) * t->count / columns;
	double sum = t->point[from].allocated;
	for (uint32_t k = from + 1; k < to; k++)
		sum += t->point[k].allocated;
	double ns = (double)(to > from ? to - from : 1) * (double)t->width_ns;
	return sum / ns * 1e9;
}

/* The most live bytes. */
static double column(const struct mem_timeline *t, uint32_t i)
{
	uint32_t from = i * t->count / COLUMNS, to = (i + 1) * t->count / COLUMNS;
	double most = t->point[from].max;
	for (uint32_t k = from + 1; k < to; k++)
		most = t->point[k].max > most ? t->point[k].max : most;
	return most;
}

/* How full a cell is in the row that begins at `low`: empty, a third, two, full. */
static char cell(double bytes, double low, double row)
{
	static const char of[] = " .:#";
	double thirds = (bytes - low) / row * 3;
	int n = thirds >= 3 ? 3 : thirds > 0 ? (int)ceil(thirds) : 0;
	return of[n > 3 ? 3 : n];
}

static struct columns columns_of(const struct mem_model *m)
{
	struct columns c = {.most = m->is_periodic ? 0 : m->timeline->peak};
	for (uint32_t i = 0; i < COLUMNS; i++) {
		c.at[i] = m->is_periodic ? mem_timeline_rate(m->timeline, i, COLUMNS)
					 : column(m->timeline, i);
		c.most = fmax(c.most, c.at[i]);
	}
	return c;
}

static void put_rows(struct buf *b, const struct columns *c)
{
	double step = axis_bytes_step(c->most, TICKS_MAX), row = step / ROWS_PER_TICK;
	int rows = ROWS_PER_TICK * (int)fmax(1, ceil(c->most / step));
	for (int r = rows; r > 0; r--) {
		bool has_label = r % ROWS_PER_TICK == 0;
		char line[COLUMNS + 1];
		size_t len = 0;
		for (uint32_t i = 0; i < COLUMNS; i++) {
			line[i] = cell(c->at[i], row * (r - 1), row);
			len = line[i] == ' ' ? len : i + 1;
		}
		line[len] = '\0';
		struct report_text text = axis_bytes_label(row * r);
		report_print(b, "%*s %c%s\n", LABEL, has_label ? text.text : "",
			     has_label ? '+' : '|', line);
	}
}

static void put_times(struct buf *b, double ns)
{
	double step = axis_time_step(ns, TIMES);
	char axis[COLUMNS + 1], labels[COLUMNS + 32];
	memset(axis, '-', COLUMNS);
	axis[COLUMNS] = '\0';
	memset(labels, ' ', sizeof(labels));
	for (unsigned i = 0; i <= TIMES && step * i <= ns && ns > 0; i++) {
		size_t at = (size_t)(step * i / ns * (COLUMNS - 1));
		struct report_text text = axis_time_label(step * i);
		size_t len = strlen(text.text), from = at > len / 2 ? at - len / 2 : 0;
		axis[at] = '+';
		if (from + len <= COLUMNS)
			memcpy(labels + from, text.text, len);
	}
	size_t len = COLUMNS;
	while (len && labels[len - 1] == ' ')
		len--;
	labels[len] = '\0';
	report_print(b, "%*s +%s\n%*s  %s\n", LABEL, "0 B", axis, LABEL, "", labels);
}

/* A band in one line: how much of its most is alive. */
static void put_strip(struct buf *b, const struct mem_timeline_bands *bands, uint32_t k)
{
	static const char levels[] = " .:-=+*#";
	const double *live = bands->live + (size_t)k * bands->points;
	char line[COLUMNS + 1];
	size_t len = 0;
	for (uint32_t i = 0; i < COLUMNS; i++) {
		uint32_t from = i * bands->points / COLUMNS, to = (i + 1) * bands->points / COLUMNS;
		double most = live[from];
		for (uint32_t at = from + 1; at < to; at++)
			most = live[at] > most ? live[at] : most;
		line[i] = levels[(int)ceil(most / bands->most[k] * 7)];
		len = line[i] == ' ' ? len : i + 1;
	}
	line[len] = '\0';
	report_print(b, "%*s |%s\n", LABEL, report_bytes_text(bands->most[k]).text, line);
}

static void put_strips(struct buf *b, const struct mem_view *v,
		       const struct mem_timeline_bands *bands)
{
	buf_puts(b, "\nAlive by site, from nothing to # at the most, which is on the left:\n");
	for (uint32_t k = 0; k <= bands->listed; k++) {
		if (!(bands->most[k] > 0))
			continue;
		put_strip(b, bands, k);
		report_print(b, "%*s  ", LABEL, "");
		mem_timeline_put_name(b, v, bands, k);
		buf_puts(b, "\n");
	}
}

int mem_timeline_text(struct buf *b, const struct mem_view *v)
{
	const struct mem_timeline *t = v->model->timeline;
	struct mem_timeline_bands bands;
	if (!mem_put_head(b, v))
		return 0;
	int err = mem_timeline_bands_init(&bands, v);
	if (err)
		return err;
	struct columns c = columns_of(v->model);
	if (v->model->is_periodic)
		report_print(b, "Allocated in a second, %s at most:\n",
			     report_bytes_text(c.most).text);
	else
		mem_timeline_put_summary(b, v);
	buf_puts(b, "\n");
	put_rows(b, &c);
	put_times(b, mem_timeline_ns(t));
	if (v->model->is_periodic) {
		mem_timeline_bands_done(&bands);
		return 0;
	}
	put_strips(b, v, &bands);
	mem_timeline_bands_done(&bands);
	return 0;
}
