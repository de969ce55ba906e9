/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/plural.h"
#include "stream/loss.h"

void report_print(struct buf *b, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_puts(b, text);
}

struct report_text report_bytes_text(double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL};
	struct report_text t;
	unsigned u = 0;
	for (; units[u + 1] && bytes >= 1024; u++)
		bytes /= 1024;
	snprintf(t.text, sizeof(t.text), u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
	return t;
}

struct report_text report_ns_text(double ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s", NULL};
	struct report_text t;
	unsigned u = 0;
	for (; units[u + 1] && ns >= 1000; u++)
		ns /= 1000;
	snprintf(t.text, sizeof(t.text), u ? "%.3f %s" : "%.0f %s", ns, units[u]);
	return t;
}

void report_put_loss(struct buf *b, const struct session *s)
{
	struct totals t = session_run_totals(s);
	char lost[LOSS_TEXT_BYTES];
	if (loss_hides_events(&t))
		report_print(b, "Not all is counted: %s\n", loss_text(&t, lost));
	if (!t.damaged)
		return;
	report_print(b, "Not all is counted: %" PRIu64 " place%s of the input %s damaged",
		     t.damaged, plural(t.damaged), plural_of(t.damaged, "is", "are"));
	if (t.lost_allocs)
		report_print(b, ", with %" PRIu64 " sampled allocation%s or more", t.lost_allocs,
			     plural(t.lost_allocs));
	buf_puts(b, "\n");
}
