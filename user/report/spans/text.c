/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/show.h"

#include <inttypes.h>

#include "base/plural.h"
#include "report/stack.h"
#include "report/text.h"

#define PARTS_WIDTH    44
#define DETAILS_SHOWN  4  /* of a kind of parts */
#define SEGMENTS_SHOWN 16 /* of a slow span */

static void put_padded(struct buf *b, const char *text, size_t width)
{
	size_t at = b->len;
	buf_put_plain(b, text);
	while (b->len - at < width && !b->err)
		buf_puts(b, " ");
}

static void put_head(struct buf *b, const struct spans_view *v)
{
	const struct span_result *r = v->result;
	uint64_t count = 0;
	for (uint32_t i = 0; i < r->names; i++)
		count += r->name[i]->lengths.count;
	report_print(b, "%" PRIu64 " %s%s of %" PRIu32 " name%s in %s\n\n", count,
		     v->fibers ? "fiber" : "span", plural(count), r->names, plural(r->names),
		     report_ns_text((double)(r->end_ns - r->begin_ns)).text);
}

static void put_cuts(struct buf *b, const struct span_name *n)
{
	static const char *const text[SPAN_CUTS] = {
		[SPAN_NOT_ENDED] = "not ended",
		[SPAN_CUT_BEGIN] = "open at the begin",
		[SPAN_CUT_END] = "open at the end",
		[SPAN_CUT_LOSS] = "cut by a loss of events",
		[SPAN_NOT_FOLLOWED] = "not followed, as too many were open",
	};
	const char *sep = "    besides: ";
	for (unsigned i = 0; i < SPAN_CUTS; i++) {
		if (!n->cut[i])
			continue;
		report_print(b, "%s%" PRIu64 " %s", sep, n->cut[i], text[i]);
		sep = ", ";
	}
	if (*sep == ',')
		buf_puts(b, "\n");
}

static void put_share(struct buf *b, uint64_t ns, uint64_t of)
{
	if (ns)
		report_print(b, " %14s %6.2f %%", report_ns_text((double)ns).text,
			     report_percent((double)ns, (double)of));
}

static void put_row(struct buf *b, const char *indent, size_t begin, uint64_t ns, uint64_t all_ns,
		    uint64_t slow_ns, uint64_t all_slow_ns)
{
	size_t width = PARTS_WIDTH + 4;
	while (b->len - begin < width && !b->err)
		buf_puts(b, " ");
	buf_puts(b, indent);
	put_share(b, ns, all_ns);
	put_share(b, slow_ns, all_slow_ns);
	buf_puts(b, slow_ns ? "\n" : "              -\n");
}

/* The parts of a kind, which are in a row in the order of their time: all together, then those with
 * the most. */
static void put_kind_rows(struct buf *b, const struct spans_view *v, const struct span_name *n,
			  const struct span_slow *slow, uint32_t first, uint32_t count)
{
	const struct span_part *p = &n->parts.at[first];
	uint64_t ns = 0, slow_ns = 0, left = 0, slow_left = 0;
	for (uint32_t i = 0; i < count; i++)
		ns += p[i].ns;
	for (uint32_t i = 0; i < slow->parts.count; i++)
		slow_ns += slow->parts.at[i].kind == p->kind ? slow->parts.at[i].ns : 0;
	size_t begin = b->len;
	buf_puts(b, "    ");
	if (count == 1)
		span_put_part(b, v->result->sums, p->kind, p->detail);
	else
		buf_puts(b, span_part_text(p->kind));
	put_row(b, "", begin, ns, n->total_ns, slow_ns, slow->ns);
	left = ns;
	slow_left = slow_ns;
	for (uint32_t i = 0; count > 1 && i < count && i < DETAILS_SHOWN; i++) {
		uint64_t of_slow = span_parts_get(&slow->parts, p[i].kind, p[i].detail);
		begin = b->len;
		buf_puts(b, "      ");
		if (!span_put_detail(b, v->result->sums, p[i].kind, p[i].detail))
			buf_puts(b,
				 p->kind == SPAN_SUSPENDED ? "without a name" : "of unknown cause");
		put_row(b, "  ", begin, p[i].ns, n->total_ns, of_slow, slow->ns);
		left -= p[i].ns;
		slow_left -= of_slow < slow_left ? of_slow : slow_left;
	}
	if (count <= DETAILS_SHOWN)
		return;
	begin = b->len;
	report_print(b, "      %" PRIu32 " more", count - DETAILS_SHOWN);
	put_row(b, "  ", begin, left, n->total_ns, slow_left, slow->ns);
}

