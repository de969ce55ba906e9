/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writers of stat.h: the numbers of stat_model.h as text and as JSON. Private to sink/stat*.c.
 */
#ifndef SINK_STAT_REPORT_H
#define SINK_STAT_REPORT_H

#include "base/buf.h"
#include "sink/stat_model.h"
#include "sink/stat_sections.h"

/* What olly prints, in parts of HISTOGRAM_WHOLE. */
#define STAT_PERCENTILES 18
extern const uint32_t stat_percentiles[STAT_PERCENTILES];
#define STAT_PERCENTILE_BYTES 16
/* "50", "99.9" …, as JSON has them for keys. */
void stat_percentile_name(unsigned i, char ret[STAT_PERCENTILE_BYTES]);

/* Of the stretch since the line before. */
struct stat_line {
	uint64_t begin_ns, end_ns; /* since the begin of the run */
	const struct histogram *pauses;
	double gc_percent;
	uint64_t minors, majors;
	double words_per_s; /* allocated in the minor heaps; negative: not told */
	uint64_t lost_events, lost_words, lost_uncounted;
};

struct stat_report {
	const struct stat_model *model;
	const struct stat_process *total;
	const struct stat_sections *sections; /* NULL for JSON */
	uint64_t wall_ns;
	uint64_t begin_ns; /* on the session's clock */
};

void stat_text_line(struct buf *b, const struct stat_line *l, bool heading);
void stat_text_report(struct buf *b, const struct stat_report *r);
void stat_json_line(struct buf *b, const struct stat_line *l);
void stat_json_report(struct buf *b, const struct stat_report *r);

#endif
