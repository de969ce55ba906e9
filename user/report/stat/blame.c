/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/blame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "report/stack.h"
#include "report/text.h"
#include "session/code_language.h"
#include "session/phases.h"

/* Columns of the table by phase: some parts together. */
static const struct {
	const char *head;
	unsigned parts; /* a bit each */
} columns[] = {
	{"on CPU", 1u << BLAME_CPU},
	{"CPU wait", 1u << BLAME_WAIT},
	{"domain", 1u << BLAME_DOMAIN},
	{"fault", 1u << BLAME_FAULT_CPU | 1u << BLAME_FAULT},
	{"blocked", 1u << BLAME_FUTEX | 1u << BLAME_IO | 1u << BLAME_MEMORY | 1u << BLAME_SLEEP |
			    1u << BLAME_CALL | 1u << BLAME_STOPPED},
	{"unknown", 1u << BLAME_UNKNOWN},
};
#define COLUMNS (sizeof(columns) / sizeof(*columns))

static double share_of(const struct blame_sum *s, unsigned parts)
{
	uint64_t ns = 0;
	for (unsigned i = 0; i < BLAME_PARTS; i++)
		ns += parts >> i & 1 ? s->ns[i] : 0;
	return report_percent((double)ns, (double)s->pause_ns);
}

static void put_parts(struct buf *b, const struct blame_sum *s)
{
	for (unsigned i = 0; i < BLAME_PARTS; i++)
		if (s->ns[i])
			report_print(b, "    %-30s %14s  %6.2f %%\n", blame_part_text(i),
				     report_ns_text((double)s->ns[i]).text, share_of(s, 1u << i));
}

static void put_counts(struct buf *b, const struct pause_counts *u)
{
	static const char *const text[] = {
		[PAUSE_VOLUNTARY] = "voluntary and", [PAUSE_INVOLUNTARY] = "involuntary switches,",
		[PAUSE_MINOR_FAULTS] = "minor and",  [PAUSE_MAJOR_FAULTS] = "major page faults,",
		[PAUSE_MIGRATIONS] = "migrations",
	};
	for (unsigned i = PAUSE_VOLUNTARY; i < PAUSE_FAULT_NS; i++)
		if (u->count[i] == PAUSE_UNKNOWN)
			report_print(b, " unknown %s", text[i]);
		else
			report_print(b, " %" PRIu64 " %s", u->count[i], text[i]);
}

static bool any_count(const struct pause_counts *u)
{
	for (unsigned i = PAUSE_VOLUNTARY; i < PAUSE_FAULT_NS; i++)
		if (u->count[i] && u->count[i] != PAUSE_UNKNOWN)
			return true;
	return false;
}

static void put_counted(struct buf *b, const struct blame_sum *s)
{
	if (!s->counted)
		return;
	report_print(b, "    counted in %" PRIu64 " pause%s:", s->counted, plural(s->counted));
	put_counts(b, &s->counts);
	report_print(b, "\n    %" PRIu64 " of them never blocked\n", s->never_blocked);
}

static void put_rows(struct buf *b, const struct blame_sums *m)
{
	report_print(b, "\n  %-28s %8s %14s", "pauses by outermost phase", "pauses", "time");
	for (unsigned i = 0; i < COLUMNS; i++)
		report_print(b, " %8s", columns[i].head);
	buf_puts(b, "\n");
	for (uint32_t row = 0; row < PHASE_ROWS; row++) {
		const struct blame_sum *s = &m->of_row[row];
		if (!s->pauses)
			continue;
		report_print(b, "    %-26s %8" PRIu64 " %14s", phases_name(row), s->pauses,
			     report_ns_text((double)s->pause_ns).text);
		for (unsigned i = 0; i < COLUMNS; i++)
			report_print(b, " %6.1f %%", share_of(s, columns[i].parts));
		buf_puts(b, "\n");
	}
}

/* " behind coqc (4711) on CPU 1", " in futex, woken by ..." */
static void put_cause(struct buf *b, const struct blame_cause *c)
{
	bool called = c->part != BLAME_WAIT && c->syscall != BLAME_NO_CALL;
	const char *name = called ? blame_call_name(c->syscall) : NULL;
	if (name)
		report_print(b, " in %s", name);
	else if (called)
		report_print(b, " in system call %d", c->syscall);
	if (!c->tid && !*c->comm)
		return;
	buf_puts(b, c->part == BLAME_WAIT ? " behind " : ", woken by ");
	buf_put_plain(b, c->is_tracer ? "this tracer" : *c->comm ? c->comm : "thread");
	if (c->tid)
		report_print(b, " (%" PRIu32 ")", c->tid);
	if (c->part == BLAME_WAIT && c->cpu != EBT_NO_CPU)
		report_print(b, " on CPU %u", c->cpu);
}