/* What all of a name were made of, beside what the slowest of them were. */
static int put_parts(struct buf *b, const struct spans_view *v, struct span_name *n)
{
	struct span_slow slow;
	int err = span_name_slow(n, &slow);
	span_parts_sort(&n->parts);
	report_print(b, "    %-*s %14s %8s %14s\n", PARTS_WIDTH, "made of", "all", "",
		     "the slowest");
	for (uint32_t i = 0, count; i < n->parts.count; i += count) {
		for (count = 1; i + count < n->parts.count; count++)
			if (n->parts.at[i + count].kind != n->parts.at[i].kind)
				break;
		put_kind_rows(b, v, n, &slow, i, count);
	}
	if (slow.count)
		report_print(b, "    (the slowest: %" PRIu64 ", %s or longer)\n", slow.count,
			     report_ns_text((double)slow.from_ns).text);
	span_parts_done(&slow.parts);
	return err;
}

static const char *const domain_text[] = {
#define X(CONSTANT, key, text) [CONSTANT] = text,
	SPAN_DOMAIN_LIST(X)
#undef X
};

/* What domains did while fibers were suspended. */
static void put_while(struct buf *b, const struct span_name *n)
{
	uint64_t all = 0;
	const char *sep = "    (while they were suspended, their domains' time was: ";
	for (unsigned i = 0; i <= SPAN_DOMAIN_STATES; i++)
		all += n->suspended_while[i];
	for (unsigned i = 0; i <= SPAN_DOMAIN_STATES; i++) {
		if (!n->suspended_while[i])
			continue;
		report_print(b, "%s%s %.2f %%", sep,
			     i < SPAN_DOMAIN_STATES ? domain_text[i] : "not known",
			     report_percent((double)n->suspended_while[i], (double)all));
		sep = ", ";
	}
	if (all)
		buf_puts(b, ")\n");
}

static int put_name(struct buf *b, const struct spans_view *v, struct span_name *n)
{
	const struct span_result *r = v->result;
	const struct histogram *h = &n->lengths;
	double seconds = (double)(r->end_ns - r->begin_ns) / 1e9;
	buf_puts(b, "  ");
	put_padded(b, span_name_text(r->sums, n), 24);
	report_print(b, " %9" PRIu64, h->count);
	if (h->count)
		report_print(b, " %9.1f/s %12s %12s %12s %12s %12s",
			     seconds > 0 ? (double)h->count / seconds : 0,
			     report_ns_text((double)histogram_at(h, 500000)).text,
			     report_ns_text((double)histogram_at(h, 900000)).text,
			     report_ns_text((double)histogram_at(h, 990000)).text,
			     report_ns_text((double)h->max).text,
			     report_ns_text((double)n->total_ns).text);
	buf_puts(b, "\n");
	int err = n->total_ns ? put_parts(b, v, n) : 0;
	put_while(b, n);
	put_cuts(b, n);
	buf_puts(b, "\n");
	return err;
}

/* ---- domains ---- */

