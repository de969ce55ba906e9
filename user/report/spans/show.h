/* SPDX-License-Identifier: BSD-2-Clause */
/* How the result of spans is written: as text, as JSON and as flame graphs, and the names of parts
 * in them. */
#ifndef REPORT_SPANS_SHOW_H
#define REPORT_SPANS_SHOW_H

#include "base/buf.h"
#include "report/spans/model/hung.h"
#include "session/session.h"

struct spans_view {
	const struct session *session;
	const struct span_result *result;
	bool fibers, is_file;	       /* as in struct spans_options */
	struct moment at;	       /* of a report of --interval: its end */
	const struct span_hungs *hung; /* likewise, else NULL */
};

/* A stretch of --interval as text, with the first of the spans that hang. ended: spans in it. */
void spans_put_interval(struct buf *b, const struct spans_view *v, uint64_t ended, uint32_t hungs);

/* 0 or -ENOMEM; b has its own error. */
int spans_text(struct buf *b, const struct spans_view *v);
int spans_json(struct buf *b, const struct spans_view *v);
int spans_folded(struct buf *b, const struct spans_view *v);
int spans_svg(struct buf *b, const struct spans_view *v);

/* The name of the spans; of all those for which there was no room: "(other names)". */
const char *span_name_text(const struct span_sums *s, const struct span_name *n);
/* Of a part, what its detail is, without its kind: a phase, a thread, a system call, an operation.
 * NULL: nothing, or it is not known. In `scratch`, or static, or of the sums. */
#define SPAN_DETAIL_BYTES 32
const char *span_detail(const struct span_sums *s, uint32_t kind, uint32_t detail,
			char scratch[SPAN_DETAIL_BYTES]);
/* "behind hog", "in read"; false: nothing, as it is not known. */
bool span_put_detail(struct buf *b, const struct span_sums *s, uint32_t kind, uint32_t detail);
/* "collected: minor", "waiting for a CPU behind hog", "blocked in read" */
void span_put_part(struct buf *b, const struct span_sums *s, uint32_t kind, uint32_t detail);

#endif
