/* SPDX-License-Identifier: BSD-2-Clause */
/* Spans that hang: which of those that are open are found, when, and how often. */
#include "format/ebt/span_watch.h"
#include "report/parts/ids.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#include <stdlib.h>
#include <string.h>

#define BEYOND_NS 200u

static struct session *session;
static struct span_watch *watch;

static void watch_new(const struct span_rule *rule, unsigned rules)
{
	if (span_watch_new(session, rule, rules, &watch))
		abort();
}

/* Nonzero: it was found as it ended. */
static int push(uint16_t kind, uint16_t domain, uint32_t id, uint64_t ts)
{
	struct span_hit hit;
	struct ebt_event ev = {.kind = kind,
			       .process = 1,
			       .domain = domain,
			       .tid = 70 + domain,
			       .id = id,
			       .ts = ts};
	int found = span_watch_push(watch, &ev, &hit);
	if (found < 0)
		abort();
	return found && !hit.was_found;
}

/* The name of the next span that hangs, with its domain and its rule's limit; "": none does. */
static const char *overdue(uint64_t now_ns)
{
	static char text[128];
	struct span_hit hit;
	*text = 0;
	if (span_watch_overdue(watch, now_ns, BEYOND_NS, &hit))
		snprintf(text, sizeof(text), "%s of %u over %llu, %llu to %llu%s", hit.span,
			 hit.domain, (unsigned long long)hit.rule->over_ns,
			 (unsigned long long)hit.begin_ns, (unsigned long long)hit.end_ns,
			 hit.is_open && hit.ns == hit.end_ns - hit.begin_ns ? "" : ", wrong");
	return text;
}

static void test_moment(void)
{
	static const struct span_rule rule[] = {{"minor>1000", "minor", 1000}};
	watch_new(rule, 1);
	is_str(overdue(UINT64_MAX), "", "nothing is open");
	push(EBT_BEGIN, 0, PHASE_minor, 5000);
	is_str(overdue(4000), "", "a span that begins later");
	is_str(overdue(6200), "", "one at its limit, and what comes behind that");
	is_str(overdue(6201), "minor of 0 over 1000, 5000 to 6200", "one beyond it");
	is_str(overdue(9000), "", "it is found once");
	is(push(EBT_END, 0, PHASE_minor, 9500), 0, "and its end knows that it was found");
	is_str(overdue(UINT64_MAX), "", "it is not open any more");
	push(EBT_BEGIN, 0, PHASE_minor, 20000);
	is(push(EBT_END, 0, PHASE_minor, 21100), 1, "one that ends before it hangs is found then");
	is_str(overdue(UINT64_MAX), "", "and not once more");
	span_watch_free(watch);
}

static void test_choice(void)
{
	static const struct span_rule rule[] = {{"m*>3000", "m*", 3000},
						{"minor>1000", "minor", 1000},
						{"pause>10", SPAN_WATCH_PAUSE, 10},
						{"ever", "major", UINT64_MAX}};
	watch_new(rule, 4);
	push(EBT_BEGIN, 0, PHASE_explicit_gc_minor, 1000);
	push(EBT_BEGIN, 1, PHASE_minor, 2000);
	push(EBT_BEGIN, 2, PHASE_minor, 2500);
	push(EBT_BEGIN, 3, PHASE_major, 2600);
	is_str(overdue(3000), "", "a pause has no length while it is open");
	is_str(overdue(10000), "minor of 1 over 1000, 2000 to 3200", "the smallest limit counts");
	is_str(overdue(10000), "minor of 2 over 1000, 2500 to 3700", "one after the other");
	is_str(overdue(10000), "major of 3 over 3000, 2600 to 5800",
	       "by a glob; a limit beyond all time is none");
	is_str(overdue(10000), "", "and no span without a rule");
	span_watch_free(watch);
}

/* What ends without an event of its own is not open. */
static void test_cut(void)
{
	static const struct span_rule rule[] = {{"m*>1000", "m*", 1000}};
	watch_new(rule, 1);
	push(EBT_BEGIN, 0, PHASE_minor, 1000);
	push(EBT_LOST, 0, 0, 1500);
	push(EBT_BEGIN, 1, PHASE_minor, 2000);
	is_str(overdue(9000), "minor of 1 over 1000, 2000 to 3200",
	       "a loss ends those of its domain");
	push(EBT_BEGIN, 0, PHASE_major, 9000);
	push(EBT_BEGIN, 0, PHASE_minor, 9100);
	push(EBT_END, 0, PHASE_major, 9200);
	is_str(overdue(20000), "", "the end of an outer phase those inside");
	push(EBT_BEGIN, 0, PHASE_minor, 30000);
	ok(!span_watch_forget(watch, 1), "a process ends");
	is_str(overdue(UINT64_MAX), "", "and none of its spans hangs any more");
	span_watch_free(watch);
}

int main(void)
{
	if (session_new(&session) || enter_processes(session, 1))
		return 1;
	test_moment();
	test_choice();
	test_cut();
	session_free(session);
	return tap_done();
}