static void put_domains(struct buf *b, const struct span_result *r)
{
	report_print(b, "  %-10s %8s", "process", "domain");
	for (unsigned i = 0; i < SPAN_DOMAIN_STATES; i++)
		report_print(b, " %14s %8s", domain_text[i], "");
	buf_puts(b, "\n");
	for (uint32_t i = 0; i < r->domains; i++) {
		const struct span_domain *d = &r->domain[i];
		uint64_t all = 0;
		for (unsigned k = 0; k < SPAN_DOMAIN_STATES; k++)
			all += d->ns[k];
		report_print(b, "  %-10" PRIu32 " %8u", d->pid, d->domain);
		for (unsigned k = 0; k < SPAN_DOMAIN_STATES; k++)
			report_print(b, " %14s %6.2f %%", report_ns_text((double)d->ns[k]).text,
				     report_percent((double)d->ns[k], (double)all));
		buf_puts(b, "\n");
	}
	buf_puts(b, "\n");
}

/* ---- the slowest ---- */

static void put_thread(struct buf *b, const struct spans_view *v, const struct span_segment *g)
{
	const char *comm = strings_text(v->result->sums->texts, g->comm);
	buf_put_plain(b, g->is_tracer ? "this tracer" : comm ? comm : "thread");
	if (g->tid)
		report_print(b, " (%" PRIu32 ")", g->tid);
}

static void put_segment(struct buf *b, const struct spans_view *v, const struct span_segment *g)
{
	report_print(b, "%s ", report_ns_text((double)(g->end_ns - g->begin_ns)).text);
	span_put_part(b, v->result->sums, g->kind, g->detail);
	if (g->kind == SPAN_BLOCKED && (g->tid || g->comm)) {
		buf_puts(b, ", woken by ");
		put_thread(b, v, g);
	} else if (g->kind == SPAN_WAITING && g->tid) {
		report_print(b, " (%" PRIu32 ")", g->tid);
	}
}

static void put_in_order(struct buf *b, const struct spans_view *v, const struct span *span)
{
	const struct span_segments *all = &span->segments;
	uint32_t shown = all->count < SEGMENTS_SHOWN ? all->count : SEGMENTS_SHOWN;
	for (uint32_t i = 0; i < shown; i++) {
		buf_puts(b, i ? "; " : "      ");
		put_segment(b, v, &all->at[i]);
	}
	if (all->count - shown + all->more)
		report_print(b, "; and %" PRIu32 " more", all->count - shown + all->more);
	buf_puts(b, "\n");
}

static const struct span_segment *longest_of(const struct span *span, uint32_t kind)
{
	const struct span_segment *best = NULL;
	for (uint32_t i = 0; i < span->segments.count; i++) {
		const struct span_segment *g = &span->segments.at[i];
		if (g->kind == kind &&
		    (!best || g->end_ns - g->begin_ns > best->end_ns - best->begin_ns))
			best = g;
	}
	return best;
}

/* The time of a kind, by its details, and the longest stretch of it. */
static void put_kind(struct buf *b, const struct spans_view *v, const struct span *span,
		     uint32_t kind, const char *what)
{
	const struct span_segment *longest = longest_of(span, kind);
	uint64_t ns = 0;
	for (uint32_t i = 0; i < span->parts.count; i++)
		ns += span->parts.at[i].kind == kind ? span->parts.at[i].ns : 0;
	if (!ns || !longest)
		return;
	report_print(b, "      %s: %s, the longest at +%s: ", what, report_ns_text((double)ns).text,
		     report_ns_text((double)(longest->begin_ns - span->begin_ns)).text);
	put_segment(b, v, longest);
	buf_puts(b, "\n");
}

static void put_program(struct buf *b, const struct spans_view *v, uint32_t comm)
{
	const char *program = strings_text(v->result->sums->texts, comm);
	if (!program || !*program)
		return;
	buf_puts(b, " (");
	buf_put_plain(b, program);
	buf_puts(b, ")");
}