static void put_split(struct buf *b, const struct blame_split *s, const char *indent)
{
	const char *sep = indent;
	for (unsigned i = 0; i < BLAME_PARTS; i++) {
		if (!s->ns[i])
			continue;
		report_print(b, "%s%s %s", sep, report_ns_text((double)s->ns[i]).text,
			     blame_part_text(i));
		if (s->longest.ns && s->longest.part == i) {
			report_print(b, " (longest %s", report_ns_text((double)s->longest.ns).text);
			put_cause(b, &s->longest);
			buf_puts(b, ")");
		}
		sep = ", ";
	}
	buf_puts(b, "\n");
}

static void put_culprit(struct buf *b, const struct blame_culprit *c)
{
	if (c->domain != EBT_NO_DOMAIN)
		report_print(b, "domain %u", c->domain);
	else
		report_print(b, "thread %" PRIu32, c->tid);
}

static void put_whose(struct buf *b, const struct blame_pause *p)
{
	report_print(b, ", process %" PRIu32, p->pid);
	if (p->domain != EBT_NO_DOMAIN)
		report_print(b, ", domain %u", p->domain);
	if (p->tid)
		report_print(b, ", thread %" PRIu32, p->tid);
	report_print(b, ", %s", phases_name(p->row));
}

void stat_blame_open_text(struct buf *b, const struct blame_pause *p)
{
	report_print(b, "          open: a pause of %s so far", report_ns_text((double)p->ns).text);
	put_whose(b, p);
	put_split(b, &p->split, ": ");
}

static void put_pause(struct buf *b, const struct session *s, const struct blame_pause *p,
		      uint64_t begin_ns)
{
	uint64_t at = p->begin_ns > begin_ns ? p->begin_ns - begin_ns : 0;
	report_print(b, "    %s at %.6f s", report_ns_text((double)p->ns).text, (double)at / 1e9);
	put_whose(b, p);
	buf_puts(b, "\n");
	put_split(b, &p->split, "      ");
	if (p->has_counts && any_count(&p->counts)) {
		buf_puts(b, "     ");
		put_counts(b, &p->counts);
		buf_puts(b, "\n");
	}
	if (p->culprit.ns) {
		buf_puts(b, "      ");
		put_culprit(b, &p->culprit);
		report_print(b, " came %s late: ", report_ns_text((double)p->culprit.ns).text);
		put_split(b, &p->culprit.split, "");
		report_stack_put_block(b, s, p->culprit.split.block_stack,
				       p->culprit.split.block_ns);
	}
	report_stack_put(b, s, p->stack);
	report_stack_put_block(b, s, p->split.block_stack, p->split.block_ns);
}

static unsigned largest(const struct blame_split *s)
{
	unsigned best = BLAME_CPU;
	for (unsigned i = 0; i < BLAME_PARTS; i++)
		best = s->ns[i] > s->ns[best] ? i : best;
	return best;
}

static bool of_blocks(unsigned part)
{
	return part >= BLAME_FUTEX && part <= BLAME_CALL;
}

/* What a thread did for most of a stretch, as the end of a sentence: "had no CPU for 2.1 ms of
 * it". */
