/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/plural.h"
#include "base/utf8.h"

#define BAR 30

struct report_text pages_bytes_text(const struct pages_model *m, uint64_t pages)
{
	return report_bytes_text((double)pages * m->opt.page_bytes);
}

struct report_text pages_p_text(const struct pages_model *m, int32_t p)
{
	struct report_text t = {"the kernel"};
	if (!m->opt.is_space)
		snprintf(t.text, sizeof(t.text), "P %" PRId32, p);
	else if (p)
		snprintf(t.text, sizeof(t.text), "tid %" PRId32, p);
	return t;
}

struct report_text pages_owner_text(const struct pages_model *m, uint32_t slot)
{
	if (slot)
		return pages_p_text(m, m->owners.owner[slot].p);
	return m->opt.is_space ? (struct report_text){"other threads"}
			       : (struct report_text){"other Ps"};
}

struct report_text pages_class_text(unsigned size_class)
{
	struct report_text t;
	uint64_t least = pages_size_least(size_class), most = pages_size_most(size_class);
	if (least == most)
		snprintf(t.text, sizeof(t.text), "%" PRIu64, most);
	else
		snprintf(t.text, sizeof(t.text), "%" PRIu64 " to %" PRIu64, least, most);
	return t;
}

const char *pages_state_text(uint8_t state)
{
	static const char *const names[PAGES_STATES] = {"unseen", "allocated", "free", "scavenged"};
	return names[state];
}

struct report_text pages_time_text(const struct pages_model *m, uint64_t ns)
{
	return report_ns_text((double)pages_model_since(m, ns));
}

void pages_put_bar(struct buf *b, double part, double whole)
{
	unsigned n = whole > 0 ? (unsigned)(part * BAR / whole + 0.5) : 0;
	char bar[BAR + 3] = "  ";
	memset(bar + 2, '#', n);
	bar[n + 2] = 0;
	buf_puts(b, n ? bar : "");
	buf_puts(b, "\n");
}

void pages_put_percentiles(struct buf *b, const struct histogram *h)
{
	report_print(b, "median %s, 90 %% %s, 99 %% %s, longest %s",
		     report_ns_text((double)histogram_at(h, HISTOGRAM_WHOLE / 2)).text,
		     report_ns_text((double)histogram_at(h, HISTOGRAM_WHOLE / 10 * 9)).text,
		     report_ns_text((double)histogram_at(h, HISTOGRAM_WHOLE / 100 * 99)).text,
		     report_ns_text((double)h->max).text);
}

/* Without P -1, and without the kernel. */
static uint32_t count_ps(const struct pages_model *m)
{
	int32_t none = m->opt.is_space ? 0 : EBT_PAGETRACE_NO_P;
	uint32_t n = 0;
	for (uint32_t i = 1; i < m->owners.count; i++)
		n += m->owners.owner[i].events && m->owners.owner[i].p != none;
	return n;
}

/* "from 1.000 s to 2.000 s", of options */
static void put_window(struct buf *b, const struct pages_model *m)
{
	if (m->opt.from.known || m->opt.until.known)
		report_print(b, ", from %s to %s", pages_time_text(m, m->from_ns).text,
			     pages_time_text(m, m->end_ns).text);
	else
		report_print(b, " in %s", report_ns_text((double)pages_model_elapsed_ns(m)).text);
}

static void put_missing(struct buf *b, const struct pages_view *v)
{
	const struct pages_damage *d = &v->model->damage;
	uint64_t violations = pages_damage_violations(d);
	report_put_loss(b, v->session);
	if (violations)
		report_print(b,
			     "Events are missing: %" PRIu64
			     " violation%s; see ebtrace pages damage\n",
			     violations, plural(violations));
	else if (d->fault[PAGES_SCAVENGED_UNSEEN])
		buf_puts(b, "Events are missing; see ebtrace pages damage\n");
	if (d->fault[PAGES_UNTRACKED])
		report_print(b, "%" PRIu64 " event%s left out, of pages beyond any heap\n",
			     d->fault[PAGES_UNTRACKED],
			     plural_of(d->fault[PAGES_UNTRACKED], " is", "s are"));
	if (v->others)
		report_print(b, "%" PRIu64 " event%s of other processes %s left out; %s\n",
			     v->others, plural(v->others), plural_of(v->others, "is", "are"),
			     v->session->run_begin.known
				     ? "ebtrace trace --pages -o FILE.ebt records all"
				     : "of a capture, -p PID selects one");
}

/* Pages of a cause and those behind it, but for what was there before. */
static uint64_t sum_causes(const uint64_t pages[KINDS_PAGE_CAUSES], enum ebt_page_cause from)
{
	uint64_t sum = 0;
	for (unsigned i = from; i < KINDS_PAGE_CAUSES; i++)
		if (i != EBT_PAGE_SNAPSHOT && i != EBT_PAGE_FORK)
			sum += pages[i];
	return sum;
}