static void put_slow(struct buf *b, const struct spans_view *v, const struct span *span)
{
	uint64_t begin = v->result->begin_ns;
	uint64_t at = span->begin_ns > begin ? span->begin_ns - begin : 0;
	report_print(b, "    %s at %.6f s, ", report_ns_text((double)span->ns).text,
		     (double)at / 1e9);
	buf_put_plain(b, span_name_text(v->result->sums, span->name));
	report_print(b, ", process %" PRIu32, span->pid);
	put_program(b, v, span->comm);
	if (span->domain != EBT_NO_DOMAIN)
		report_print(b, ", domain %u", span->domain);
	if (span->fiber)
		report_print(b, ", fiber %" PRId64, span->fiber);
	if (span->tid)
		report_print(b, ", thread %" PRIu32, span->tid);
	buf_puts(b, "\n");
	put_in_order(b, v, span);
	put_kind(b, v, span, SPAN_COLLECTED, "pauses");
	put_kind(b, v, span, SPAN_WAITING, "without a CPU");
	put_kind(b, v, span, SPAN_BLOCKED, "blocked");
	report_stack_put_block(b, v->session, span->block_stack, span->block_ns);
}

/* What is missing, and how to get it. */
static void put_unknown(struct buf *b, const struct spans_view *v)
{
	const struct span_result *r = v->result;
	uint64_t ns = 0;
	for (uint32_t i = 0; i < r->names; i++)
		ns += span_parts_get(&r->name[i]->parts, SPAN_UNKNOWN, 0);
	if (ns && r->knows_threads)
		buf_puts(b, "(not known: what threads did that no event names, and what they did "
			    "before the first record of\n a switch, or where such records were "
			    "lost)\n");
	else if (ns)
		report_print(b,
			     "(not known: only the kernel knows whether a thread ran, waited for a "
			     "CPU or was blocked;\n %s)\n",
			     v->is_file ? "a recording has it with: sudo ebtrace --blame -o FILE"
					: "with privilege it is recorded: sudo ebtrace spans");
	if (r->without_room)
		report_print(b,
			     "(%" PRIu64 " fibers, or spans of them, were not followed: too many "
			     "were open)\n",
			     r->without_room);
	report_put_loss(b, v->session);
}

void spans_put_interval(struct buf *b, const struct spans_view *v, uint64_t ended, uint32_t hungs)
{
	const struct span_hungs *h = v->hung;
	report_print(b, "%10.3f s  %" PRIu64 " span%s ended, %" PRIu32 " open, %" PRIu32 " hung\n",
		     (double)(v->at.ns - v->result->begin_ns) / 1e9, ended, plural(ended), h->open,
		     h->count);
	for (uint32_t i = 0; i < h->count && i < hungs; i++) {
		const struct span_hung *s = &h->at[i];
		report_print(b, "      hung for %s: ", report_ns_text((double)s->ns).text);
		buf_put_plain(b, span_name_text(v->result->sums, s->name));
		if (s->p99_ns)
			report_print(b, " (p99 %s)", report_ns_text((double)s->p99_ns).text);
		report_print(b, ", process %" PRIu32, s->pid);
		if (s->domain != EBT_NO_DOMAIN)
			report_print(b, ", domain %u", s->domain);
		if (s->fiber)
			report_print(b, ", fiber %" PRId64, s->fiber);
		if (s->tid)
			report_print(b, ", thread %" PRIu32, s->tid);
		buf_puts(b, "\n");
	}
}

int spans_text(struct buf *b, const struct spans_view *v)
{
	const struct span_result *r = v->result;
	int err = 0;
	put_head(b, v);
	report_print(b, "  %-24s %9s %11s %12s %12s %12s %12s %12s\n",
		     v->fibers ? "fibers" : "span", "count", "rate", "p50", "p90", "p99", "max",
		     "total");
	for (uint32_t i = 0; i < r->names && !err; i++)
		err = put_name(b, v, r->name[i]);
	if (r->domains)
		put_domains(b, r);
	if (r->slow_count)
		buf_puts(b, "  the slowest\n");
	for (uint32_t i = 0; i < r->slow_count && !err; i++)
		put_slow(b, v, &r->slowest[i]);
	put_unknown(b, v);
	return err;
}