static void put_doing(struct buf *b, const struct session *session, const struct blame_split *s)
{
	static const char *const doing[] = {
		[BLAME_CPU] = "ran on its CPU",
		[BLAME_FAULT_CPU] = "ran in page faults",
		[BLAME_WAIT] = "had no CPU",
		[BLAME_DOMAIN] = "waited for another domain",
		[BLAME_FUTEX] = "was blocked on a futex",
		[BLAME_IO] = "was blocked in input or output",
		[BLAME_MEMORY] = "was blocked in calls that change its memory",
		[BLAME_SLEEP] = "slept",
		[BLAME_CALL] = "was blocked in a system call",
		[BLAME_FAULT] = "waited for memory",
		[BLAME_STOPPED] = "was stopped",
	};
	unsigned part = largest(s);
	if (part == BLAME_UNKNOWN) {
		report_print(b, "did in %s of it is not known",
			     report_ns_text((double)s->ns[part]).text);
		return;
	}
	report_print(b, "%s for %s of it", doing[part], report_ns_text((double)s->ns[part]).text);
	if (s->longest.ns && s->longest.part == part) {
		const struct blame_cause *c = &s->longest;
		bool called = c->part != BLAME_WAIT && c->syscall != BLAME_NO_CALL;
		if (c->ns != s->ns[part])
			report_print(b, ", %s", report_ns_text((double)c->ns).text);
		else if (called || c->part == BLAME_WAIT)
			buf_puts(b, ",");
		put_cause(b, &s->longest);
	}
	const struct frame_position *at =
		of_blocks(part) ? report_stack_innermost(session, s->block_stack) : NULL;
	if (at && report_stack_language(session, at)) {
		buf_puts(b, " at ");
		report_stack_put_position(b, session, at);
	}
}

/* What the program has called for the pause's phase at this position; NULL: nothing that is
 * known. */
static const char *call_at(const struct session *s, const struct blame_pause *p,
			   const struct frame_position *at)
{
	return code_language_call(report_stack_language(s, at), p->phase);
}

/* Where the pause began, and what was called there if that is how it came about. */
static void put_origin(struct buf *b, const struct session *s, const struct blame_pause *p)
{
	const struct frame_position *at = report_stack_innermost(s, p->stack);
	if (!at)
		return;
	const char *call = call_at(s, p, at);
	if (call)
		report_print(b, "; %s was called from ", call);
	else
		buf_puts(b, "; it began at ");
	report_stack_put_position(b, s, at);
}

bool stat_blame_put_calls(struct buf *b, const struct session *s, const struct blame_sums *m,
			  enum traits_role role)
{
	const struct blame_pause *p = m->longest.at;
	for (uint32_t i = 0; i < m->longest.count; i++) {
		const struct frame_position *at = report_stack_innermost(s, p[i].stack);
		if (!at || !(phases_at(p[i].row)->roles & role))
			continue;
		const char *call = call_at(s, &p[i], at);
		report_print(b, ", the longest by %s at ", call ? call : phases_name(p[i].row));
		report_stack_put_position(b, s, at);
		return true;
	}
	return false;
}

void stat_blame_sentence(struct buf *b, const struct session *s, const struct blame_sums *m)
{
	const struct blame_pause *p = m->longest.at;
	uint32_t n = m->longest.count;
	if (!n)
		return;
	bool by_other = largest(&p->split) == BLAME_DOMAIN && p->culprit.ns;
	report_print(b, "  The longest pause took %s: ", report_ns_text((double)p->ns).text);
	if (!by_other) {
		bool known = largest(&p->split) != BLAME_UNKNOWN;
		buf_puts(b, known ? "its thread " : "what its thread ");
		put_doing(b, s, &p->split);
	} else {
		bool known = largest(&p->culprit.split) != BLAME_UNKNOWN;
		report_print(b, "for %s of it the others waited for ",
			     report_ns_text((double)p->culprit.ns).text);
		put_culprit(b, &p->culprit);
		buf_puts(b, known ? ", which " : "; what that ");
		put_doing(b, s, &p->culprit.split);
	}
	put_origin(b, s, p);
	buf_puts(b, ".\n");
}

void stat_blame_text(struct buf *b, const struct session *s, const struct blame_sums *m,
		     uint64_t begin_ns)
{
	const struct blame_sum *total = &m->total;
	report_print(b, "What pauses were made of: %" PRIu64 " whole pause%s, %s\n", total->pauses,
		     plural(total->pauses), report_ns_text((double)total->pause_ns).text);
	if (!m->is_known)
		buf_puts(b, total->counted
				    ? "  (by the kernel's counts alone: --blame adds what threads "
				      "waited for)\n"
				    : "  (nothing is known of when threads ran: see --blame in "
				      "ebtrace-stat(1))\n");
	if (!total->pauses)
		return;
	put_parts(b, total);
	put_counted(b, total);
	put_rows(b, m);
	const struct blame_pause *p = m->longest.at;
	uint32_t n = m->longest.count;
	buf_puts(b, "\n  longest pauses\n");
	for (uint32_t i = 0; i < n; i++)
		put_pause(b, s, &p[i], begin_ns);
}