/* "12 pages appeared without a fault (populated 2, file 10)" */
static void put_causes(struct buf *b, const uint64_t pages[KINDS_PAGE_CAUSES], const char *what)
{
	uint64_t sum = sum_causes(pages, EBT_PAGE_POPULATED);
	const char *before = " (";
	report_print(b, "%" PRIu64 " page%s %s", sum, plural(sum), what);
	for (unsigned i = EBT_PAGE_POPULATED; i < KINDS_PAGE_CAUSES; i++) {
		if (!pages[i])
			continue;
		report_print(b, "%s%s %" PRIu64, before, kinds_page_cause_name(i), pages[i]);
		before = ", ";
	}
	buf_puts(b, sum ? ")" : "");
}

static void put_space(struct buf *b, const struct pages_model *m)
{
	buf_puts(b, "Reconciled with the page tables: ");
	put_causes(b, m->causes.appeared, "appeared without a fault");
	buf_puts(b, ", ");
	put_causes(b, m->causes.gone, "went without a system call");
	if (m->causes.late_ns)
		report_print(b,
			     "\nThese have the time of the reading that found them, up to %s late: "
			     "%" PRIu64 " of %" PRIu64 " pages that appeared, %" PRIu64
			     " of %" PRIu64 " that went",
			     report_ns_text((double)m->causes.late_ns).text,
			     sum_causes(m->causes.appeared, EBT_PAGE_POPULATED),
			     sum_causes(m->causes.appeared, EBT_PAGE_DONE),
			     sum_causes(m->causes.gone, EBT_PAGE_POPULATED),
			     sum_causes(m->causes.gone, EBT_PAGE_DONE));
	buf_puts(b,
		 "\nAllocated pages are resident; free: unmapped or taken; scavenged: returned by "
		 "madvise\n");
}

unsigned pages_map_shades(const struct pages_model *m, const struct pages_map_shade **ret)
{
	static const struct pages_map_shade of_space[] = {
		{PAGES_SHADE_ALLOCATED, 0x2c6fbb, '#', "allocated"},
		{PAGES_SHADE_FOUND_ALLOCATED, 0x8ab4e3, 'o', "found allocated"},
		{PAGES_SHADE_FREE, 0xf2a73b, '+', "free"},
		{PAGES_SHADE_FOUND_FREE, 0xf9d9a4, '-', "found free"},
		{PAGES_SHADE_SCAVENGED, 0xd5d9de, '.', "returned to the system"},
	};
	static const struct pages_map_shade of_heap[] = {
		{PAGES_SHADE_ALLOCATED, 0x2c6fbb, '#', "allocated"},
		{PAGES_SHADE_FREE, 0xf2a73b, '+', "free"},
		{PAGES_SHADE_SCAVENGED, 0xd5d9de, '.', "returned to the system"},
	};
	*ret = m->opt.is_space ? of_space : of_heap;
	return m->opt.is_space ? sizeof(of_space) / sizeof(*of_space)
			       : sizeof(of_heap) / sizeof(*of_heap);
}

void pages_put_marks(struct buf *b, const struct pages_model *m)
{
	const struct pages_map_shade *s;
	unsigned n = pages_map_shades(m, &s);
	for (unsigned i = 0; i < n; i++)
		report_print(b, "%s%c %s", i ? ", " : "", s[i].mark,
			     s[i].shade == PAGES_SHADE_SCAVENGED ? "scavenged" : s[i].name);
}

bool pages_put_head(struct buf *b, const struct pages_view *v)
{
	const struct pages_model *m = v->model;
	if (!m->begun) {
		buf_puts(b, "No page events in this recording.");
		if (!v->others && !m->opt.is_space)
			buf_puts(b, " An empty file is what a Go program leaves that is killed "
				    "before it writes its first block.");
		buf_puts(b, "\n");
		put_missing(b, v);
		return false;
	}
	uint32_t ps = count_ps(m);
	report_print(b, "%" PRIu64 " event%s of %" PRIu32 " %s%s", m->events, plural(m->events), ps,
		     m->opt.is_space ? "thread" : "P", plural(ps));
	put_window(b, m);
	report_print(b, ", pages of %s\n", report_bytes_text(m->opt.page_bytes).text);
	put_missing(b, v);
	if (m->opt.is_space)
		put_space(b, m);
	return true;
}

void pages_put_title(struct buf *b, const struct pages_view *v)
{
	bool is_space = v->model->opt.is_space;
	const char *what = is_space ? "address space" : "heap";
	char name[sizeof(((struct process *)0)->comm) + 1];
	if (!v->pid) {
		report_print(b, "Pages of %s %s over time", is_space ? "an" : "the", what);
		return;
	}
	snprintf(name, sizeof(name), "%s", v->program && *v->program ? v->program : "a process");
	utf8_disarm(name);
	report_print(b, "%s (pid %" PRIu32 "): pages of its %s over time", name, v->pid, what);
}

void pages_put_begin(struct buf *b, const struct pages_view *v)
{
	const struct timebase realtime = {.clock = TIMEBASE_REALTIME};
	uint64_t shift_ns;
	struct tm tm;
	char text[32];
	if (!v->model->begun || !timebase_shift(&v->session->timebase, &realtime, &shift_ns))
		return;
	time_t begin = (time_t)((v->model->first_ns + shift_ns) / 1000000000u);
	if (localtime_r(&begin, &tm) && strftime(text, sizeof(text), "%F %T", &tm))
		buf_puts(b, text);
}
