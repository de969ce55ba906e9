/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/mem_timeline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sink/mem_format.h"

#define LABEL	      10 /* columns of a label on the left */
#define COLUMNS	      66
#define TICKS_MAX     8 /* labels on the left */
#define ROWS_PER_TICK 2
#define TIMES	      4 /* labels below */

double mem_timeline_bytes_step(double most, unsigned ticks)
{
	double step = 1;
	while (step * ticks < most)
		step *= 2;
	return step;
}

double mem_timeline_time_step(double ns, unsigned ticks)
{
	static const double factor[] = {2, 2.5, 2};
	double step = 1;
	for (unsigned i = 0; step * ticks < ns; i = (i + 1) % 3)
		step *= factor[i];
	return step;
}

static struct report_text label(double v, double by, const char *const *units)
{
	struct report_text t;
	for (; units[1] && v >= by; units++)
		v /= by;
	snprintf(t.text, sizeof(t.text), "%.6g %s", v, *units);
	return t;
}

struct report_text mem_timeline_bytes_label(double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL};
	return label(bytes, 1024, units);
}

struct report_text mem_timeline_time_label(double ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s", NULL};
	return label(ns, 1000, units);
}

double mem_timeline_ns(const struct mem_timeline *t)
{
	return (double)t->count * (double)t->width_ns;
}

/* The interval is that of a number of samples, which are of one kind if all processes are. */
static void put_amount(struct buf *b, const struct mem_model *m, double bytes)
{
	const struct mem_scale *scale = &m->first->scale;
	buf_puts(b, report_bytes_text(bytes).text);
	for (const struct mem_process *p = m->first; p; p = p->next)
		if (!mem_scale_same(&p->scale, scale))
			return;
	struct mem_sum sum = {0};
	mem_sum_add(&sum, scale, (uint64_t)llround(bytes / mem_scale_bytes(scale, 1)));
	struct mem_amount a = mem_sum_amount(&sum);
	report_print(b, " (%s)", mem_interval_text(&a).text);
}

void mem_timeline_put_summary(struct buf *b, const struct mem_view *v)
{
	const struct mem_timeline *t = v->model->timeline;
	buf_puts(b, "peak ");
	put_amount(b, v->model, t->peak);
	report_print(
		b, " at %s, ",
		report_ns_text((double)(t->peak_ns > t->begin_ns ? t->peak_ns - t->begin_ns : 0))
			.text);
	put_amount(b, v->model, t->live > 0 ? t->live : 0);
	buf_puts(b, " alive at the end\n");
	if (v->model->opt.filter && v->model->opt.filter->by_lifetime)
		buf_puts(b, "The filter's lifetimes do not apply: they are not known before the "
			    "objects' ends.\n");
}

/* The most live bytes in column i of COLUMNS. */
static double column(const struct mem_timeline *t, uint32_t i)
{
	uint32_t from = i * t->count / COLUMNS, to = (i + 1) * t->count / COLUMNS;
	double most = t->point[from].max;
	for (uint32_t k = from + 1; k < to; k++)
		most = t->point[k].max > most ? t->point[k].max : most;
	return most;
}

/* How full a cell is whose row begins at `low`: empty, a third, two, full. */
static char cell(double bytes, double low, double row)
{
	static const char of[] = " .:#";
	double thirds = (bytes - low) / row * 3;
	int n = thirds >= 3 ? 3 : thirds > 0 ? (int)ceil(thirds) : 0;
	return of[n > 3 ? 3 : n];
}

static void put_rows(struct buf *b, const struct mem_timeline *t)
{
	double step = mem_timeline_bytes_step(t->peak, TICKS_MAX), row = step / ROWS_PER_TICK;
	int rows = ROWS_PER_TICK * (int)fmax(1, ceil(t->peak / step));
	for (int r = rows; r > 0; r--) {
		bool has_label = r % ROWS_PER_TICK == 0;
		char line[COLUMNS + 1];
		size_t len = 0;
		for (uint32_t i = 0; i < COLUMNS; i++) {
			line[i] = cell(column(t, i), row * (r - 1), row);
			len = line[i] == ' ' ? len : i + 1;
		}
		line[len] = '\0';
		struct report_text text = mem_timeline_bytes_label(row * r);
		report_print(b, "%*s %c%s\n", LABEL, has_label ? text.text : "",
			     has_label ? '+' : '|', line);
	}
}

static void put_times(struct buf *b, double ns)
{
	double step = mem_timeline_time_step(ns, TIMES);
	char axis[COLUMNS + 1], labels[COLUMNS + 32];
	memset(axis, '-', COLUMNS);
	axis[COLUMNS] = '\0';
	memset(labels, ' ', sizeof(labels));
	for (unsigned i = 0; i <= TIMES && step * i <= ns && ns > 0; i++) {
		size_t at = (size_t)(step * i / ns * (COLUMNS - 1));
		struct report_text text = mem_timeline_time_label(step * i);
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

int mem_timeline_text(struct buf *b, const struct mem_view *v)
{
	const struct mem_timeline *t = v->model->timeline;
	if (!mem_put_head(b, v))
		return 0;
	mem_timeline_put_summary(b, v);
	buf_puts(b, "\n");
	put_rows(b, t);
	put_times(b, mem_timeline_ns(t));
	return 0;
}