static void json_parts(struct json *j, const uint64_t *ns)
{
	json_key_open(j, "parts_ns", '{');
	for (unsigned i = 0; i < BLAME_PARTS; i++)
		json_key_u64(j, blame_part_key(i), ns[i]);
	json_close(j, '}');
}

static void json_counts(struct json *j, const struct pause_counts *u)
{
	for (unsigned i = 0; i < PAUSE_COUNTS; i++)
		json_key_known(j, pause_counts_key(i), u->count[i] != PAUSE_UNKNOWN, u->count[i]);
}

static void json_split(struct json *j, const struct blame_split *s)
{
	const struct blame_cause *c = &s->longest;
	json_parts(j, s->ns);
	if (!c->ns) {
		json_key_null(j, "cause");
		return;
	}
	json_key_open(j, "cause", '{');
	json_key_str(j, "part", blame_part_key(c->part));
	json_key_u64(j, "ns", c->ns);
	json_key_known(j, "syscall", c->syscall != BLAME_NO_CALL, (uint64_t)c->syscall);
	json_key_known(j, "tid", c->tid, c->tid);
	json_key_str(j, "comm", c->comm);
	json_key_known(j, "cpu", c->cpu != EBT_NO_CPU, c->cpu);
	json_close(j, '}');
}

static void json_pause(struct json *j, const struct session *s, const struct blame_pause *p)
{
	const struct blame_split *c = &p->culprit.split;
	json_open(j, '{');
	json_key_u64(j, "begin_ns", p->begin_ns);
	json_key_u64(j, "ns", p->ns);
	json_key_u64(j, "pid", p->pid);
	json_key_known(j, "domain", p->domain != EBT_NO_DOMAIN, p->domain);
	json_key_known(j, "tid", p->tid, p->tid);
	json_key_str(j, "phase", phases_name(p->row));
	json_split(j, &p->split);
	report_stack_json_block(j, s, p->split.block_stack, p->split.block_ns);
	if (p->has_counts) {
		json_key_open(j, "counted", '{');
		json_counts(j, &p->counts);
		json_close(j, '}');
	} else {
		json_key_null(j, "counted");
	}
	if (p->culprit.ns) {
		json_key_open(j, "waited_for", '{');
		json_key_known(j, "domain", p->culprit.domain != EBT_NO_DOMAIN, p->culprit.domain);
		json_key_known(j, "tid", p->culprit.tid, p->culprit.tid);
		json_key_u64(j, "ns", p->culprit.ns);
		json_split(j, c);
		report_stack_json_block(j, s, c->block_stack, c->block_ns);
		json_close(j, '}');
	} else {
		json_key_null(j, "waited_for");
	}
	report_stack_json(j, s, p->stack);
	json_close(j, '}');
}

void stat_blame_open_json(struct json *j, const struct session *s, const struct blame_pause *p)
{
	if (!p) {
		json_key_null(j, "open");
		return;
	}
	json_key(j, "open");
	json_pause(j, s, p);
}

static void json_sum(struct json *j, const struct blame_sum *s)
{
	json_key_u64(j, "pauses", s->pauses);
	json_key_u64(j, "pause_ns", s->pause_ns);
	json_parts(j, s->ns);
	if (!s->counted) {
		json_key_null(j, "counted");
		return;
	}
	json_key_open(j, "counted", '{');
	json_key_u64(j, "pauses", s->counted);
	json_key_u64(j, "never_blocked", s->never_blocked);
	json_counts(j, &s->counts);
	json_close(j, '}');
}

void stat_blame_json(struct json *j, const struct session *s, const struct blame_sums *m)
{
	const struct blame_pause *p = m->longest.at;
	uint32_t n = m->longest.count;
	json_key_open(j, "blame", '{');
	json_key_bool(j, "known", m->is_known);
	json_sum(j, &m->total);
	json_key_open(j, "phases", '[');
	for (uint32_t row = 0; row < PHASE_ROWS; row++) {
		const struct blame_sum *sum = &m->of_row[row];
		if (!sum->pauses)
			continue;
		json_open(j, '{');
		json_key_str(j, "name", phases_name(row));
		json_sum(j, sum);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_key_open(j, "longest", '[');
	for (uint32_t i = 0; i < n; i++)
		json_pause(j, s, &p[i]);
	json_close(j, ']');
	json_close(j, '}');
}
