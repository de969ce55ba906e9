/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/mmu.h"

#include <math.h>
#include <stdio.h>

#include "report/stat/model/mutator.h"
#include "report/text.h"

static void put_row(struct buf *b, const char *name, const struct mmu *m)
{
	uint64_t within_ns = mmu_within_ns(m);
	report_print(b, "  %-8s", name);
	for (unsigned i = 0; i < MMU_WINDOWS; i++)
		if (isnan(m->least[i]))
			buf_puts(b, "    n/a");
		else
			report_print(b, " %6.2f", 100 * m->least[i]);
	if (within_ns)
		report_print(b, "  within %s", report_ns_text((double)within_ns).text);
	buf_puts(b, "\n");
}

void stat_mmu_text(struct buf *b, const struct stat_process *p)
{
	if (!p->mutator)
		return;
	buf_puts(b, "\n  least share of the mutator in windows of so many ms, in %\n          ");
	for (unsigned i = 0; i < MMU_WINDOWS; i++)
		report_print(b, " %6u", (unsigned)(mmu_window_ns[i] / 1000000));
	buf_puts(b, "\n");
	put_row(b, "process", &p->mutator->windows);
	for (const struct stat_lane *l = p->lanes; l; l = l->next) {
		char name[16];
		snprintf(name, sizeof(name), l->is_thread ? "t%u" : "%u", l->number);
		if (l->mutator)
			put_row(b, name, &l->mutator->windows);
	}
}

static void put_windows(struct json *j, const struct mmu *m)
{
	json_key_open(j, "mmu", '[');
	for (unsigned i = 0; i < MMU_WINDOWS; i++) {
		json_open(j, '{');
		json_key_u64(j, "window_ns", mmu_window_ns[i]);
		/* A share that is not known is written as null. */
		json_key_double(j, "least_percent", 100 * m->least[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_key_u64(j, "mmu_within_ns", mmu_within_ns(m));
}

void stat_mmu_json(struct json *j, const struct stat_process *p)
{
	if (p->mutator)
		put_windows(j, &p->mutator->windows);
}

void stat_mmu_lane_json(struct json *j, const struct stat_lane *l)
{
	if (l->mutator)
		put_windows(j, &l->mutator->windows);
}
