/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces of reports as text. Names come from traced programs: what could control a terminal is
 * replaced. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include "base/buf.h"
#include "session/session.h"

struct report_text {
	char text[48];
};

/* At most 255 bytes. */
void report_print(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "3.2 MiB" */
struct report_text report_bytes_text(double bytes);
/* "12.345 ms" */
struct report_text report_ns_text(double ns);
/* Lines that say that losses or damage make the numbers too small; nothing where there are none. */
void report_put_loss(struct buf *b, const struct session *s);

/* A share in per cent; 0 of nothing. */
static inline double report_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

#endif
